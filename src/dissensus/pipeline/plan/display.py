"""Plans as tables."""

from dissensus.pipeline.plan.comparison import ComparisonPlan
from dissensus.pipeline.plan.group_designs import IN_CLOSED_FORM, PlannedDesign
from dissensus.pipeline.plan.groups import GroupPlan
from dissensus.pipeline.plan.interim import MOST_COMPARED, InterimLook
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.pool import PoolPlan
from dissensus.pipeline.plan.precision import PrecisionPlan
from dissensus.pipeline.plan.settings import format_size
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_number, format_short
from dissensus.schema.hints import count_noun
from dissensus.stats.planning.simulated_power import SimulatedPower

STATISTICS = {
    "share": "a difference of {} in the share of {}",
    "interaction": "an interaction of {} in the share of {}",
    "agreement": "a difference of {} in pairwise agreement on {}",
    "alpha": "a difference of {} in Krippendorff's alpha of {}",
    "gai": "a group association index above 1 by {} on {}",
    "decomposition": "a share of {} of the disagreement on {} between groups",
}


def group_plan_page(plan: GroupPlan) -> Page:
    """Return the table of designs of a comparison of groups."""
    settings = plan.settings
    answer = escape_unprintable(plan.pilot.answer)
    goal = STATISTICS[settings.statistic].format(_format_difference(settings.difference), answer)
    if plan.smallest is None:
        result = "No design of the table reaches it."
    else:
        smallest = "Smallest" if settings.statistic in IN_CLOSED_FORM else "Smallest of these"
        result = f"{smallest}: {count_noun(plan.smallest, 'rater')} per group."
    several = len(plan.sizes) > 1
    if several and plan.smallest is not None:
        first = "Size with the fewest raters" if settings.rates is None else "Cheapest size"
        result = f"{first}: {format_size(settings.n_items, settings.per_item)}. {result}"
    summary = (
        f"Raters per group to detect {goal} with a power of {format_short(settings.power)} at level "
        f"{f'{settings.level:g}'.removeprefix('0')}. {result}"
    )
    has_cost = settings.rates is not None
    items = ("Items",) if several else ()
    head = ("Raters per group", "Raters", *items, "Ratings per item", "Items per rater", "Power", "Simulated (95 %)")
    extra = ("Detectable", "Design effect", *(("Minutes", f"Cost {settings.rates.currency}") if settings.rates else ()))
    lines = tuple(_design_line(design, has_cost=has_cost, has_items=several) for design in plan.designs)
    caption = "Detectable: the smallest difference that reaches the power."
    if has_cost:
        caption += " * No other design has more power for less money."
    return Page(summary, (Grid((*head, *extra), lines, caption),), (*describe_pilot(plan.pilot), *plan.notes))


