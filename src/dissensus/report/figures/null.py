"""Figure of observed values over their permutation distributions."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.report.figure import Figure
from dissensus.report.figures.agreement import reading
from dissensus.report.figures.chance import chance
from dissensus.report.figures.panels import looks, panels, shown, status, value_axis
from dissensus.report.groups import DisplayedGroups
from dissensus.report.layout import RowLabels, data
from dissensus.report.theme import PALE
from dissensus.stats.counts import FloatArray

Counts = npt.NDArray[np.intp]
BINS = 36
# Of a row, what the highest bin takes.
REACH = 0.8


def null(analysis: Analysis, groups: str | DisplayedGroups) -> Figure:
    """Draw the permutation distribution of every statistic of every group of an axis, and what was observed.

    Figure 4 of Aroyo et al. (2023), for all statistics.

    Parameters
    ----------
    analysis
        The analysis, with `permutations`.
    groups
        One of its axes, or the groups of it that are shown.

    Raises
    ------
    UndefinedEstimate
        The analysis has no permutations.
    """
    if not analysis.settings.permutations:
        raise UndefinedEstimate("There is no permutation distribution: the analysis was made without permutations.")
    groups, rows = shown(analysis, groups)
    place = {id(row): r for r, row in enumerate(analysis.rows)}
    drawn = {metric: [of[name] for name in groups.drawn] for metric, of in rows.items()}
    every = [row for of in rows.values() for row in of.values()]
    scales = looks([row for of in drawn.values() for row in of])

    def draw(metric: str, names: RowLabels) -> Sequence[alt.Chart]:
        replicates = [analysis.null[:, place[id(row)]] for row in drawn[metric]]
        return _panel(drawn[metric], replicates, names, scales)

    return Figure(
        name=f"null-{groups.slug}",
        axis=groups.axis,
        title=f"Observed by {groups.title}, over what chance gives",
        reading=reading(every, analysis, groups),
        table=_table(every, [analysis.null[:, place[id(row)]] for row in every]),
        draw=lambda width: panels([groups.label(name) for name in groups.drawn], draw, width),
        notes=(
            f"Grey: the distribution over {analysis.settings.permutations:,} permutations of the raters' demographic "
            f"rows, seed {analysis.settings.seed}, each to its own height. Line: observed.",
            *groups.notes,
        ),
    )


def _panel(
    rows: Sequence[Row], replicates: Sequence[FloatArray], names: RowLabels, scales: tuple[alt.Scale, alt.Scale]
) -> list[alt.Chart]:
    known = [values[~np.isnan(values)] for values in replicates]
    every = np.concatenate([*known, [row.estimate for row in rows if row.estimate is not None]])
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    counts = [np.histogram(values, edges)[0] for values in known]
    x = value_axis(low, high)
    reach = REACH * min(names.heights)
    steps = [
        point | {"row": row}
        for row, (of, middle) in enumerate(zip(counts, names.middles, strict=True))
        for point in _outline(edges, of, middle + reach / 2, reach / max(1, int(of.max())))
    ]
    shapes = alt.Chart(data(steps)).mark_area(interpolate="step-after", color=PALE, opacity=0.45)
    color = alt.Color("status:N", scale=scales[0], legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3))
    observed = alt.Chart(data(_observed(rows, names.middles, reach)))
    line, star = observed.mark_rule(strokeWidth=2.5), observed.mark_text(dx=5, dy=4, align="left", fontWeight="bold")
    return [
        shapes.encode(x, names.y("top"), alt.Y2("bottom:Q"), alt.Detail("row:N")),
        line.encode(x, names.y("top"), color, alt.Y2("bottom:Q")),
        star.encode(x, names.y("top"), alt.Text("stars:N")),
    ]


def _outline(edges: FloatArray, counts: Counts, bottom: float, scale: float) -> list[dict[str, float]]:
    """Return the steps of a histogram that stands on `bottom`."""
    heights = [*counts.tolist(), 0]
    return [{"x": float(x), "top": bottom - n * scale, "bottom": bottom} for x, n in zip(edges, heights, strict=True)]


def _observed(rows: Sequence[Row], middles: Sequence[float], reach: float) -> list[dict[str, Any]]:
    return [
        {
            "x": row.estimate,
            "top": middle - reach / 2,
            "bottom": middle + reach / 2,
            "status": status(row),
            "stars": row.stars,
        }
        for row, middle in zip(rows, middles, strict=True)
        if row.estimate is not None
    ]


def _table(rows: Sequence[Row], replicates: Sequence[FloatArray]) -> pl.DataFrame:
    lines: list[dict[str, Any]] = []
    for row, values in zip(rows, replicates, strict=True):
        tests = {name: getattr(row, name) for name in ("p", "p_adjusted", "direction")}
        lines.append({"group": row.group, "metric": row.metric, "observed": row.estimate} | chance(values) | tests)
    return pl.DataFrame(lines, infer_schema_length=None)
