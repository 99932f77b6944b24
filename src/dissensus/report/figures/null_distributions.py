"""Figure of observed values over their permutation distributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.report.figure import Figure
from dissensus.report.figures.agreement import describe_groups
from dissensus.report.figures.panels import (
    build_significance_scales,
    build_value_axis,
    classify_significance,
    draw_panels,
    select_rows,
)
from dissensus.report.graphics.layout import RowLabels
from dissensus.report.graphics.theme import PALE
from dissensus.report.graphics.vega_lite import Y2, Chart, Color, DetailChannel, Legend, Scale, Spec, Text
from dissensus.report.groups import DisplayedGroups
from dissensus.stats.result import FloatArray, IndexArray

LOW, MEDIAN, HIGH = "chance_2.5_%", "chance_median", "chance_97.5_%"
BINS = 36
DIGITS = 12
# Share of the row height for the highest bin.
REACH = 0.8


def null_distributions(analysis: Analysis, groups: str | DisplayedGroups) -> Figure:
    """Draw the permutation distribution and the observed value of every statistic of every group of an axis.

    Figure 4 of Aroyo et al. (2023), for all statistics.

    Parameters
    ----------
    analysis
        The analysis, with `permutations`.
    groups
        One of its axes, or displayed groups of one.

    Raises
    ------
    UndefinedEstimate
        The analysis has no permutations.
    """
    if not analysis.settings.permutations:
        raise UndefinedEstimate("There is no permutation distribution: the analysis was made without permutations.")
    groups, rows = select_rows(analysis, groups)
    row_index = {id(row): r for r, row in enumerate(analysis.rows)}
    drawn = {metric: [row_by_group[name] for name in groups.compared] for metric, row_by_group in rows.items()}
    all_rows = [row for row_by_group in rows.values() for row in row_by_group.values()]
    scales = build_significance_scales([row for row_by_group in drawn.values() for row in row_by_group])

    def draw(metric: str, names: RowLabels) -> Sequence[Spec]:
        replicates = [analysis.null[:, row_index[id(row)]] for row in drawn[metric]]
        return _panel(drawn[metric], replicates, names, scales)

    return Figure(
        name=f"null-{groups.slug}",
        axis=groups.axis,
        title=f"Observed by {groups.title}, over what chance gives",
        reading=describe_groups(all_rows, analysis, groups),
        table=_table(all_rows, [analysis.null[:, row_index[id(row)]] for row in all_rows]),
        draw=lambda width: draw_panels([groups.label(name) for name in groups.compared], draw, width),
        notes=(
            f"Grey: the distribution over {analysis.settings.permutations:,} permutations of the raters' demographic "
            f"rows, seed {analysis.settings.seed}, each to its own height. Line: observed.",
            *groups.single_notes,
            *groups.notes,
        ),
    )


def _panel(
    rows: Sequence[Row], replicates: Sequence[FloatArray], names: RowLabels, scales: tuple[Scale, Scale]
) -> list[Spec]:
    # Rounded, since last digits differ between processors: a value on an edge must fall into the same bin on all.
    defined = [values[~np.isnan(values)].round(DIGITS) for values in replicates]
    values_drawn = np.concatenate(
        [*defined, np.round([row.estimate for row in rows if row.estimate is not None], DIGITS)]
    )
    low, high = (float(values_drawn.min()), float(values_drawn.max())) if values_drawn.size else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    counts = [np.histogram(values, edges)[0] for values in defined]
    x = build_value_axis(low, high)
    reach = REACH * min(names.heights)
    steps = [
        point | {"row": row}
        for row, (bin_counts, middle) in enumerate(zip(counts, names.middles, strict=True))
        for point in _outline(edges, bin_counts, middle + reach / 2, reach / max(1, int(bin_counts.max())))
    ]
    shapes = Chart(steps).mark("area", interpolate="step-after", color=PALE, opacity=0.45)
    color = Color("status:N", scale=scales[0], legend=Legend(symbolType="stroke", symbolStrokeWidth=3))
    observed = Chart(_mark_observed(rows, names.middles, reach))
    line, star = (
        observed.mark("rule", strokeWidth=2.5),
        observed.mark("text", dx=5, dy=4, align="left", fontWeight="bold"),
    )
    return [
        shapes.encode(x, names.y("top"), Y2("bottom:Q"), DetailChannel("row:N")),
        line.encode(x, names.y("top"), color, Y2("bottom:Q")),
        star.encode(x, names.y("top"), Text("stars:N")),
    ]


def _outline(edges: FloatArray, counts: IndexArray, bottom: float, scale: float) -> list[dict[str, float]]:
    """Return the steps of a histogram that stands on `bottom`."""
    heights = [*counts.tolist(), 0]
    return [{"x": float(x), "top": bottom - n * scale, "bottom": bottom} for x, n in zip(edges, heights, strict=True)]


def _mark_observed(rows: Sequence[Row], middles: Sequence[float], reach: float) -> list[dict[str, Any]]:
    return [
        {
            "x": row.estimate,
            "top": middle - reach / 2,
            "bottom": middle + reach / 2,
            "status": classify_significance(row),
            "stars": row.stars,
        }
        for row, middle in zip(rows, middles, strict=True)
        if row.estimate is not None
    ]


def _table(rows: Sequence[Row], replicates: Sequence[FloatArray]) -> pl.DataFrame:
    lines: list[dict[str, Any]] = []
    for row, values in zip(rows, replicates, strict=True):
        tests = {name: getattr(row, name) for name in ("p", "p_adjusted", "direction")}
        lines.append(
            {"group": row.group, "metric": row.metric, "observed": row.estimate} | summarise_chance(values) | tests
        )
    return pl.DataFrame(lines, infer_schema_length=None)


def summarise_chance(replicates: FloatArray) -> dict[str, float | None]:
    """Return the median and the middle 95 % of replicates as table columns; None if there are none."""
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return dict.fromkeys((LOW, MEDIAN, HIGH))
    return dict(zip((LOW, MEDIAN, HIGH), np.quantile(defined, (0.025, 0.5, 0.975)).tolist(), strict=True))
