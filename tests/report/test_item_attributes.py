"""Figures by attributes of items: their numbers, small groups, and values without a comparison."""

import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame

from dissensus.errors import NotFound
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.report.builder import build, list_figures
from dissensus.report.figure import Figure
from dissensus.report.figures.item_attributes import item_attribute, item_gaps
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    degrees = ["Benign" if i % 3 else "Extreme" for i in range(30)]
    items = pl.DataFrame({"item_id": [f"item-{i:03}" for i in range(30)], "degree_of_harm": degrees})
    return Ratings.from_frame(simulate_frame(4)).with_items(items)


@pytest.fixture(scope="module")
def analysis(ratings: Ratings) -> Analysis:
    return analyse(ratings, by="race", by_item="degree_of_harm", permutations=30, bootstrap=20)


def test_numbers_are_those_of_the_analysis(analysis: Analysis) -> None:
    figure = item_attribute(analysis, "degree_of_harm")
    shares = {row.value: row.estimate for row in analysis.item_rows if row.metric == "answer_share" and not row.axis}
    assert dict(figure.table.filter(metric="answer_share").select("value", "estimate").rows()) == shares
    assert figure.title == "Answers and agreement by degree of harm"
    low, high = sorted(shares, key=lambda value: shares[value] or 0)
    assert figure.reading.index(low) < figure.reading.index(high)
    assert "† fewer than 30 items: read with care." in figure.notes
    assert "<svg" in figure.inline(700)


def test_gaps_are_differences_of_groups(analysis: Analysis) -> None:
    figure = item_gaps(analysis, "degree_of_harm", "race")
    gaps = figure.table.filter(metric="mean_difference")
    expected = [row.estimate for row in analysis.item_rows if row.metric == "mean_difference"]
    assert gaps["estimate"].to_list() == expected
    assert gaps["group"].unique().sort().to_list() == ["Asian", "Black", "White"]
    tests = sum(row.p is not None for row in analysis.item_rows)
    assert figure.reading.startswith(f"Of {tests} tests of differences and distances, ")
    assert "<svg" in figure.inline(700)


def test_small_groups_are_left_out_with_all_groups_of_the_value(ratings: Ratings) -> None:
    few = pl.col("item_id").is_in(["item-000", "item-003"]) | (pl.col("rater_race") != "White")
    sparse = Ratings.from_frame(simulate_frame(4).filter(few | (pl.col("rater_id") > "rater-020")))
    items = ratings.items.with_columns(
        item_set=pl.when(pl.col("item_id").is_in(["item-000", "item-003"])).then(pl.lit("all")).otherwise(pl.lit("few"))
    )
    uneven = sparse.with_items(items)
    analysis = analyse(uneven, by="race", by_item="item_set")
    shown = item_gaps(analysis, "item_set", list_groups(uneven, "race", suppress_below=5))
    assert shown.table["value"].unique().to_list() == ["all"]
    with pytest.raises(NotFound, match="No groups of race are compared by item set"):
        item_gaps(analyse(uneven, by="race"), "item_set", "race")


def test_figures_of_an_analysis_include_them(analysis: Analysis) -> None:
    names = [figure.name for figure in list_figures(analysis)]
    assert names[-2:] == ["by-item-degree-of-harm", "gaps-degree-of-harm-race"]


def test_a_report_has_both_figures_in_the_section_of_items(ratings: Ratings) -> None:
    report = build(ratings, by="race", by_item="degree_of_harm", permutations=0, bootstrap=0, contested=0)
    section = next(section for section in report.sections if section.name == "items")
    assert [part.name for part in section.parts if isinstance(part, Figure)][1:] == [
        "by-item-degree-of-harm",
        "gaps-degree-of-harm-race",
    ]
    assert report["groups"].table is not None
    assert "attribute" not in report["groups"].table.columns
    assert "by_item=('degree_of_harm',)" in report.command
