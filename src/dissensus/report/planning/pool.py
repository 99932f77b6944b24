"""Figure of a pool: raters needed, admitted and begun, by cell."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import polars as pl

from dissensus.pipeline.plan.pool import PoolPlan
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.score.group_points import PointRow, Value, draw_group_points

SERIES: Final = {"needed": "usable raters needed", "seats": "seats", "begun": "people who begin"}


def pool_figures(plan: PoolPlan) -> Iterator[Figure]:
    """Yield the people of each cell."""
    yield pool_cells(plan)


def pool_cells(plan: PoolPlan) -> Figure:
    """Draw usable raters, seats and people who begin, by cell.

    Examples
    --------
    >>> from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
    >>> settings = PoolSettings(axes={"rater_gender": {"Man": 0.5, "Woman": 0.5}}, seats=10, removal=0.154)
    >>> print(pool_cells(plan_pool(settings)).reading)
    For 20 usable raters 30 are admitted and 30 begin, or 40 in one open call.
    """
    rows = [
        PointRow(escape_unprintable(cell.cell), {words: Value(getattr(cell, name)) for name, words in SERIES.items()})
        for cell in plan.cells
    ]
    needed, seats, begun = (sum(getattr(cell, name) for cell in plan.cells) for name in SERIES)
    return Figure(
        name="plan-pool",
        title="People of each cell",
        reading=f"For {needed:,} usable raters {seats:,} are admitted and {begun:,} begin, or {plan.open_call:,} in "
        "one open call.",
        table=pl.DataFrame([asdict(cell) for cell in plan.cells], infer_schema_length=None),
        draw=lambda width: draw_group_points([("", rows)], width, series=tuple(SERIES.values()), per_cent=False),
        notes=(
            f"Enough usable raters remain in all cells with probability {100 * plan.settings.confidence:g} % or more.",
        ),
    )
