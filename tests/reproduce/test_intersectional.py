"""The page on the models of Homan et al. equals the output of its script."""

from pathlib import Path

import polars as pl
import pytest

from dissensus.pipeline.simulate import preset, simulate
from reproduce import intersectional


@pytest.mark.slow
def test_the_page_of_intersectional(dices_350: Path) -> None:
    assert intersectional.page(dices_350.parent) == intersectional.PAGE.read_text(encoding="utf-8")


def test_cells_have_equal_shares_and_margins_are_complete() -> None:
    ratings = simulate(preset("dices-350"), seed=0).ratings("all")
    tables = intersectional.populations(ratings)
    cells = tables["equal cells"].group_by("race", "gender").agg(pl.col("count").sum())
    assert cells["count"].n_unique() == 1
    sums = tables["assumed margins"].group_by("column").agg(pl.col("count").sum())
    assert set(sums["count"]) == {100}
    for column, levels in intersectional.MARGINS.items():
        assert set(levels) == set(ratings.raters[f"rater_{column}"].unique())
