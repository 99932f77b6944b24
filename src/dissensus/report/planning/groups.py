"""Figures of a comparison of groups: power by raters, and power for money."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from dissensus.pipeline.plan.group_designs import PlannedDesign
from dissensus.pipeline.plan.groups import GroupPlan
from dissensus.pipeline.plan.settings import format_size
from dissensus.pipeline.tables import format_short
from dissensus.report.figure import Figure
from dissensus.report.planning.curves import Curve, CurvePanel, CurvePoint, draw_panels
from dissensus.schema.hints import count_noun

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
    several = len(plan.sizes) > 1
    panel = CurvePanel(
        title="power",
        x_title="raters of a group",
        curves=tuple(_size_curves(plan, by_cost=False) if several else _power_curves(plan)),
        level=plan.settings.power,
        percent=True,
    )
    return Figure(
        name="plan-power",
        title="Power by raters of a group",
        reading=_read_power(plan),
        table=_tabulate(plan),
        draw=lambda width: draw_panels([panel], width, ordered=several),
        notes=(
            "Dashed: the power to reach."
            + ("" if several else " Vertical lines: intervals of 95 % of the simulated power."),
        ),
    )


def _power_curves(plan: GroupPlan) -> Iterator[Curve]:
    """Yield the power in closed form, and in simulated campaigns."""
    closed = tuple(CurvePoint(d.raters_per_group, d.power) for d in plan.designs if d.power is not None)
    simulated = tuple(
        CurvePoint(d.raters_per_group, d.simulated.power, d.simulated.ci_low, d.simulated.ci_high)
        for d in plan.designs
        if d.simulated is not None
    )
    if closed:
        yield Curve(CLOSED, closed, has_marks=not simulated)
    if simulated:
        yield Curve(SIMULATED, simulated, has_line=not closed)


def _size_curves(plan: GroupPlan, *, by_cost: bool) -> Iterator[Curve]:
    """Yield the power of the designs of each size, by raters or as points by cost."""
    for n_items, per_item in plan.sizes:
        designs = [d for d in plan.designs if d.n_items == n_items and per_item in (None, d.per_item)]
        points = tuple(
            _cost_point(d) if by_cost else CurvePoint(d.raters_per_group, d.best_power or 0.0) for d in designs
        )
        yield Curve(format_size(n_items, per_item), points, has_line=not by_cost)


def _read_power(plan: GroupPlan) -> str:
    power = format_short(plan.settings.power)
    if plan.smallest is None:
        return f"No design of the table reaches a power of {power}."
    return f"{count_noun(plan.smallest, 'rater')} per group{_on_size(plan)} reach a power of {power}."


def _on_size(plan: GroupPlan, design: PlannedDesign | None = None) -> str:
    """Return the size of a design, or that of the settings, where there are several."""
    settings = plan.settings
    if len(plan.sizes) == 1:
        return ""
    n_items, k = (settings.n_items, settings.per_item) if design is None else (design.n_items, design.per_item)
    return f" on {format_size(n_items, None if settings.per_item is None else k)}"


def cost_frontier(plan: GroupPlan) -> Figure:
    """Draw power by cost, with the designs for which no other one has more power for less money."""
    several = len(plan.sizes) > 1
    efficient, others = (
        tuple(_cost_point(d) for d in plan.designs if d.is_efficient == wanted) for wanted in (True, False)
    )
    currency = plan.settings.rates.currency if plan.settings.rates else ""
    rest = _size_curves(plan, by_cost=True) if several else [Curve(OTHERS, others, has_line=False)] if others else []
    frontier = Curve(FRONTIER, tuple(sorted(efficient, key=lambda point: point.x)), has_marks=not several)
    # The last colour of a ramp is the darkest, the first one of others the strongest.
    curves = (*rest, frontier) if several else (frontier, *rest)
    panel = CurvePanel(
        title="power", x_title=f"cost, {currency}", curves=curves, level=plan.settings.power, percent=True
    )
    return Figure(
        name="plan-cost",
        title="Power for money",
        reading=_read_cost(plan, currency),
        table=_tabulate(plan),
        draw=lambda width: draw_panels([panel], width, ordered=several),
        notes=("Dashed: the power to reach. Paid time is rounded up to five minutes of a rater.",),
    )


def _read_cost(plan: GroupPlan, currency: str) -> str:
    power = format_short(plan.settings.power)
    reached = [d for d in plan.designs if d.cost is not None and (d.best_power or 0) >= plan.settings.power]
    cheapest = min(reached, key=lambda design: design.cost or 0.0, default=None)
    if cheapest is None:
        return f"No design of the table reaches a power of {power}."
    return (
        f"The cheapest design with a power of {power} or more costs {cheapest.cost:,.0f} {currency}: "
        f"{count_noun(cheapest.raters_per_group, 'rater')} per group{_on_size(plan, cheapest)}."
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
