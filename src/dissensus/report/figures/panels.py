"""Panels, one per metric, over the same groups."""

from collections.abc import Callable, Sequence
from math import floor, log10

import altair as alt

from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.report.groups import DisplayedGroups, read_compared_groups
from dissensus.report.layout import RowLabels, Spec, concat_horizontally, concat_vertically, stack_over_rows
from dissensus.report.theme import BLUE, COLUMN_WIDTH, INK, PADDING, VERMILION

NAMES = {
    "irr": "IRR (alpha)",
    "negentropy": "negentropy",
    "plurality_size": "plurality size",
    "xrr": "XRR",
    "cross_negentropy": "cross-negentropy",
    "voting_agreement": "voting agreement",
    "gai": "GAI",
}
WITHIN, BETWEEN = tuple(NAMES)[:3], tuple(NAMES)[3:]
GAP = 14
# Panels per row across a page, and in a column.
ACROSS, IN_COLUMN = 4, 2
UNTESTED, NOT, RAW, ADJUSTED = "not tested", "p ≥ .05", "p < .05", "also after adjustment"
LOOKS = {UNTESTED: (INK, "circle"), NOT: (INK, "circle"), RAW: (BLUE, "square"), ADJUSTED: (VERMILION, "diamond")}

Draw = Callable[[str, RowLabels], Sequence[alt.Chart]]


def draw_panels(names: Sequence[str], draw: Draw, width: int) -> Spec:
    """Draw a panel per metric, those within groups above those across; `draw(metric, rows)` returns its layers."""
    n = IN_COLUMN if width <= COLUMN_WIDTH else ACROSS
    rows = RowLabels(names, width)
    room = round((width - rows.name_width - 2 * PADDING - (n - 1) * GAP) / n)
    lines = []
    for metrics in (of[start : start + n] for of in (WITHIN, BETWEEN) for start in range(0, len(of), n)):
        name_layers = [rows.draw_names(), *([[]] * (len(metrics) - 1))]
        drawn = [
            stack_over_rows([*name, *draw(metric, rows)], rows, width=room, title=NAMES[metric])
            for name, metric in zip(name_layers, metrics, strict=True)
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


def build_significance_scales(rows: Sequence[Row]) -> tuple[alt.Scale, alt.Scale]:
    """Return the colour and shape scales of the statuses that occur."""
    statuses = {classify_significance(row) for row in rows}
    names = [name for name in LOOKS if name in statuses]
    color, shape = zip(*(LOOKS[name] for name in names), strict=True) if names else ((), ())
    return alt.Scale(domain=names, range=list(color)), alt.Scale(domain=names, range=list(shape))


def build_value_axis(low: float, high: float) -> alt.X:
    """Return the x axis of a panel: the field `x` over a range of values, with digits that distinguish its ticks."""
    digits = max(1, 1 - floor(log10(high - low))) if high > low else 2
    return alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(domain=[low, high], zero=False, nice=True, padding=6),
        axis=alt.Axis(tickCount=2, format=f".{digits}~f", labelOverlap="greedy", labelSeparation=6),
    )
