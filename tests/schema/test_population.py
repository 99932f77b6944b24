"""Tables of populations: cells that are empty, and values that no rater has."""

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
