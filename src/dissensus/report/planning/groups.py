"""Figures of a comparison of groups: power by raters, and power for money."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from dissensus.pipeline.plan.group_designs import PlannedDesign
from dissensus.pipeline.plan.groups import GroupPlan
from dissensus.pipeline.tables import format_count, format_short
from dissensus.report.figure import Figure
from dissensus.report.planning.curves import Curve, CurvePanel, CurvePoint, draw_panels

CLOSED, SIMULATED = "closed form", "simulated"
FRONTIER, OTHERS = "most power for its money", "another design has more power for no more money"


def power_figures(plan: GroupPlan) -> Iterator[Figure]:
    """Yield the power of the designs by their raters, and by their cost if it is known."""
    yield power_curve(plan)
    if plan.settings.rates is not None:
        yield cost_frontier(plan)


def power_curve(plan: GroupPlan) -> Figure:
    """Draw power by raters of a group, in closed form and in simulated campaigns.

    Examples
    --------
    >>> from dissensus.pipeline.plan.groups import plan_groups
    >>> from dissensus.pipeline.plan.settings import GroupPlanSettings
    >>> from dissensus.pipeline.plan.shipped_presets import load_pilot
    >>> settings = GroupPlanSettings(difference=0.1, simulations=0)
    >>> print(power_curve(plan_groups(load_pilot("dices-350"), settings)).reading)
    55 raters per group reach a power of .80.
    """
    closed = tuple(CurvePoint(d.raters_per_group, d.power) for d in plan.designs if d.power is not None)
    simulated = tuple(
        CurvePoint(d.raters_per_group, d.simulated.power, d.simulated.ci_low, d.simulated.ci_high)
        for d in plan.designs
        if d.simulated is not None
    )
    curves = [
        *([Curve(CLOSED, closed, has_marks=not simulated)] if closed else []),
        *([Curve(SIMULATED, simulated, has_line=not closed)] if simulated else []),
    ]
    panel = CurvePanel(
        title="power",
        x_title="raters of a group",
        curves=tuple(curves),
        level=plan.settings.power,
        percent=True,
    )
    return Figure(
        name="plan-power",
        title="Power by raters of a group",
        reading=_read_power(plan),
        table=_tabulate(plan),
        draw=lambda width: draw_panels([panel], width),
        notes=("Dashed: the power to reach. Vertical lines: intervals of 95 % of the simulated power.",),
    )


def _read_power(plan: GroupPlan) -> str:
    power = format_short(plan.settings.power)
    if plan.smallest is None:
        return f"No design of the table reaches a power of {power}."
    return f"{format_count(plan.smallest, 'rater')} per group reach a power of {power}."


def cost_frontier(plan: GroupPlan) -> Figure:
    """Draw power by cost, with the designs for which no other one has more power for less money."""
    efficient, others = (
        tuple(_cost_point(d) for d in plan.designs if d.cost is not None and d.is_efficient == wanted)
        for wanted in (True, False)
    )
    currency = plan.settings.rates.currency if plan.settings.rates else ""
    curves = (Curve(FRONTIER, efficient), *([Curve(OTHERS, others, has_line=False)] if others else []))
    panel = CurvePanel(
        title="power", x_title=f"cost, {currency}", curves=curves, level=plan.settings.power, percent=True
    )
    reached = [d for d in plan.designs if d.cost is not None and (d.best_power or 0) >= plan.settings.power]
    cheapest = min(reached, key=lambda design: design.cost or 0.0, default=None)
    return Figure(
        name="plan-cost",
        title="Power for money",
        reading=f"No design of the table reaches a power of {format_short(plan.settings.power)}."
        if cheapest is None
        else f"The cheapest design with a power of {format_short(plan.settings.power)} or more costs "
        f"{cheapest.cost:,.0f} {currency}: {format_count(cheapest.raters_per_group, 'rater')} per group.",
        table=_tabulate(plan),
        draw=lambda width: draw_panels([panel], width),
        notes=("Dashed: the power to reach. Paid time is rounded up to five minutes of a rater.",),
    )


def _cost_point(design: PlannedDesign) -> CurvePoint:
    return CurvePoint(design.cost or 0.0, design.best_power or 0.0)


def _tabulate(plan: GroupPlan) -> pl.DataFrame:
    rows = []
    for design in plan.designs:
        row = asdict(design)
        simulated = row.pop("simulated") or {}
        rows.append(row | {f"simulated_{name}": simulated.get(name) for name in ("power", "ci_low", "ci_high")})
    return pl.DataFrame(rows, infer_schema_length=None)
