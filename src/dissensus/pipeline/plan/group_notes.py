"""Notes on a comparison of groups: what its power means, warnings, and why no design reaches it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from dissensus.pipeline.plan.group_designs import (
    IN_CLOSED_FORM,
    PlannedDesign,
    find_best_size,
    find_detectable,
    find_smallest_size,
    list_sizes,
)
from dissensus.pipeline.plan.settings import MOST_ITEMS, MOST_RATERS, GroupPlanSettings, format_size
from dissensus.schema.hints import count_noun
from dissensus.stats.planning.contrast_power import find_smallest
from dissensus.stats.planning.rating_model import RatingModel

FEW_PER_GROUP: Final = 5
"""Ratings of an item by a group below which the test has less power than its closed form, see docs/planning.md."""


def list_notes(settings: GroupPlanSettings, items_variance: float) -> Iterator[str]:
    """Yield notes on the test whose power it is."""
    if settings.statistic == "interaction":
        yield (
            "The test is that of a contrast of four shares, with errors clustered by rater, in closed form; analyse "
            "has no such test. Test the interaction by dissensus model."
        )
        yield (
            "Simulated: raters are exchanged between the four cells."
            if settings.per_item is None
            else "Nothing was simulated: sparse designs have no permutation test of an interaction."
        )
    elif settings.statistic == "share":
        yield (
            "Power is that of the test of analyse, which exchanges raters between groups, in closed form with a design "
            "effect. It is about raters beyond those asked, and about these items."
        )
        if settings.per_item is not None and settings.per_item < FEW_PER_GROUP * settings.n_cells:
            yield (
                f"With fewer than {FEW_PER_GROUP} ratings of an item by each group the test is weaker than the closed "
                "form, by up to 5 points at one rating"
                + ("; the simulated power holds." if settings.simulations else ". Simulate, to see how much.")
            )
    else:
        yield (
            "Power is that of the permutation test of analyse, by simulation. The smallest design is that of the table."
        )
    if settings.statistic in IN_CLOSED_FORM and items_variance > 1e-12:
        yield f"Over samples of items the difference varies with standard deviation {items_variance**0.5:.3f}."
    yield (
        f"Power is that of one test at level {settings.level:g}. Where m tests are adjusted together, as analyse does, "
        f"the level {settings.level:g}/m gives a power that adjustment does not lower."
    )


def warn_of_few_items(designs: Sequence[PlannedDesign], smallest: int | None, level: float) -> Iterator[str]:
    """Yield a warning if effects of groups on items alone make the test reject twice as often as at its level."""
    design = next((design for design in designs if design.raters_per_group == smallest), designs[-1])
    if design.null_rate is not None and design.null_rate > 2 * level:
        yield (
            f"Warning: with {design.raters_per_group:,} raters per group the test rejects in "
            f"{100 * design.null_rate:.0f} % of campaigns even if groups do not differ over all items: it finds that "
            "they differ on these items. Plan more items to find a difference over all."
        )


def warn_of_low_power(designs: Sequence[PlannedDesign], smallest: int | None, power: float) -> Iterator[str]:
    """Yield a warning if simulations of the smallest design miss the power that its closed form has."""
    for design in designs:
        simulated = design.simulated
        if design.raters_per_group == smallest and simulated is not None and simulated.ci_high < power:
            yield (
                f"Warning: simulated, {smallest} raters per group reach {simulated.power:.2f} alone: small groups and "
                "few ratings of an item have less power than the closed form. Plan more raters, until the simulation "
                "agrees."
            )


def explain_impossible(settings: GroupPlanSettings) -> str:
    """Return the reason why no number of raters has a design, and the least that would work."""

    def has_sizes(n_items: int) -> bool:
        return bool(list_sizes(replace(settings, n_items=n_items)))

    items = find_smallest(has_sizes, 1, settings.n_items, MOST_ITEMS)
    remedy = f"{settings.n_cells} ratings of an item" if items is None else count_noun(items, "item")
    return (
        f"No number of raters is possible with {format_size(settings.n_items, settings.per_item)}"
        f"{_describe_others(settings)}: every rater needs an item, and every item a rating by each group. Plan "
        f"{remedy} or more."
    )


def explain_unreachable(model: RatingModel, settings: GroupPlanSettings, share: float) -> str:
    """Return the reason why no number of raters reaches the power, and the least that would work."""
    best, power = find_best_size(model, settings, share)
    detectable = find_detectable(model, settings, share, best)

    def is_reached(**changes: int) -> bool:
        return find_smallest_size(model, replace(settings, **changes), share) is not None  # type: ignore[arg-type]

    items = find_smallest(lambda n: is_reached(n_items=n), 1, settings.n_items + 1, 100_000)
    others = (
        find_smallest(lambda n: is_reached(others=n), 1, settings.others + 1, MOST_RATERS)
        if settings.others is not None and settings.per_item is None
        else None
    )
    remedies = [
        *([f"{others:,} raters compared with"] if others is not None else []),
        *([f"{items:,} items"] if items is not None else []),
        *(["more ratings of an item"] if settings.per_item is not None else []),
        *([] if detectable is None else [f"a difference of {format_difference(detectable)}"]),
    ]
    return (
        f"No number of raters detects a difference of {format_difference(settings.difference)} on "
        f"{format_size(settings.n_items, settings.per_item)}{_describe_others(settings)}: the largest power is "
        f"{power:.2f}, with {best:,} raters per group. "
        + (f"Plan {', or '.join(remedies)}." if remedies else "Plan for a larger difference.")
    )


def _describe_others(settings: GroupPlanSettings) -> str:
    return "" if settings.others is None else f", against {settings.others:,} other raters"


def format_difference(value: float) -> str:
    """Format a difference with three digits after the point, or with more where it has no others.

    Examples
    --------
    >>> format_difference(0.1), format_difference(0.0001)
    ('0.100', '0.0001')
    """
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.2g}"
