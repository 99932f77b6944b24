"""Tables of populations: counts, margins, empty cells, and values that no rater has."""

import numpy as np
import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.population import RaterPopulation, read_population

RATERS = RaterPopulation(
    levels={"rater_x": ["a", "b"]}, codes={"rater_x": np.array([0, 1], dtype=np.int32)}, n_raters=np.array([1, 1])
)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"column": ["rater_x", None], "level": ["a", "b"]}, "has margins of an empty cell, which is not an attribute"),
        ({"column": ["rater_x", "x"], "level": ["a", None]}, "has an empty cell in rater_x"),
        ({"x": ["a", None]}, "has an empty cell in rater_x"),
        ({"x": ["a", "c"]}, "has 'c' in rater_x, and no modelled rater has"),
    ],
)
def test_cells_that_no_rater_has_are_named(columns: dict[str, list[str | None]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_population("town", pl.DataFrame({**columns, "count": [1, 2]}), RATERS)


def test_counts_of_one_group_are_added_and_empty_groups_left_out() -> None:
    table = pl.DataFrame({"rater_x": ["a", "b", "a"], "Weight": [1.5, 0, 2]})
    assert read_population("town", table, RATERS) == {(0,): 3.5}


def cross(*cells: tuple[int, int, int]) -> RaterPopulation:
    """Return two attributes with two levels each, and the raters in some crossed groups."""
    x, y, n_raters = np.array(cells).T
    codes = {"rater_x": x.astype(np.int32), "rater_y": y.astype(np.int32)}
    return RaterPopulation(levels={"rater_x": ["a", "b"], "rater_y": ["c", "d"]}, codes=codes, n_raters=n_raters)


def margins(x: tuple[float, float], y: tuple[float, float]) -> pl.DataFrame:
    return pl.DataFrame({"column": ["x", "x", "y", "rater_y"], "level": ["a", "b", "c", "d"], "n": [*x, *y]})


def test_margins_give_the_weights_with_the_odds_ratio_of_the_raters() -> None:
    raters = cross((0, 0, 4), (0, 1, 1), (1, 0, 1), (1, 1, 4))
    counts = read_population("town", margins((80, 20), (3, 7)), raters)
    assert sum(counts.values()) == pytest.approx(1)
    assert counts[0, 0] + counts[0, 1] == pytest.approx(0.8)
    assert counts[0, 0] + counts[1, 0] == pytest.approx(0.3)
    assert counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0]) == pytest.approx(16)


def test_margins_that_contradict_each_other_are_refused() -> None:
    """All raters of a are of c, so both have one share."""
    raters = cross((0, 0, 1), (1, 1, 1))
    assert read_population("town", margins((3, 7), (30, 70)), raters) == pytest.approx({(0, 0): 0.3, (1, 1): 0.7})
    with pytest.raises(InvalidInput, match="The margins of the population 'town' contradict each other"):
        read_population("town", margins((80, 20), (30, 70)), raters)
    with pytest.raises(InvalidInput, match="No rater stands for 'd' of the population 'town' together with its other"):
        read_population("town", margins((1, 0), (30, 70)), raters)
