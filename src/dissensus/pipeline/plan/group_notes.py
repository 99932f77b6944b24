"""Notes on a comparison of groups: what its power means, warnings, and why no design reaches it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from dissensus.pipeline.plan.group_designs import (
    IN_CLOSED_FORM,
    PlannedDesign,
    build_design,
    find_detectable,
    most_raters,
)
from dissensus.pipeline.plan.settings import MOST_RATERS, GroupPlanSettings
from dissensus.stats.planning.contrast_power import contrast_power, contrast_variance, find_smallest
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


def explain_unreachable(model: RatingModel, settings: GroupPlanSettings, share: float) -> str:
    """Return the reason why no number of raters reaches the power, and the least that would work."""
    most = most_raters(settings)
    design = build_design(settings, share, most)
    best = contrast_power(settings.difference, contrast_variance(model, design), level=settings.level)
    detectable = find_detectable(model, settings, share, most)

    def with_items(n_items: int) -> float:
        more = replace(settings, n_items=n_items)
        wide = build_design(more, share, min(most_raters(more), most * 1000))
        return contrast_power(settings.difference, contrast_variance(model, wide), level=settings.level)

    def with_others(others: int) -> float:
        more = replace(settings, others=others)
        wide = build_design(more, share, most_raters(more))
        return contrast_power(settings.difference, contrast_variance(model, wide), level=settings.level)

    items = find_smallest(with_items, settings.power, settings.n_items + 1, 100_000)
    others = (
        find_smallest(with_others, settings.power, settings.others + 1, MOST_RATERS)
        if settings.others is not None and settings.per_item is None
        else None
    )
    remedies = [
        *([f"{others:,} raters compared with"] if others is not None else []),
        *([f"{items:,} items"] if items is not None else []),
        *(["more ratings of an item"] if settings.per_item is not None else []),
        *([] if detectable is None else [f"a difference of {format_difference(detectable)}"]),
    ]
    design_words = "" if settings.per_item is None else f" with {settings.per_item} ratings each"
    against = "" if settings.others is None else f", against {settings.others:,} other raters"
    return (
        f"No number of raters detects a difference of {format_difference(settings.difference)} on "
        f"{settings.n_items:,} items{design_words}{against}: even with {most:,} raters per group the power is "
        f"{best:.2f}. " + (f"Plan {', or '.join(remedies)}." if remedies else "Plan for a larger difference.")
    )


def format_difference(value: float) -> str:
    """Format a difference with three digits after the point, or with more where it has no others.

    Examples
    --------
    >>> format_difference(0.1), format_difference(0.0001)
    ('0.100', '0.0001')
    """
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.2g}"
