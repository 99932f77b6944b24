"""Agreement within and between groups, with intervals and stars."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.panels import (
    NAMES,
    build_significance_scales,
    build_value_axis,
    classify_significance,
    draw_panels,
    select_rows,
)
from dissensus.report.groups import DisplayedGroups, join_with_and
from dissensus.report.layout import RowLabels, to_inline_data
from dissensus.report.theme import MUTED, PAPER

TABLE = ("group", "metric", "estimate", "ci_low", "ci_high", "p", "p_adjusted", "direction", "n_raters", "n_items")
# Most findings that a sentence names.
NAMED = 4


def agreement(analysis: Analysis, groups: str | DisplayedGroups) -> Figure:
    """Draw every statistic of every group of an axis, with its interval and the value of the whole pool.

    Parameters
    ----------
    analysis
        The analysis, with `permutations` for stars and `bootstrap` for intervals.
    groups
        One of its axes, or displayed groups of one.
    """
    groups, rows = select_rows(analysis, groups)
    pool = {row.metric: row.estimate for row in analysis.overall}
    drawn = {metric: [row_by_group[name] for name in groups.drawn] for metric, row_by_group in rows.items()}
    all_rows = [row for row_by_group in rows.values() for row in row_by_group.values()]

    scales = build_significance_scales([row for row_by_group in drawn.values() for row in row_by_group])

    def draw(metric: str, names: RowLabels) -> Sequence[alt.Chart]:
        return _panel(drawn[metric], pool.get(metric), names, scales)

    return Figure(
        name=f"agreement-{groups.slug}",
        axis=groups.axis,
        title=f"Agreement by {groups.title}",
        reading=describe_groups(all_rows, analysis, groups),
        table=pl.DataFrame(
            [{name: getattr(row, name) for name in TABLE} for row in all_rows], infer_schema_length=None
        ),
        draw=lambda width: draw_panels([groups.label(name) for name in groups.drawn], draw, width),
        notes=(*_notes(analysis), *groups.notes),
    )


def describe_groups(rows: Sequence[Row], analysis: Analysis, groups: DisplayedGroups) -> str:
    """Return a sentence on the groups beyond chance."""
    starred = sorted((row for row in rows if row.stars), key=lambda row: (-len(row.stars), row.p or 0.0))
    if not analysis.settings.permutations:
        return _range(rows, groups)
    n = sum(row.p is not None for row in rows)
    if not starred:
        return f"No group of {groups.title} differs from what chance gives at p < .05, in {n} tests."
    findings = [
        f"{NAMES[row.metric]} of {escape_unprintable(str(row.group))} ({row.direction} chance, p "
        f"{format_short(row.p, 3)})"
        for row in starred
    ]
    remainder = f" and {len(findings) - NAMED} more" if len(findings) > NAMED else ""
    n_adjusted = sum(row.stars == "**" for row in starred)
    remaining = "none remains" if not n_adjusted else "1 remains" if n_adjusted == 1 else f"{n_adjusted} remain"
    listed = ", ".join(findings[:NAMED]) + remainder if remainder else join_with_and(findings)
    return f"Beyond chance at p < .05: {listed}. After adjustment for all tests {remaining}."


def _range(rows: Sequence[Row], groups: DisplayedGroups) -> str:
    irr_rows = [row for row in rows if row.metric == "irr" and row.estimate is not None]
    if not irr_rows:
        return f"IRR is undefined for every group of {groups.title}."
    low, high = (pick(irr_rows, key=lambda row: row.estimate or 0.0) for pick in (min, max))
    ends = [f"{format_short(row.estimate, 3)} ({escape_unprintable(str(row.group))})" for row in (low, high)]
    return f"IRR ranges from {ends[0]} to {ends[1]}; nothing was tested."


def _notes(analysis: Analysis) -> Iterator[str]:
    settings = analysis.settings
    if settings.permutations:
        yield f"Tests: {settings.permutations:,} permutations of the raters' demographic rows, seed {settings.seed}."
    if settings.bootstrap:
        yield f"Lines: {100 * settings.confidence:g} % intervals, {settings.bootstrap:,} bootstrap replicates."
    yield "Dashed: the whole pool."


def _panel(
    rows: Sequence[Row], pool: float | None, names: RowLabels, scales: tuple[alt.Scale, alt.Scale]
) -> list[alt.Chart]:
    points = [_point(row, y) for row, y in zip(rows, names.middles, strict=True) if row.estimate is not None]
    ends = [value for point in points for value in (point["low"], point["high"], point["x"])]
    ends += [] if pool is None else [pool]
    x = build_value_axis(min(ends, default=0.0), max(ends, default=1.0))
    color = alt.Color("status:N", scale=scales[0], legend=alt.Legend(symbolType="circle"))
    shape = alt.Shape("status:N", scale=scales[1])
    base = alt.Chart(to_inline_data(points))
    marks = base.mark_point(filled=True, size=52, opacity=1, stroke=PAPER, strokeWidth=0.8)
    return [
        *_reference(pool, x),
        base.mark_rule(strokeWidth=1.5).encode(names.y(), alt.X("low:Q"), color, alt.X2("high:Q")),
        marks.encode(names.y(), x, color, shape),
        base.mark_text(dy=-9, fontWeight="bold", baseline="middle").encode(names.y(), x, alt.Text("stars:N")),
    ]


def _point(row: Row, y: float) -> dict[str, Any]:
    low, high = (row.estimate if end is None else end for end in (row.ci_low, row.ci_high))
    return {
        "y": y,
        "x": row.estimate,
        "low": low,
        "high": high,
        "status": classify_significance(row),
        "stars": row.stars,
    }


def _reference(pool: float | None, x: alt.X) -> Iterator[alt.Chart]:
    if pool is not None:
        line = alt.Chart(to_inline_data([{"x": pool}])).mark_rule(color=MUTED, strokeDash=[3, 3], strokeWidth=1)
        yield line.encode(x)
