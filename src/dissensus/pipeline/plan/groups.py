"""Raters per group that detect a difference between groups."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.balance import split_ratings
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.settings import MOST_RATERS, GroupPlanSettings
from dissensus.stats.planning.alternatives import solve_group_item_sd, solve_loading
from dissensus.stats.planning.contrast import (
    ContrastDesign,
    DesignCell,
    contrast_power,
    contrast_variance,
    find_smallest,
    smallest_difference,
)
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.planning.simulated_power import SimulatedPower, is_crossed, simulate_power

SCHEMA_VERSION: Final = 1
GRID: Final = (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
"""Designs around the smallest one, in its raters."""
FEW_PER_GROUP: Final = 5
"""Ratings of an item by a group below which the test has less power than its closed form, see docs/planning.md."""
FALLBACK: Final = (10, 20, 30, 50, 80)
"""Raters per group where no closed form says which designs matter."""
IN_CLOSED_FORM: Final = ("share", "interaction")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDesign:
    """A design with its power and cost."""

    raters_per_group: int
    others: int | None  # raters of the group compared with, where they differ
    n_raters: int
    n_items: int
    per_item: int  # ratings of an item by all groups
    items_per_rater: float
    power: float | None  # in closed form
    simulated: SimulatedPower | None
    detectable: float | None  # smallest difference that reaches the power
    design_effect: float | None
    null_rate: float | None  # at which the test rejects without a difference over all items
    minutes_per_rater: int | None
    cost: float | None
    is_efficient: bool = False  # no other design of the table has more power for less money

    @property
    def best_power(self) -> float | None:
        """Power in closed form, else by simulation."""
        return self.power if self.power is not None else (self.simulated.power if self.simulated else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Designs for one comparison of groups.

    `smallest` is the smallest number of raters per group that reaches the power; None if none does.
    """

    settings: GroupPlanSettings
    pilot: Pilot
    share: float
    designs: tuple[PlannedDesign, ...]
    smallest: int | None
    items_sd: float  # of the difference over samples of items
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        replication = {} if self.settings.per_item is None else {"replication": self.settings.per_item}
        campaign = {**replication, "quota": {"seats": self.smallest}}
        return {
            "schema_version": SCHEMA_VERSION,
            "question": "groups",
            **asdict(self),
            "campaign": None if self.smallest is None else campaign,
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)


def plan_groups(
    pilot: Pilot, settings: GroupPlanSettings, *, progress: Callable[[float], None] | None = None
) -> GroupPlan:
    """Compute the power of designs by the number of raters per group; `progress` gets the share of work done."""
    share = pilot.share if settings.share is None else settings.share
    model = _set_alternative(pilot.model, settings, share)
    in_closed_form = settings.statistic in IN_CLOSED_FORM
    smallest = _find_smallest(model, settings, share) if in_closed_form else None
    if smallest is None and in_closed_form and not settings.raters:
        raise InvalidInput(_explain_unreachable(model, settings, share))
    numbers = settings.raters or _choose_numbers(smallest, settings)
    designs = []
    for place, n in enumerate(numbers):
        part = None if progress is None else _part(progress, place, len(numbers))
        designs.append(_plan_design(model, settings, share, n, part))
    if not in_closed_form:
        reached = [d.raters_per_group for d in designs if d.simulated and d.simulated.power >= settings.power]
        smallest = min(reached, default=None)
    variance = contrast_variance(model, build_design(settings, share, numbers[0]))
    return GroupPlan(
        settings=settings,
        pilot=pilot,
        share=share,
        designs=tuple(_mark_efficient(designs)),
        smallest=smallest,
        items_sd=variance.items**0.5,
        notes=(
            *_list_notes(settings, variance.items),
            *_doubt_items(designs, smallest, settings.level),
            *_doubt_smallest(designs, smallest, settings.power),
        ),
    )


