"""Plans as tables."""

from dissensus.pipeline.plan.groups import GroupPlan, PlannedDesign
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, format_count, format_number, format_short
from dissensus.stats.planning.simulated_power import SimulatedPower

STATISTICS = {
    "share": "a difference of {} in the share of {}",
    "interaction": "an interaction of {} in the share of {}",
    "agreement": "a difference of {} in pairwise agreement on {}",
    "alpha": "a difference of {} in Krippendorff's alpha of {}",
    "decomposition": "a share of {} of the disagreement on {} between groups",
}


def group_plan_page(plan: GroupPlan) -> Page:
    """Return the table of designs of a comparison of groups."""
    settings = plan.settings
    goal = STATISTICS[settings.statistic].format(format_short(settings.difference, 3), plan.pilot.answer)
    if plan.smallest is None:
        result = "No design of the table reaches it."
    else:
        result = f"Smallest: {format_count(plan.smallest, 'rater')} per group."
    summary = (
        f"Raters per group to detect {goal} with a power of {format_short(settings.power)} at level "
        f"{format_short(settings.level)}. {result}"
    )
    has_cost = settings.rates is not None
    head = ("Raters per group", "Raters", "Ratings of an item", "Items of a rater", "Power", "Simulated (95 %)")
    extra = ("Detectable", "Design effect", *(("Minutes", f"Cost {settings.rates.currency}") if settings.rates else ()))
    lines = tuple(_design_line(design, has_cost=has_cost) for design in plan.designs)
    caption = "Detectable: the smallest difference that reaches the power."
    if has_cost:
        caption += " * No other design has more power for less money."
    return Page(summary, (Grid((*head, *extra), lines, caption),), (*describe_pilot(plan.pilot), *plan.notes))


def _design_line(design: PlannedDesign, *, has_cost: bool) -> tuple[str, ...]:
    simulated = design.simulated
    cells = (
        f"{design.raters_per_group:,}" + ("" if design.others is None else f" and {design.others:,}"),
        f"{design.n_raters:,}",
        f"{design.per_item:,}",
        f"{design.items_per_rater:,.1f}",
        format_short(design.power, 3),
        UNKNOWN if simulated is None else _format_simulated(simulated),
        format_short(design.detectable, 3),
        format_short(design.design_effect, 1),
    )
    if not has_cost:
        return cells
    cost = UNKNOWN if design.cost is None else f"{design.cost:,.2f}"
    return (*cells, format_number(design.minutes_per_rater), cost + ("*" if design.is_efficient else ""))


def _format_simulated(simulated: SimulatedPower) -> str:
    low, high = format_short(simulated.ci_low), format_short(simulated.ci_high)
    return f"{format_short(simulated.power, 3)} [{low}, {high}]"


def describe_pilot(pilot: Pilot) -> tuple[str, ...]:
    """Return notes on the population of a plan."""
    size = "" if pilot.n_raters is None else f" ({pilot.n_raters:,} raters, {format_number(pilot.n_items)} items)"
    model = pilot.model
    sds = f"standard deviations: raters {model.rater_sd:.2f}, items {model.item_sd:.2f}"
    if model.group_item_sd:
        sds += f", groups on items {model.group_item_sd:.2f}"
    first = f"Population: {pilot.source}{size}; share of {pilot.answer} {format_short(pilot.share, 3)}; {sds}."
    intervals = ", ".join(
        f"{effect.name} {effect.ci_low:.2f} to {effect.ci_high:.2f}"
        for effect in pilot.effects
        if effect.ci_low is not None and effect.ci_high is not None
    )
    return (first, *([f"Intervals of the standard deviations: {intervals}."] if intervals else []), *pilot.warnings)
