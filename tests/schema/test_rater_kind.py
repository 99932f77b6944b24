"""Ratings of people, of models, or of both."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.ratings.rater_kind import RaterKind, select_rater_kind
from dissensus.schema.ratings.table import Ratings


def ratings(*kinds: str | None) -> Ratings:
    """Ratings of one item by as many raters."""
    frame: dict[str, Any] = {
        "item_id": ["1"] * len(kinds),
        "rater_id": [f"r{number}" for number in range(len(kinds))],
        "rater_kind": pl.Series(kinds, dtype=pl.String),
        "rater_model": pl.Series([None if kind != "model" else "tern" for kind in kinds], dtype=pl.String),
        "Q_overall": ["No", *["Yes"] * (len(kinds) - 1)],
    }
    return Ratings.from_frame(pl.DataFrame(frame), categories=["No", "Yes"])


@pytest.mark.parametrize(
    ("kind", "raters", "note"),
    [
        ("person", ["r0", "r3"], "2 ratings by 2 raters of kind model are left out; --rater-kind all has them."),
        ("model", ["r1", "r2"], "Only raters of kind model: these are answers of models."),
        ("all", ["r0", "r1", "r2", "r3"], "2 ratings by 2 raters of kind model are read beside those of people."),
    ],
)
def test_raters_of_a_kind_are_selected(kind: RaterKind, raters: list[str], note: str) -> None:
    selected = select_rater_kind(ratings("person", "model", "model", None), kind)
    assert selected.raters["rater_id"].to_list() == raters
    assert selected.notes[-1] == note
    assert ("rater_model" in selected.axes) == (kind != "person")


def test_people_alone_are_read_without_a_note() -> None:
    people = ratings("person", None)
    kinds: tuple[RaterKind, ...] = ("person", "all")
    for kind in kinds:
        assert select_rater_kind(people, kind).notes == people.notes


def test_ratings_are_counted_by_the_loads_of_a_part() -> None:
    selected = select_rater_kind(ratings("person", "model"), "person", np.array([40, 3]))
    assert selected.notes[-1].startswith("3 ratings by 1 rater of kind model are left out")


@pytest.mark.parametrize(
    ("kinds", "kind", "message"),
    [
        (["model", "model"], "person", "Every rater is of kind model.*--rater-kind model"),
        (["person", None], "model", "No rater is of kind model: rater_kind has other values"),
        (["person"], "robot", "rater_kind is 'robot'; choose one of person, model, all"),
    ],
)
def test_a_kind_without_raters_is_refused(kinds: list[str | None], kind: RaterKind, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        select_rater_kind(ratings(*kinds), kind)


def test_without_a_column_of_kinds_all_raters_are_people() -> None:
    people = ratings("person")
    unknown = Ratings(people.answers, people.raters.drop("rater_kind"), people.items, people.repeats)
    assert select_rater_kind(unknown, "person") is unknown
    with pytest.raises(InvalidInput, match="No rater is of kind model: there is no column rater_kind"):
        select_rater_kind(unknown, "model")