def build_design(settings: GroupPlanSettings, share: float, n: int, difference: float | None = None) -> ContrastDesign:
    """Return the design with n raters per group."""
    difference = settings.difference if difference is None else difference
    sizes = [n] * settings.n_cells if settings.others is None else [settings.others, n]
    per_cell = sizes if settings.per_item is None else split_ratings(settings.per_item, sizes)
    is_share = settings.statistic in IN_CLOSED_FORM
    weights = (-1.0, 1.0) if settings.n_cells == 2 else (1.0, -1.0, -1.0, 1.0)
    shares = [share] * (settings.n_cells - 1) + [share + difference if is_share else share]
    loadings = [1.0] * settings.n_cells
    return ContrastDesign(
        tuple(
            DesignCell(share=p, n_raters=size, per_item=k, weight=w, loading=loading)
            for p, size, k, w, loading in zip(shares, sizes, per_cell, weights, loadings, strict=True)
        ),
        settings.n_items,
    )


def _set_alternative(model: RatingModel, settings: GroupPlanSettings, share: float) -> RatingModel:
    """Check that the difference is possible, and return the model with it."""
    if not 0.001 <= share <= 0.999:
        raise InvalidInput(f"The share is {share:.3f}; give one from .001 to .999.")
    if settings.statistic in IN_CLOSED_FORM and not 0 < share + settings.difference < 1:
        side, most = ("higher", 1 - share) if settings.difference > 0 else ("lower", share)
        raise InvalidInput(
            f"A share of {share:.2f} cannot be {side} by {abs(settings.difference):.2f}; at most {most:.2f} remain."
        )
    if settings.statistic == "decomposition":
        return solve_group_item_sd(model, share, settings.difference)
    return model


def _choose_numbers(smallest: int | None, settings: GroupPlanSettings) -> tuple[int, ...]:
    least, most = _least_raters(settings), _most_raters(settings)
    if smallest is None:
        return tuple(sorted({min(most, max(least, n)) for n in FALLBACK}))
    return tuple(sorted({min(most, max(least, round(factor * smallest))) for factor in GRID} | {smallest}))


