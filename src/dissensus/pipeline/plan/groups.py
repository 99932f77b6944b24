"""Raters per group that detect a difference between groups."""

import json
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
        notes=(*_list_notes(settings, variance.items), *_doubt_smallest(designs, smallest, settings.power)),
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
    if settings.statistic in IN_CLOSED_FORM and share + settings.difference >= 1:
        raise InvalidInput(
            f"A share of {share:.2f} cannot be higher by {settings.difference:.2f}; at most {1 - share:.2f} remain."
        )
    if settings.statistic == "decomposition":
        return solve_group_item_sd(model, share, settings.difference)
    return model


def _choose_numbers(smallest: int | None, settings: GroupPlanSettings) -> tuple[int, ...]:
    if smallest is None:
        return FALLBACK
    least = _least_raters(settings)
    most = _most_raters(settings)
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
        design = _set_loading(model, settings, share, design)
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
        minutes_per_rater=rates.minutes(load) if rates else None,
        cost=round(sum(rates.money(design.load(c), c.n_raters) for c in design.cells), 2) if rates else None,
    )


def _set_loading(
    model: RatingModel, settings: GroupPlanSettings, share: float, design: ContrastDesign
) -> ContrastDesign:
    """Return the design with weaker item effects in the last cell."""
    scale = 1.0 if settings.statistic == "alpha" else 2 * share * (1 - share)
    loading = solve_loading(model, share, settings.difference / scale)
    return replace(design, cells=(*design.cells[:-1], replace(design.cells[-1], loading=loading)))


def _find_detectable(model: RatingModel, settings: GroupPlanSettings, share: float, n: int) -> float | None:
    def power(difference: float) -> float:
        design = build_design(settings, share, n, difference)
        return contrast_power(difference, contrast_variance(model, design), level=settings.level)

    return smallest_difference(power, settings.power, 0.999 - share)


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

    needed = find_smallest(with_items, settings.power, settings.n_items, 100_000)
    remedy = "Raise the ratings of an item" if needed is None else f"Plan {needed:,} items, more ratings of an item"
    least = "" if detectable is None else f", or a difference of {detectable:.3f}"
    return (
        f"No number of raters detects a difference of {settings.difference:.3f} on {settings.n_items:,} items with "
        f"{settings.per_item} ratings each: even with an item for each rater the power is {best:.2f}. {remedy}{least}."
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
    if settings.statistic in IN_CLOSED_FORM:
        yield (
            "Power is that of the test of analyse, which exchanges raters between groups, in closed form with a design "
            "effect. It is about raters beyond those asked, and about these items."
        )
        if settings.per_item is not None and settings.per_item < FEW_PER_GROUP * settings.n_cells:
            yield (
                f"With fewer than {FEW_PER_GROUP} ratings of an item by each group the test is weaker than the closed "
                "form, by up to 5 points at one rating; the simulated power holds."
            )
        if items_variance > 0:
            yield f"Over samples of items the difference varies with standard deviation {items_variance**0.5:.3f}."
    else:
        yield (
            "Power is that of the permutation test of analyse, by simulation. The smallest design is that of the table."
        )
    if settings.statistic == "interaction" and settings.per_item is not None:
        yield (
            "Sparse designs have no permutation test of an interaction, so nothing was simulated. Test it by dissensus "
            "model."
        )
