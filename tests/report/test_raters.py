"""The figure of who rated."""

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import drawn_frame, ratings_of
from tests.report.simulated import fits, texts

from dissensus.errors import InvalidInput
from dissensus.report.figure import Figure
from dissensus.report.figures.raters import raters
from dissensus.report.groups import groups_of
from dissensus.schema.ratings.table import Ratings

RACES = ["Asian"] * 6 + ["Black"] * 5 + ["White"] * 7
GENDERS = ["Man", "Woman", "Woman", "Woman", "Woman", "Woman"] + ["Man"] * 5 + ["Woman"] * 3 + ["Man"] * 4


def drawn(ratings: Ratings, rows: str = "race", columns: str = "gender", *, below: int = 0) -> Figure:
    of = (groups_of(ratings, axis, suppress_below=below) for axis in (rows, columns))
    return raters(ratings, *of)


def small(genders: list[str | None] | None = None) -> Ratings:
    answers = {f"r{r:02}": "NY" for r in range(len(RACES))}
    return ratings_of(answers, {"rater_race": RACES, "rater_gender": genders or list(GENDERS)})


def test_cells_are_counts_of_raters_and_zeros_too() -> None:
    figure = drawn(small())
    counts = {(race, gender): n for race, gender, n in figure.table.rows()}
    assert counts == {
        ("Asian", "Man"): 1,
        ("Asian", "Woman"): 5,
        ("Black", "Man"): 5,
        ("Black", "Woman"): 0,
        ("White", "Man"): 4,
        ("White", "Woman"): 3,
    }
    assert figure.reading == (
        "18 raters; the largest cell is Asian × Woman (5), the smallest Asian × Man (1); 1 cell is empty."
    )
    assert figure.notes == ("† fewer than 5 raters: read with care.",)


def test_the_table_is_a_cross_table_of_the_raters(dices_123: Ratings) -> None:
    found = drawn(dices_123, "race", "age").table
    expected = dices_123.raters.group_by("rater_race", "rater_age").len()
    known = {(race, age): n for race, age, n in expected.rows()}
    assert {(race, age): n for race, age, n in found.rows() if n} == known


def test_small_cells_cannot_be_told_from_the_sums_of_others() -> None:
    figure = drawn(small(), below=4)
    counts = {(race, gender): n for race, gender, n in figure.table.rows()}
    assert counts["Asian", "Man"] is None
    assert counts["White", "Woman"] is None
    assert counts["Asian", "Woman"] is None
    assert "– 4 cells left out: fewer than 4 raters, or without them others could be told." in figure.notes
    assert "–" in texts(figure)


def test_hidden_groups_are_in_no_cell() -> None:
    ratings = small()
    figure = drawn(ratings, below=7)
    assert set(figure.table["race"]) == {"White"}
    assert not {"Asian", "Black"} & set(texts(figure))


def test_raters_of_unknown_groups_are_counted_in_a_note() -> None:
    genders = [None, *GENDERS[1:]]
    figure = drawn(small(genders))
    assert figure.table["n_raters"].sum() == 17
    assert "gender of 1 rater is not known." in figure.notes


def test_small_groups_are_marked() -> None:
    ratings = Ratings.from_frame(drawn_frame(sizes=(20, 3, 1)))
    figure = drawn(ratings)
    assert {"Asian", "Black†", "White†"} <= set(texts(figure))
    assert "† fewer than 5 raters: read with care." in figure.notes


def test_an_axis_is_not_crossed_with_itself() -> None:
    with pytest.raises(InvalidInput, match="crosses an axis with itself"):
        drawn(small(), "race", "race")


def test_many_groups_fit_the_page_and_the_column() -> None:
    n = 300
    frame = pl.DataFrame(
        {
            "item_id": ["1", "2"] * n,
            "rater_id": np.repeat([f"r{r:03}" for r in range(n)], 2),
            "rater_a": np.repeat([f"a group with a name that is long, number {r % 90}" for r in range(n)], 2),
            "rater_b": np.repeat([f"other{r % 9}" for r in range(n)], 2),
            "Q_overall": ["Yes", "No"] * n,
        }
    )
    figure = drawn(Ratings.from_frame(frame), "a", "b")
    assert fits(figure)
    assert figure.table.height == 90 * 9
    assert "Drawn are the 24 largest of 90 groups; the table has all." in figure.notes