def _least_raters(settings: GroupPlanSettings) -> int:
    """Return the smallest number of raters per group with which every item has its ratings."""
    if settings.per_item is None:
        return 2
    if settings.others is not None:
        return max(2, settings.per_item - settings.others, -(-settings.others // max(1, settings.per_item - 1)))
    return max(2, -(-settings.per_item // settings.n_cells))


def _most_raters(settings: GroupPlanSettings) -> int:
    """Return the largest number of raters per group: an item for each of them, and a rating of each other group."""
    if settings.per_item is None:
        return MOST_RATERS
    if settings.others is not None:
        return max(2, settings.others * (settings.per_item - 1))
    return max(2, min(MOST_RATERS, settings.per_item // settings.n_cells * settings.n_items))


def _find_smallest(model: RatingModel, settings: GroupPlanSettings, share: float) -> int | None:
    def power(n: int) -> float:
        design = build_design(settings, share, n)
        return contrast_power(settings.difference, contrast_variance(model, design), level=settings.level)

    return find_smallest(power, settings.power, _least_raters(settings), _most_raters(settings))


def _plan_design(
    model: RatingModel, settings: GroupPlanSettings, share: float, n: int, progress: Callable[[float], None] | None
) -> PlannedDesign:
    design = build_design(settings, share, n)
    in_closed_form = settings.statistic in IN_CLOSED_FORM
    if settings.statistic in ("alpha", "agreement"):
        loading = solve_loading(model, share, settings.difference, statistic=settings.statistic)
        design = replace(design, cells=(*design.cells[:-1], replace(design.cells[-1], loading=loading)))
    cell = design.cells[-1]
    load = design.load(cell)
    rates = settings.rates
    variance = contrast_variance(model, design) if in_closed_form else None
    can_simulate = settings.simulations and not (settings.statistic == "interaction" and not is_crossed(design))
    return PlannedDesign(
        raters_per_group=n,
        others=settings.others,
        n_raters=design.n_raters,
        n_items=design.n_items,
        per_item=sum(c.per_item for c in design.cells),
        items_per_rater=load,
        power=contrast_power(settings.difference, variance, level=settings.level) if variance else None,
        simulated=simulate_power(
            model,
            design,
            statistic=settings.statistic,
            level=settings.level,
            n_simulations=settings.simulations,
            seed=np.random.SeedSequence([settings.seed, n]),
            progress=progress,
        )
        if can_simulate
        else None,
        detectable=_find_detectable(model, settings, share, n) if in_closed_form else None,
        design_effect=model.components(share).design_effect(load) if in_closed_form else None,
        null_rate=_find_null_rate(model, settings, share, n) if in_closed_form else None,
        minutes_per_rater=rates.minutes(load) if rates else None,
        cost=round(sum(rates.money(design.load(c), c.n_raters) for c in design.cells), 2) if rates else None,
    )


def _find_detectable(model: RatingModel, settings: GroupPlanSettings, share: float, n: int) -> float | None:
    """Return the smallest difference of the sign asked for that reaches the power."""
    sign = math.copysign(1, settings.difference)

    def power(size: float) -> float:
        design = build_design(settings, share, n, sign * size)
        return contrast_power(size, contrast_variance(model, design), level=settings.level)

    size = smallest_difference(power, settings.power, 0.999 - share if sign > 0 else share - 0.001)
    return None if size is None else sign * size


def _find_null_rate(model: RatingModel, settings: GroupPlanSettings, share: float, n: int) -> float:
    variance = contrast_variance(model, build_design(settings, share, n, 0.0))
    return 2 * contrast_power(0.0, variance, level=settings.level)


def _part(progress: Callable[[float], None], place: int, n: int) -> Callable[[float], None]:
    return lambda share: progress((place + share) / n)


def _mark_efficient(designs: Sequence[PlannedDesign]) -> Iterator[PlannedDesign]:
    for design in designs:
        dominated = any(
            (other.cost or 0) <= (design.cost or 0)
            and (other.best_power or 0) >= (design.best_power or 0)
            and other is not design
            and ((other.cost or 0), -(other.best_power or 0)) != ((design.cost or 0), -(design.best_power or 0))
            for other in designs
        )
        yield replace(design, is_efficient=design.cost is not None and not dominated)


def _explain_unreachable(model: RatingModel, settings: GroupPlanSettings, share: float) -> str:
    """Return the reason why no number of raters reaches the power, and the least that would work."""
    most = _most_raters(settings)
    design = build_design(settings, share, most)
    best = contrast_power(settings.difference, contrast_variance(model, design), level=settings.level)
    detectable = _find_detectable(model, settings, share, most)

    def with_items(n_items: int) -> float:
        more = replace(settings, n_items=n_items)
        wide = build_design(more, share, min(_most_raters(more), most * 1000))
        return contrast_power(settings.difference, contrast_variance(model, wide), level=settings.level)

    def with_others(others: int) -> float:
        more = replace(settings, others=others)
        wide = build_design(more, share, _most_raters(more))
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


def _doubt_items(designs: Sequence[PlannedDesign], smallest: int | None, level: float) -> Iterator[str]:
    """Yield a warning if effects of groups on items alone make the test reject twice as often as at its level."""
    chosen = next((design for design in designs if design.raters_per_group == smallest), designs[-1])
    if chosen.null_rate is not None and chosen.null_rate > 2 * level:
        yield (
            f"Warning: with {chosen.raters_per_group:,} raters per group the test rejects in "
            f"{100 * chosen.null_rate:.0f} % of campaigns even if groups do not differ over all items: it finds that "
            "they differ on these items. Plan more items to find a difference over all."
        )


def _doubt_smallest(designs: Sequence[PlannedDesign], smallest: int | None, power: float) -> Iterator[str]:
    """Yield a warning if simulations of the smallest design miss the power that its closed form has."""
    for design in designs:
        simulated = design.simulated
        if design.raters_per_group == smallest and simulated is not None and simulated.ci_high < power:
            yield (
                f"Warning: simulated, {smallest} raters per group reach {simulated.power:.2f} alone: small groups and "
                "few ratings of an item have less power than the closed form. Plan more raters, until the simulation "
                "agrees."
            )


def _list_notes(settings: GroupPlanSettings, items_variance: float) -> Iterator[str]:
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
        f"--level {settings.level:g}/m gives a power that adjustment does not lower."
    )