def _design_line(design: PlannedDesign, *, has_cost: bool, has_items: bool) -> tuple[str, ...]:
    simulated = design.simulated
    cells = (
        f"{design.raters_per_group:,}" + ("" if design.others is None else f" and {design.others:,}"),
        f"{design.n_raters:,}",
        *([f"{design.n_items:,}"] if has_items else []),
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


def _format_difference(value: float) -> str:
    return format_short(value, 3) if abs(value) >= 0.01 else f"{value:g}"


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
    time = "" if pilot.minutes_per_item is None else f"; median time of a rating {pilot.minutes_per_item:.1f} minutes"
    share = f"share of {escape_unprintable(pilot.answer)} {format_short(pilot.share, 3)}"
    first = f"Population: {escape_unprintable(pilot.source)}{size}; {share}; {sds}{time}."
    intervals = ", ".join(
        f"{effect.name} {effect.ci_low:.2f} to {effect.ci_high:.2f}"
        for effect in pilot.effects
        if effect.ci_low is not None and effect.ci_high is not None
    )
    return (first, *([f"Intervals of the standard deviations: {intervals}."] if intervals else []), *pilot.warnings)


def precision_plan_page(plan: PrecisionPlan) -> Page:
    """Return the table of precision."""
    percent, answer = f"{100 * plan.confidence:g} %", escape_unprintable(plan.pilot.answer)
    summary = (
        f"Half-widths of {percent} intervals of the share of {answer}, and precision of labels of items; "
        f"raters are split evenly over {plan.groups} groups."
    )
    head = (
        "Raters",
        "Ratings per item",
        "Items per rater",
        "Share ±",
        "Share of a group ±",
        "Difference of groups ±",
        "Share of an item ±",
        "Same majority",
        "Reliability",
        "Dependability",
        *((f"Cost {plan.rates.currency}",) if plan.rates else ()),
    )
    lines = tuple(
        (
            f"{row.n_raters:,}",
            f"{row.per_item:,}",
            f"{row.items_per_rater:,.1f}",
            *(format_short(width.raters, 3) for width in (row.share, row.group_share, row.difference)),
            format_short(row.item.half_width, 3),
            format_short(row.item.label_agreement, 3),
            format_short(row.item.reliability, 3),
            format_short(row.item.dependability, 3),
            *((f"{row.cost:,.2f}",) if row.cost is not None else ()),
        )
        for row in plan.rows
    )
    caption = (
        "Same majority: items on which most of these raters and most of the population are on one side. Reliability: "
        "of item means, if all raters rate the same items; dependability: if each item has other raters."
    )
    notes = (
        "Intervals are for other raters and the same items; for other items, too, JSON has `both`.",
        *describe_pilot(plan.pilot),
    )
    return Page(summary, (Grid(head, lines, caption),), notes)


def pool_plan_page(plan: PoolPlan) -> Page:
    """Return the table of cells."""
    settings = plan.settings
    n_raters = sum(cell.seats for cell in plan.cells)
    summary = (
        f"{count_noun(len(plan.cells), 'cell')} of {count_noun(settings.seats, 'usable rater')}: admit "
        f"{count_noun(n_raters, 'rater')} and {plan.rest_seats:,} outside all groups ({_describe_margin(plan)}). "
        f"Enough remain in every cell with probability {format_short(plan.confidence)}."
    )
    lines = tuple(
        (
            cell.cell,
            format_short(cell.share, 3),
            f"{cell.needed:,}",
            format_short(cell.removal, 3),
            f"{cell.seats:,}",
            f"{cell.begun:,}",
            format_short(cell.chance, 3),
            format_short(cell.chance_begun, 3),
        )
        for cell in plan.cells
    )
    head = (
        "Cell",
        "Share of the pool",
        "Needed",
        "Removal",
        "Seats",
        "People who begin",
        "Chance of enough",
        "If so many begin",
    )
    call = (
        f"Open call: of {plan.open_call:,} people of the pool who begin, enough finish in every cell with probability "
        f"{format_short(plan.open_call_confidence)}; people of full cells are turned away before they begin."
    )
    notes = [call]
    for axis, groups in settings.axes.items():
        if sum(groups.values()) < 0.995:
            notes.append(f"{100 * (1 - sum(groups.values())):.0f} % of the pool are in no group of {axis}.")
    if settings.per_item is not None and "balanced" not in plan.campaign["quota"]:
        notes.append(
            "The quota is not balanced over items: some cell, or the rest, would have none of the ratings of an item. "
            "Plan more ratings of an item for that."
        )
    if plan.cost is not None and settings.rates is not None:
        notes.append(
            f"Cost: {plan.cost:,.2f} {settings.rates.currency} if so many begin"
            + (f", {plan.expected_cost:,.2f} expected" if plan.expected_cost != plan.cost else "")
            + f"; {plan.minutes_per_rater} minutes for each rater, "
            f"{settings.rates.minutes_per_item:g} of them for each rating; those who drop out are paid for "
            "half of their items."
        )
    caption = (
        "Seats: raters who finish, so that removal leaves the needed ones in every cell. Chance of enough: of all "
        "seats; if so many begin: of the people who begin."
    )
    return Page(summary, (Grid(head, lines, caption),), tuple(notes))


def _describe_margin(plan: PoolPlan) -> str:
    return f"margin {plan.margin_percent} %" if "cells" not in plan.campaign["quota"] else "each cell has its own seats"


METRICS = {
    "share": "the share of the last answer to the responses of two chatbots",
    "accuracy": "the accuracy of two models",
    "tv": "the distance of two models from people",
    "wins": "the items on which either of two models is nearer to people",
}


def comparison_plan_page(plan: ComparisonPlan) -> Page:
    """Return the table of designs of a comparison of chatbots."""
    settings = plan.settings
    raters = "the same raters" if settings.same_raters else "different raters"
    people = f", {raters} for both responses" if settings.n_responses > 1 else ""
    summary = (
        f"Difference in {METRICS[settings.metric]} if {format_short(settings.perturbation)} of the answers to the "
        f"second differ{people}; {settings.load} answers of a rater. Most power: "
        f"{count_noun(plan.best, 'rating')} of a response."
    )
    head = (
        "Ratings of a response",
        "Items",
        "Raters",
        "Difference",
        "p",
        "Power",
        "Power if independent",
        "Level if taken for independent",
    )
    lines = tuple(
        (
            f"{row.per_item:,}",
            f"{row.n_items:,}",
            f"{row.n_raters:,}",
            format_short(row.stayed.difference, 3),
            format_short(row.stayed.p, 3),
            format_short(row.stayed.power),
            format_short(row.independent.power),
            format_short(row.stayed.false_positives),
        )
        for row in plan.rows
    )
    caption = (
        "p: share of null differences that reach the mean difference. Power: at the upper 5 %, with raters who stay. "
        "Independent: other raters for each answer, as in published simulations."
    )
    alpha = ", ".join(f"{value:.2f}" for value in plan.dirichlet)
    notes = [
        f"Answers to items: Dirichlet ({alpha}); {format_short(plan.rater_share)} of the variance within items is the "
        "rater's."
    ]
    cost = plan.rows[0].cost
    if cost is not None and settings.rates is not None:
        notes.append(f"Cost of each design: {cost:,.2f} {settings.rates.currency}.")
    return Page(summary, (Grid(head, lines, caption),), (*notes, *describe_pilot(plan.pilot)))


def interim_page(look: InterimLook) -> Page:
    """Return the table of an interim look."""
    summary = (
        f"Share of {escape_unprintable(look.answer)} to {escape_unprintable(look.rating_question)} among raters, with "
        f"{100 * look.confidence:g} % intervals that hold at every look."
    )
    lines = tuple(
        (
            escape_unprintable(
                ("all raters" if row.group is None else row.group)
                + ("" if row.against is None else f" − {row.against}")
            ),
            f"{row.n_raters:,}",
            format_short(row.estimate, 3),
            UNKNOWN if row.ci_low is None else f"[{format_short(row.ci_low, 3)}, {format_short(row.ci_high, 3)}]",
            "yes" if row.is_reached else "no",
        )
        for row in look.rows
    )
    caption = f"Reached: a half-width of {format_short(look.half_width, 3)} or less. Differences count pairs of raters."
    if look.n_uncompared:
        caption += f" The largest {MOST_COMPARED} groups are compared; {look.n_uncompared:,} more are not."
    grid = Grid(("Raters of", "Raters", "Share", "Interval", "Reached"), lines, caption)
    unknown = f"Left out: {count_noun(look.n_unknown, 'rater')} of unknown group on {look.axis}."
    notes = (*look.advice, *([unknown] if look.n_unknown else []))
    return Page(summary, (grid,), tuple(map(escape_unprintable, notes)))
