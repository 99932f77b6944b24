"""Figures of topics and degree of harm."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from tests.report.svg import fits, texts

from dissensus.errors import NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.report.figures.items import degree, topics
from dissensus.schema.ratings.table import Ratings


def rate_items(**attributes: list[str | None]) -> Ratings:
    (n,) = {len(values) for values in attributes.values()}
    ids = {"item_id": [f"{i:03}" for i in range(n)], "rater_id": ["ann"] * n, "Q_overall": ["No"] * n}
    return Ratings.from_frame(pl.DataFrame(ids | attributes, infer_schema_length=None))


@pytest.fixture(scope="module")
def dices(dices_350: Path) -> Ratings:
    return read_ratings(dices_350, items=dices_350.with_name("items.csv"))


def test_topics_of_dices_350_as_mentions_are_those_of_the_paper(dices: Ratings) -> None:
    table = topics(dices).table
    assert [f"{100 * share:.0f}" for share in table["share_of_mentions"].head(4)] == ["22", "14", "10", "7"]
    assert table["n_conversations"].sum() == 436
    assert table.height == 25
    assert topics(dices).reading == "Racial is in 27.4 % of 350 conversations and is 22.0 % of 436 mentions."


def test_topic_counts_match_an_oracle(dices: Ratings) -> None:
    by_hand = Counter(topic for topics_of_item in dices.items["harm_type"] for topic in set(topics_of_item.split(",")))
    table = topics(dices).table
    assert dict(zip(table["topic"], table["n_conversations"], strict=True)) == dict(by_hand)


def test_a_topic_named_twice_counts_once() -> None:
    figure = topics(rate_items(harm_type=["racial, racial", "racial,,legal ", "legal", None]))
    assert dict(figure.table.select("topic", "n_conversations").iter_rows()) == {"legal": 2, "racial": 2}
    assert figure.table["share_of_conversations"].to_list() == [2 / 3, 2 / 3]
    assert figure.table["share_of_mentions"].to_list() == [1 / 2, 1 / 2]
    assert "1 of 4 items has no harm_type." in figure.notes


def test_both_shares_are_in_the_legend(dices: Ratings) -> None:
    labels = texts(topics(dices))
    assert {"share of conversations", "share of mentions", "Racial", "96"} <= set(labels)


def test_thirty_topics_are_drawn_and_the_table_has_all() -> None:
    figure = topics(rate_items(harm_type=[f"topic-{i:02}" for i in range(40)]))
    assert figure.table.height == 40
    assert "The figure shows the first 30 of 40; the table has all." in figure.notes
    assert {"topic-29"} <= set(texts(figure))
    assert "topic-30" not in texts(figure)


def test_degrees_of_dices_350_are_those_of_the_file(dices: Ratings) -> None:
    figure = degree(dices)
    assert figure.table.select("degree", "n_conversations").rows() == [
        ("Benign", 31),
        ("Debatable", 22),
        ("Moderate", 98),
        ("Extreme", 199),
    ]
    assert figure.reading.startswith("Of 350 conversations, 56.9 % are Extreme, 28.0 % are Moderate")
    assert "199 (57 %)" in texts(figure)


def test_other_degrees_are_in_the_order_of_their_counts() -> None:
    figure = degree(rate_items(degree_of_harm=["mild", "severe", "severe", None, "Benign"]))
    assert figure.table["degree"].to_list() == ["severe", "Benign", "mild"]
    assert figure.table["share"].to_list() == [1 / 2, 1 / 4, 1 / 4]
    assert figure.notes == ("1 of 5 items has no degree_of_harm.",)


@pytest.mark.parametrize("draw", [topics, degree])
def test_missing_attributes_are_refused(draw: type) -> None:
    with pytest.raises(NotFound, match=r"Items have no .*; join a table of items that has it"):
        draw(rate_items(item_kind=["a"]))
    with pytest.raises(NotFound, match="No item has a"):
        draw(rate_items(harm_type=[None], degree_of_harm=[None]))
    with pytest.raises(NotFound, match="commas alone"):
        topics(rate_items(harm_type=[" , ,"]))


@pytest.mark.parametrize("name", ["<script>&\"'</text>", "line\nbreak\x07\u202e", "שם בעברית", "x" * 200])
def test_names_of_any_kind_fit(name: str) -> None:
    ratings = rate_items(harm_type=[name, "b"], degree_of_harm=[name, "b"])
    assert fits(topics(ratings))
    assert fits(degree(ratings))
    assert topics(ratings).reading.isprintable()
