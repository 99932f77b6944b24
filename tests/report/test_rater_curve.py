"""Figure of the number of raters."""

import json
from dataclasses import replace

import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse import RaterCurve
from dissensus.pipeline.analyse import rater_curve as compute
from dissensus.report.builder import build
from dissensus.report.figures.rater_curve import PANELS, rater_curve
from dissensus.report.graphics.theme import TEXT_WIDTH
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(2))


@pytest.fixture(scope="module")
def curve(ratings: Ratings) -> RaterCurve:
    return compute(ratings, [2, 4, 6], by="race", draws=30)


def test_the_bands_are_those_of_the_curve(curve: RaterCurve) -> None:
    figure = rater_curve(curve)
    panels = json.loads(json.dumps(figure.draw(TEXT_WIDTH)))["hconcat"]
    for metric, panel in zip(PANELS, panels, strict=True):
        drawn = panel["layer"][0]["data"]["values"]
        expected = curve.curve.filter(metric=metric)
        for name in ("raters_per_group", "estimate", "low", "high"):
            assert [mark[name] for mark in drawn] == expected[name].to_list()
    assert figure.table.height == 6
    assert figure.axis == "rater_race"
    assert "with all 24 it is" in figure.reading
    assert fits(figure)
    assert "IRR of all drawn raters" in texts(figure)


def test_an_undefined_statistic_has_no_panel(curve: RaterCurve) -> None:
    undefined = pl.when(pl.col("metric") == "irr").then(None).otherwise(pl.col("estimate")).alias("estimate")
    figure = rater_curve(replace(curve, curve=curve.curve.with_columns(undefined)))
    assert figure.table["metric"].unique().to_list() == ["between_share"]
    with pytest.raises(UndefinedEstimate, match="No statistic is defined"):
        rater_curve(replace(curve, curve=curve.curve.with_columns(estimate=pl.lit(None, pl.Float64))))


def test_the_report_draws_the_axis_with_most_groups(ratings: Ratings) -> None:
    page = build(ratings, permutations=0, bootstrap=0)
    figure = page["rater-curve-race"]
    assert figure.table is not None
    assert figure.table["raters_per_group"].unique(maintain_order=True).to_list() == [2, 3, 4, 5, 6]


def test_the_report_draws_no_curve_of_suppressed_or_tiny_groups(ratings: Ratings) -> None:
    hidden = build(ratings, by="race", permutations=0, bootstrap=0, suppress_below=7)
    tiny = ratings_of({"a": "NYNY", "b": "NNYY", "c": "NYYY"}, {"rater_race": ["x", "x", "y"]})
    small = build(tiny, permutations=0, bootstrap=0)
    for page in (hidden, small):
        assert not any(figure.name.startswith("rater-curve") for figure in page.figures)
    agreement = next(section for section in small.sections if section.name == "agreement")
    assert any("No curve by the number of raters" in reason for reason in agreement.absent)
