"""The items on which raters disagree most."""

from collections import Counter
from math import log

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import drawn_frame, ratings_of
from tests.report.simulated import texts

from dissensus.errors import InvalidInput
from dissensus.report.contested_items import contested
from dissensus.report.groups import groups_of
from dissensus.schema.ratings.table import Ratings


def entropy_of(answers: list[str]) -> float:
    shares = [n / len(answers) for n in Counter(answers).values()]
    return -sum(share * log(share) for share in shares)


def slow_order(frame: pl.DataFrame) -> list[str]:
    """Items with enough ratings, the largest entropy first, of ties the first item."""
    by_item = {str(item): of["Q_overall"].to_list() for (item,), of in frame.group_by("item_id", maintain_order=True)}
    enough = float(np.median([len(answers) for answers in by_item.values()])) / 2
    found = [(-round(entropy_of(answers), 9), item) for item, answers in by_item.items() if len(answers) >= enough]
    return [item for disagreement, item in sorted(found) if disagreement < 0]


@pytest.mark.parametrize("share_rated", [1.0, 0.3])
def test_the_most_contested_come_first(share_rated: float) -> None:
    frame = drawn_frame(5, n_items=60, share_rated=share_rated)
    expected = slow_order(frame)
    found = contested(Ratings.from_frame(frame), n=100)
    assert [item.figure.title for item in found] == [f"Item {name}" for name in expected]
    assert [item.figure.title for item in contested(Ratings.from_frame(frame), n=3)] == [
        f"Item {i}" for i in expected[:3]
    ]


def test_items_with_few_ratings_are_passed_over() -> None:
    ratings = ratings_of({"a": "NNN", "b": "YYN", "c": "NN.", "d": "NY.", "e": "NN.", "f": "NY."}, {})
    assert [item.figure.title for item in contested(ratings)] == ["Item item-1", "Item item-0"]


def test_where_nobody_disagrees_nothing_is_contested() -> None:
    assert contested(ratings_of({"a": "NY", "b": "NY"}, {})) == ()
    assert contested(ratings_of({"a": "NY", "b": "YY"}, {}), n=0) == ()


def test_answers_of_everybody_and_of_each_group() -> None:
    ratings = ratings_of({"a": "N", "b": "Y", "c": "Y"}, {"rater_x": ["p", "p", "q"]})
    (item,) = contested(ratings, [groups_of(ratings, "x")])
    assert item.figure.table.select("group", "n_ratings", "share of Yes").rows() == [
        ("everybody", 3, pytest.approx(2 / 3)),
        ("p", 2, 0.5),
        ("q", 1, 1.0),
    ]
    assert item.figure.reading == "33 % No, 0 % Unsure, 67 % Yes of 3 ratings; entropy .64 nats."


def test_a_group_that_did_not_rate_the_item_is_not_there() -> None:
    ratings = ratings_of({"a": "NN", "b": "YN", "c": ".N"}, {"rater_x": ["p", "p", "q"]})
    (item,) = contested(ratings, [groups_of(ratings, "x")])
    assert item.figure.table["group"].to_list() == ["everybody", "p"]


def test_texts_on_demand() -> None:
    frame = drawn_frame(5, n_items=4).with_columns(context=pl.lit("what was said"), response=pl.lit("the answer"))
    ratings = Ratings.from_frame(frame)
    assert {(item.context, item.response) for item in contested(ratings)} == {("what was said", "the answer")}
    assert {(item.context, item.response) for item in contested(ratings, text=False)} == {(None, None)}


def test_items_called_alike_have_names_of_their_own() -> None:
    frame = drawn_frame(5, n_items=3).with_columns(
        item_id=pl.col("item_id").replace({"item-000": "a b", "item-001": "a/b", "item-002": "A-B"})
    )
    names = [item.figure.name for item in contested(Ratings.from_frame(frame))]
    assert sorted(names) == ["contested-a-b", "contested-a-b-2", "contested-a-b-3"]


def test_a_number_below_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="contested is -1"):
        contested(ratings_of({"a": "N"}, {}), n=-1)


def test_groups_of_whom_few_rated_an_item_are_left_out_or_marked() -> None:
    answers = {f"r{r}": "NY" for r in range(9)} | {f"s{r}": "YN" if r < 2 else "Y." for r in range(8)}
    answers |= {f"t{r}": "YY" for r in range(6)}
    ratings = ratings_of(answers, {"rater_x": ["r"] * 9 + ["s"] * 8 + ["t"] * 6})
    tables = {item.figure.title: item.figure.table for item in contested(ratings, ["x"], n=2)}
    assert {title: set(table["group"]) for title, table in tables.items()} == {
        "Item item-0": {"everybody", "r", "s", "t"},
        "Item item-1": {"everybody", "r", "s", "t"},
    }
    (few,) = [item for item in contested(ratings, ["x"], n=2) if item.figure.title == "Item item-1"]
    assert "s†" in texts(few.figure)
    hidden = contested(ratings, [groups_of(ratings, "x", suppress_below=5)], n=2)
    shown = {item.figure.title: set(item.figure.table["group"]) for item in hidden}
    assert shown == {"Item item-0": {"everybody", "r", "s", "t"}, "Item item-1": {"everybody", "r"}}


def test_axes_stand_apart() -> None:
    found = contested(Ratings.from_frame(drawn_frame(5)), ["race", "gender"], n=1)[0].figure
    assert {"race", "gender", "Asian", "Man", "everybody"} <= set(texts(found))
