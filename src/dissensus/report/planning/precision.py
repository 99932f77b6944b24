"""Figures of precision: widths of intervals, and labels of items."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from dissensus.pipeline.plan.precision import PrecisionPlan, PrecisionRow
from dissensus.pipeline.tables import format_short
from dissensus.report.figure import Figure
from dissensus.report.planning.curves import Curve, CurvePanel, CurvePoint, draw_panels
from dissensus.schema.hints import count_noun

WIDTHS: Final = {"share": "share of the pool ±", "group_share": "share of a group ±", "difference": "difference ±"}
LABELS: Final = {
    "label_agreement": "same majority as the population",
    "reliability": "reliability",
    "dependability": "dependability",
}


def precision_figures(plan: PrecisionPlan) -> Iterator[Figure]:
    """Yield the widths of intervals by raters, and the precision of labels by ratings of an item."""
    yield interval_widths(plan)
    yield label_precision(plan)


def interval_widths(plan: PrecisionPlan) -> Figure:
    """Draw half-widths by raters, a curve for each number of ratings of an item.

    Examples
    --------
    >>> from dissensus.pipeline.plan.precision import plan_precision
    >>> from dissensus.pipeline.plan.shipped_presets import load_pilot
    >>> plan = plan_precision(load_pilot("dices-350"), raters=(50, 200), per_item=(), n_items=350)
    >>> print(interval_widths(plan).reading)
    The interval of a difference of two groups has a half-width of .101 with 50 raters and of .050 with 200.
    """
    crossed = all(row.per_item == row.n_raters for row in plan.rows)
    numbers = [None] if crossed else list(dict.fromkeys(row.per_item for row in plan.rows))
    panels = [
        CurvePanel(
            title=title,
            x_title="raters",
            curves=tuple(
                Curve(
                    "every rater rates every item" if k is None else f"{count_noun(k, 'rating')} of an item",
                    tuple(
                        CurvePoint(row.n_raters, getattr(row, name).raters)
                        for row in plan.rows
                        if k in (None, row.per_item)
                    ),
                )
                for k in numbers
            ),
        )
        for name, title in WIDTHS.items()
    ]
    first, last = min(plan.rows, key=_sort_key), max(plan.rows, key=_sort_key)
    return Figure(
        name="plan-widths",
        title="Half-widths of intervals",
        reading=f"The interval of a difference of two groups has a half-width of "
        f"{format_short(first.difference.raters, 3)} with {first.n_raters:,} raters and of "
        f"{format_short(last.difference.raters, 3)} with {last.n_raters:,}.",
        table=_tabulate(plan),
        draw=lambda width: draw_panels(panels, width, ordered=True),
        notes=(
            f"Intervals of {100 * plan.confidence:g} % for other raters of the same items; {plan.groups} groups of "
            "one size.",
        ),
    )


def label_precision(plan: PrecisionPlan) -> Figure:
    """Draw agreement of labels with the population, reliability and dependability by ratings of an item."""
    rows = sorted({row.per_item: row for row in plan.rows}.values(), key=lambda row: row.per_item)
    panel = CurvePanel(
        title="labels",
        x_title="ratings of an item",
        curves=tuple(
            Curve(title, tuple(CurvePoint(row.per_item, getattr(row.item, name)) for row in rows))
            for name, title in LABELS.items()
        ),
        percent=True,
    )
    return Figure(
        name="plan-labels",
        title="Labels of items",
        reading=f"With {count_noun(rows[-1].per_item, 'rating')} of an item its majority is that of the population "
        f"for {100 * rows[-1].item.label_agreement:.0f} % of items.",
        table=_tabulate(plan),
        draw=lambda width: draw_panels([panel], width),
        notes=("Reliability: all raters rate the same items. Dependability: each item has other raters.",),
    )


def _sort_key(row: PrecisionRow) -> tuple[int, int]:
    return row.n_raters, row.per_item


def _tabulate(plan: PrecisionPlan) -> pl.DataFrame:
    rows = [
        {"n_raters": row.n_raters, "per_item": row.per_item}
        | {f"{name}_half_width": getattr(row, name).raters for name in WIDTHS}
        | {name: getattr(row.item, name) for name in LABELS}
        for row in plan.rows
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
