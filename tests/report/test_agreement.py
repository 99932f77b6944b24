"""Figures of agreement and of permutation distributions."""

import json
from collections.abc import Callable
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.report.figure import Figure
from dissensus.report.figures.agreement import agreement
from dissensus.report.figures.null_distributions import DIGITS, null_distributions
from dissensus.report.figures.panels import NAMES, build_value_axis
from dissensus.report.graphics.render import render_inline
from dissensus.report.graphics.theme import TEXT_WIDTH
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(3))


@pytest.fixture(scope="module")
def analysis(ratings: Ratings) -> Analysis:
    return analyse(ratings, by=["race"], permutations=99, bootstrap=20)


def points(figure: Figure) -> list[dict[str, Any]]:
    """Return the data of every layer of every panel."""
    spec = json.loads(figure.render("json"))
    panels = [panel for line in spec["vconcat"] for panel in line["hconcat"]]
    return [point for panel in panels for layer in panel["layer"] for point in layer["data"]["values"]]


def test_the_table_has_every_row_of_the_analysis(analysis: Analysis) -> None:
    figure = agreement(analysis, "race")
    rows = {(row.group, row.metric): row for row in analysis.rows if row.metric in NAMES}
    assert figure.table.height == len(rows)
    for shown_row in figure.table.iter_rows(named=True):
        row = rows[shown_row["group"], shown_row["metric"]]
        assert (shown_row["estimate"], shown_row["ci_low"], shown_row["ci_high"]) == (
            row.estimate,
            row.ci_low,
            row.ci_high,
        )
        assert (shown_row["p"], shown_row["p_adjusted"]) == (row.p, row.p_adjusted)


def test_estimates_and_intervals_are_drawn_at_their_values(analysis: Analysis) -> None:
    marks = {
        (point["low"], point["x"], point["high"]) for point in points(agreement(analysis, "race")) if "low" in point
    }
    rows = [row for row in analysis.rows if row.metric in NAMES]
    assert marks == {(row.ci_low, row.estimate, row.ci_high) for row in rows}


def test_the_figure_fits_and_names_every_panel(analysis: Analysis) -> None:
    figure = agreement(analysis, "race")
    assert fits(figure)
    assert set(NAMES.values()) <= set(texts(figure))
    assert figure.notes[:3] == (
        "Tests: 99 permutations of the raters' demographic rows, seed 0.",
        "Lines: 95 % intervals, 20 bootstrap replicates.",
        "Dashed: the whole pool.",
    )


def test_the_reading_names_significant_groups() -> None:
    """Two groups agree within and not between."""
    camps = {f"r{r:02}": ("NNYYNNYY", "YYNNYYNN")[r % 2] for r in range(16)}
    ratings = ratings_of(camps, {"rater_camp": [("one", "two")[r % 2] for r in range(16)]})
    figure = agreement(analyse(ratings, by="camp", permutations=199), "camp")
    assert figure.reading.startswith("Beyond chance at p < .05: ")
    assert "IRR (alpha) of one (above chance, p .0" in figure.reading
    assert figure.reading.endswith(" remain.")
    assert "also after adjustment" in texts(figure)


def test_the_reading_without_tests_is_a_range(ratings: Ratings) -> None:
    untested = analyse(ratings, by="race")
    low, *_, high = sorted((row.estimate or 0.0, row.group) for row in untested.rows if row.metric == "irr")
    reading = agreement(untested, "race").reading
    assert reading.startswith("IRR ranges from ")
    assert f"({low[1]}) to " in reading
    assert reading.endswith(f"({high[1]}); nothing was tested.")


def test_undefined_estimates_are_only_in_the_table() -> None:
    ratings = ratings_of({"a": "NN", "b": "NN", "c": "NN"}, {"rater_x": ["p", "p", "q"]})
    figure = agreement(analyse(ratings, by="x"), "x")
    assert figure.reading == "IRR is undefined for every group of x."
    assert figure.table.filter(metric="irr")["estimate"].to_list() == [None, None]
    assert fits(figure)


def test_hidden_groups_are_in_neither_figure(analysis: Analysis, ratings: Ratings) -> None:
    groups = list_groups(ratings, "race", suppress_below=8)
    for figure in (agreement(analysis, groups), null_distributions(analysis, groups)):
        assert set(figure.table["group"]) == {"Asian"}
        assert not {"Black", "White"} & set(texts(figure))


def test_chance_columns_are_quantiles_of_the_permutations(analysis: Analysis) -> None:
    figure = null_distributions(analysis, "race")
    index = {(row.group, row.metric): r for r, row in enumerate(analysis.rows)}
    for table_row in figure.table.iter_rows(named=True):
        replicates = analysis.null[:, index[table_row["group"], table_row["metric"]]]
        low, median, high = np.nanquantile(replicates, (0.025, 0.5, 0.975))
        assert table_row["chance_median"] == pytest.approx(median)
        assert (table_row["chance_2.5_%"], table_row["chance_97.5_%"]) == pytest.approx((low, high))
        assert table_row["observed"] == analysis.rows[index[table_row["group"], table_row["metric"]]].estimate
    assert fits(figure)


def test_histograms_hold_every_permutation(analysis: Analysis) -> None:
    """The heights of a histogram are proportional to the counts, which sum to all permutations."""
    spec = json.loads(null_distributions(analysis, "race").render("json"))
    index = {(row.group, row.metric): r for r, row in enumerate(analysis.rows)}
    metrics = iter(NAMES)
    for panel in (panel for line in spec["vconcat"] for panel in line["hconcat"]):
        (steps,) = [layer["data"]["values"] for layer in panel["layer"] if layer["mark"]["type"] == "area"]
        metric = next(metrics)
        for row, group in enumerate(("Asian", "Black", "White")):
            heights = [step["bottom"] - step["top"] for step in steps if step["row"] == row]
            edges = [step["x"] for step in steps if step["row"] == row]
            counts, _ = np.histogram(analysis.null[:, index[group, metric]].round(DIGITS), edges)
            assert counts.sum() == 99
            assert [height / max(heights) for height in heights[:-1]] == pytest.approx(counts / counts.max())


@pytest.mark.slow
@pytest.mark.parametrize("draw", [agreement, null_distributions])
@pytest.mark.parametrize("error", [-1e-15, 1e-15])
def test_rounding_errors_do_not_change_the_figure(
    analysis: Analysis, draw: Callable[[Analysis, str], Figure], error: float
) -> None:
    rows = tuple(replace(row, estimate=row.estimate and row.estimate * (1 + error)) for row in analysis.rows)
    perturbed = replace(analysis, rows=rows, null=analysis.null * (1 + error))
    original, redrawn = (render_inline(draw(each, "race").draw(TEXT_WIDTH), "x", "x") for each in (analysis, perturbed))
    assert original == redrawn


def test_without_permutations_there_is_no_null_figure(ratings: Ratings) -> None:
    with pytest.raises(UndefinedEstimate, match="without permutations"):
        null_distributions(analyse(ratings, by="race"), "race")


def test_tick_labels_are_distinct() -> None:
    for low, high, digits in ((0.0, 1.0, 1), (0.5, 0.52, 3), (0.1, 0.1, 2), (log(3) - 1e-15, log(3), 2)):
        axis: Any = build_value_axis(low, high)
        assert axis["axis"]["format"] == f".{digits}~f"
