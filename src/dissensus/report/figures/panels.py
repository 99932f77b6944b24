"""Panels, one per metric, over the same groups."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor, isclose, log10
from typing import Any

from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.report.graphics.layout import (
    RowLabels,
    concat_horizontally,
    concat_vertically,
    stack_over_rows,
)
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, INK, MUTED, PADDING, PAPER, VERMILION
from dissensus.report.graphics.vega_lite import X2, Axis, Chart, Color, Legend, Scale, Shape, Spec, Text, X
from dissensus.report.groups import DisplayedGroups, read_compared_groups

NAMES = {
    "irr": "IRR (alpha)",
    "negentropy": "negentropy",
    "plurality_size": "plurality size",
    "xrr": "XRR",
    "cross_negentropy": "cross-negentropy",
    "voting_agreement": "voting agreement",
    "gai": "GAI",
}
WITHIN, BETWEEN = (dict(list(NAMES.items())[part]) for part in (slice(3), slice(3, None)))
GAP = 14
PANELS_ACROSS_PAGE = 4
PANELS_IN_COLUMN = 2
UNTESTED, NOT, RAW, ADJUSTED = "not tested", "p ≥ .05", "p < .05", "also after adjustment"
LOOKS = {UNTESTED: (INK, "circle"), NOT: (INK, "circle"), RAW: (BLUE, "square"), ADJUSTED: (VERMILION, "diamond")}

Draw = Callable[[str, RowLabels], Sequence[Spec]]


def draw_panels(
    names: Sequence[str], draw: Draw, width: int, *, titles: Sequence[Mapping[str, str]] = (WITHIN, BETWEEN)
) -> Spec:
    """Draw a panel for each metric; `draw(metric, rows)` returns its layers.

    `titles` has the titles by metric, in one mapping for each group of panels that begins a line of its own.
    """
    n = min(PANELS_IN_COLUMN if width <= COLUMN_WIDTH else PANELS_ACROSS_PAGE, max(map(len, titles)))
    rows = RowLabels(names, width)
    room = round((width - rows.name_width - 2 * PADDING - (n - 1) * GAP) / n)
    lines = []
    for line in (list(of.items())[start : start + n] for of in titles for start in range(0, len(of), n)):
        name_layers = [rows.draw_names(), *([[]] * (len(line) - 1))]
        drawn = [
            stack_over_rows([*name, *draw(metric, rows)], rows, width=room, title=title)
            for name, (metric, title) in zip(name_layers, line, strict=True)
        ]
        lines.append(concat_horizontally(drawn, spacing=GAP))
    return concat_vertically(lines, spacing=GAP) | {"resolve": {"scale": {"x": "independent"}}}


def select_rows(analysis: Analysis, groups: str | DisplayedGroups) -> tuple[DisplayedGroups, dict[str, dict[str, Row]]]:
    """Return the displayed groups, all of an axis if it is named, and their rows by metric and group."""
    groups = read_compared_groups(analysis, groups) if isinstance(groups, str) else groups
    rows: dict[str, dict[str, Row]] = {metric: {} for metric in NAMES}
    for row in analysis.rows:
        if row.axis == groups.axis and row.metric in rows and row.group in groups.listed:
            rows[row.metric][str(row.group)] = row
    return groups, rows


def classify_significance(row: Row) -> str:
    """Return the significance status of a row."""
    return UNTESTED if row.p is None else {"": NOT, "*": RAW, "**": ADJUSTED}[row.stars]


def build_significance_scales(rows: Sequence[Row]) -> tuple[Scale, Scale]:
    """Return the colour and shape scales of the statuses that occur."""
    statuses = {classify_significance(row) for row in rows}
    names = [name for name in LOOKS if name in statuses]
    color, shape = zip(*(LOOKS[name] for name in names), strict=True) if names else ((), ())
    return Scale(domain=names, range=list(color)), Scale(domain=names, range=list(shape))


def build_value_axis(low: float, high: float) -> X:
    """Return the x axis of a panel: the field `x` over a range of values, with digits that distinguish its ticks."""
    # Values that differ by rounding alone would be told apart by fifteen digits.
    high = low if isclose(low, high, abs_tol=1e-9) else high
    digits = max(1, 1 - floor(log10(high - low))) if high > low else 2
    return X(
        "x:Q",
        title=None,
        scale=Scale(domain=[low, high], zero=False, nice=True, padding=6),
        axis=Axis(tickCount=2, format=f".{digits}~f", labelOverlap="greedy", labelSeparation=6),
    )


def draw_estimates(
    rows: Sequence[Row | None],
    reference: float | None,
    names: RowLabels,
    scales: tuple[Scale, Scale],
    *,
    beside: Sequence[Row] = (),
) -> list[Spec]:
    """Return the layers of a panel: estimates with intervals and stars, and a dashed line at the reference.

    The axis also covers the rows of the panels `beside`.
    """
    points = [_point(row, y) for row, y in zip(rows, names.middles, strict=True) if row and row.estimate is not None]
    covered = [*points, *(_point(row, 0) for row in beside if row.estimate is not None)]
    ends = [value for point in covered for value in (point["low"], point["high"], point["x"])]
    ends += [] if reference is None else [reference]
    x = build_value_axis(min(ends, default=0.0), max(ends, default=1.0))
    color = Color("status:N", scale=scales[0], legend=Legend(symbolType="circle"))
    shape = Shape("status:N", scale=scales[1])
    base = Chart(points)
    marks = base.mark("point", filled=True, size=52, opacity=1, stroke=PAPER, strokeWidth=0.8)
    return [
        *_reference(reference, x),
        base.mark("rule", strokeWidth=1.5).encode(names.y(), X("low:Q"), color, X2("high:Q")),
        marks.encode(names.y(), x, color, shape),
        base.mark("text", dy=-9, fontWeight="bold", baseline="middle").encode(names.y(), x, Text("stars:N")),
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


def _reference(value: float | None, x: X) -> Iterator[Spec]:
    if value is not None:
        line = Chart([{"x": value}]).mark("rule", color=MUTED, strokeDash=[3, 3], strokeWidth=1)
        yield line.encode(x)
