"""Contested items."""

from collections import Counter
from math import log

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.svg import texts

from dissensus.errors import InvalidInput
from dissensus.report.figures.contested_items import list_contested_items
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


def entropy_of(answers: list[str]) -> float:
    shares = [n / len(answers) for n in Counter(answers).values()]
    return -sum(share * log(share) for share in shares)


def slow_order(frame: pl.DataFrame) -> list[str]:
    """Return items with enough ratings by descending entropy; ties in item order."""
    by_item = {
        str(item): answers_of_item["Q_overall"].to_list()
        for (item,), answers_of_item in frame.group_by("item_id", maintain_order=True)
    }
    minimum = float(np.median([len(answers) for answers in by_item.values()])) / 2
    ranked = [(-round(entropy_of(answers), 9), item) for item, answers in by_item.items() if len(answers) >= minimum]
    return [item for disagreement, item in sorted(ranked) if disagreement < 0]


@pytest.mark.parametrize("share_rated", [1.0, 0.3])
def test_the_most_contested_come_first(share_rated: float) -> None:
    frame = simulate_frame(5, n_items=60, share_rated=share_rated)
    expected = slow_order(frame)
    items = list_contested_items(Ratings.from_frame(frame), n=100)
    assert [item.figure.title for item in items] == [f"Item {name}" for name in expected]
    assert [item.figure.title for item in list_contested_items(Ratings.from_frame(frame), n=3)] == [
        f"Item {i}" for i in expected[:3]
    ]


def test_items_with_few_ratings_are_left_out() -> None:
    ratings = ratings_of({"a": "NNN", "b": "YYN", "c": "NN.", "d": "NY.", "e": "NN.", "f": "NY."}, {})
    assert [item.figure.title for item in list_contested_items(ratings)] == ["Item item-1", "Item item-0"]


def test_unanimous_items_are_not_contested() -> None:
    assert list_contested_items(ratings_of({"a": "NY", "b": "NY"}, {})) == ()
    assert list_contested_items(ratings_of({"a": "NY", "b": "YY"}, {}), n=0) == ()


def test_answers_of_everybody_and_of_each_group() -> None:
    ratings = ratings_of({"a": "N", "b": "Y", "c": "Y"}, {"rater_x": ["p", "p", "q"]})
    (item,) = list_contested_items(ratings, [list_groups(ratings, "x")])
    assert item.figure.table.select("group", "n_ratings", "share of Yes").rows() == [
        ("everybody", 3, pytest.approx(2 / 3)),
        ("p", 2, 0.5),
        ("q", 1, 1.0),
    ]
    assert item.figure.reading == "33 % No, 0 % Unsure, 67 % Yes of 3 ratings; entropy .64 nats."


def test_groups_without_ratings_of_an_item_are_absent() -> None:
    ratings = ratings_of({"a": "NN", "b": "YN", "c": ".N"}, {"rater_x": ["p", "p", "q"]})
    (item,) = list_contested_items(ratings, [list_groups(ratings, "x")])
    assert item.figure.table["group"].to_list() == ["everybody", "p"]


def test_texts_can_be_left_out_of_items() -> None:
    frame = simulate_frame(5, n_items=4).with_columns(context=pl.lit("what was said"), response=pl.lit("the answer"))
    ratings = Ratings.from_frame(frame)
    assert {(item.context, item.response) for item in list_contested_items(ratings)} == {
        ("what was said", "the answer")
    }
    assert {(item.context, item.response) for item in list_contested_items(ratings, text=False)} == {(None, None)}


def test_similar_item_ids_have_unique_figure_names() -> None:
    frame = simulate_frame(5, n_items=3).with_columns(
        item_id=pl.col("item_id").replace({"item-000": "a b", "item-001": "a/b", "item-002": "A-B"})
    )
    names = [item.figure.name for item in list_contested_items(Ratings.from_frame(frame))]
    assert sorted(names) == ["contested-a-b", "contested-a-b-2", "contested-a-b-3"]


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="contested is -1"):
        list_contested_items(ratings_of({"a": "N"}, {}), n=-1)


def test_small_groups_of_an_item_are_hidden_or_marked() -> None:
    answers = {f"r{r}": "NY" for r in range(9)} | {f"s{r}": "YN" if r < 2 else "Y." for r in range(8)}
    answers |= {f"t{r}": "YY" for r in range(6)}
    ratings = ratings_of(answers, {"rater_x": ["r"] * 9 + ["s"] * 8 + ["t"] * 6})
    tables = {item.figure.title: item.figure.table for item in list_contested_items(ratings, ["x"], n=2)}
    assert {title: set(table["group"]) for title, table in tables.items()} == {
        "Item item-0": {"everybody", "r", "s", "t"},
        "Item item-1": {"everybody", "r", "s", "t"},
    }
    (item_1,) = [item for item in list_contested_items(ratings, ["x"], n=2) if item.figure.title == "Item item-1"]
    assert "s†" in texts(item_1.figure)
    hidden = list_contested_items(ratings, [list_groups(ratings, "x", suppress_below=5)], n=2)
    groups_by_item = {item.figure.title: set(item.figure.table["group"]) for item in hidden}
    assert groups_by_item == {"Item item-0": {"everybody", "r", "s", "t"}, "Item item-1": {"everybody", "r"}}


def test_axes_have_their_own_headings() -> None:
    figure = list_contested_items(Ratings.from_frame(simulate_frame(5)), ["race", "gender"], n=1)[0].figure
    assert {"race", "gender", "Asian", "Man", "everybody"} <= set(texts(figure))
