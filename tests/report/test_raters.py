"""Figure of the raters by two axes."""

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.errors import InvalidInput
from dissensus.report.figure import Figure
from dissensus.report.figures.raters import raters
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings

RACES = ["Asian"] * 6 + ["Black"] * 5 + ["White"] * 7
GENDERS = ["Man", "Woman", "Woman", "Woman", "Woman", "Woman"] + ["Man"] * 5 + ["Woman"] * 3 + ["Man"] * 4


def draw_raters(ratings: Ratings, rows: str = "race", columns: str = "gender", *, below: int = 0) -> Figure:
    axes = (list_groups(ratings, axis, suppress_below=below) for axis in (rows, columns))
    return raters(ratings, *axes)


def small_pool(genders: list[str | None] | None = None) -> Ratings:
    answers = {f"r{r:02}": "NY" for r in range(len(RACES))}
    return ratings_of(answers, {"rater_race": RACES, "rater_gender": genders or list(GENDERS)})


def test_cells_count_raters_including_zeros() -> None:
    figure = draw_raters(small_pool())
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
    table = draw_raters(dices_123, "race", "age").table
    expected = dices_123.raters.group_by("rater_race", "rater_age").len()
    counts = {(race, age): n for race, age, n in expected.rows()}
    assert {(race, age): n for race, age, n in table.rows() if n} == counts


def test_small_cells_cannot_be_computed_from_sums() -> None:
    figure = draw_raters(small_pool(), below=4)
    counts = {(race, gender): n for race, gender, n in figure.table.rows()}
    assert counts["Asian", "Man"] is None
    assert counts["White", "Woman"] is None
    assert counts["Asian", "Woman"] is None
    assert "– 4 cells left out: fewer than 4 raters, or others could be computed from them." in figure.notes
    assert "–" in texts(figure)


def test_hidden_groups_are_in_no_cell() -> None:
    ratings = small_pool()
    figure = draw_raters(ratings, below=7)
    assert set(figure.table["race"]) == {"White"}
    assert not {"Asian", "Black"} & set(texts(figure))


def test_raters_of_unknown_groups_are_counted_in_a_note() -> None:
    genders = [None, *GENDERS[1:]]
    figure = draw_raters(small_pool(genders))
    assert figure.table["n_raters"].sum() == 17
    assert "gender of 1 rater is not known." in figure.notes


def test_small_groups_are_marked() -> None:
    ratings = Ratings.from_frame(simulate_frame(sizes=(20, 3, 1)))
    figure = draw_raters(ratings)
    assert {"Asian", "Black†", "White†"} <= set(texts(figure))
    assert "† fewer than 5 raters: read with care." in figure.notes


def test_an_axis_is_not_crossed_with_itself() -> None:
    with pytest.raises(InvalidInput, match="crosses an axis with itself"):
        draw_raters(small_pool(), "race", "race")


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
    figure = draw_raters(Ratings.from_frame(frame), "a", "b")
    assert fits(figure)
    assert figure.table.height == 90 * 9
    assert "The figure shows the 24 largest of 90 groups; the table has all." in figure.notes
