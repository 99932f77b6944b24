"""Raters per group that detect a difference between groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.group_designs import (
    IN_CLOSED_FORM,
    PlannedDesign,
    build_design,
    choose_numbers,
    compute_cost,
    find_detectable,
    find_null_rate,
    find_smallest_size,
    list_sizes,
)
from dissensus.pipeline.plan.group_notes import (
    explain_impossible,
    explain_unreachable,
    list_notes,
    warn_of_few_items,
    warn_of_low_power,
)
from dissensus.pipeline.plan.partial import NOTHING_STORED, PartialResults
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.planning.alternatives import solve_group_item_sd, solve_loading
from dissensus.stats.planning.contrast_power import contrast_power, contrast_variance
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.planning.simulated_power import SimulatedPower, is_crossed, simulate_power

WORK: Final = {"alpha": 20, "gai": 40, "agreement": 10, "decomposition": 10}
"""Work of a simulated answer, relative to statistics whose permutations need only the mean of each rater."""
NOT_SIMULATED: Final = "Nothing was simulated: the designs are too large for a page. The command does it."


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan(JsonResult):
    """Designs for one comparison of groups.

    `smallest` is the smallest number of raters per group that reaches the power; None if none does. Of several sizes
    it and the settings are those of the size that costs least, or without a rate of pay needs the fewest raters.
    """

    settings: GroupPlanSettings
    sizes: tuple[tuple[int, int | None], ...]  # items, and ratings of an item
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
            "schema_version": 1,
            "question": "groups",
            **asdict(self),
            "campaign": None if self.smallest is None else campaign,
        }


def plan_groups(
    pilot: Pilot,
    settings: GroupPlanSettings,
    *,
    most_answers: int | None = None,
    partial: PartialResults = NOTHING_STORED,
    progress: Callable[[float], None] | None = None,
) -> GroupPlan:
    """Compute the power of designs by the number of raters per group; `progress` gets the share of work done.

    With `most_answers` designs of more simulated answers have their closed form alone; designs in `partial` are not
    simulated again.
    """
    share = pilot.share if settings.share is None else settings.share
    model = _set_alternative(pilot.model, settings, share)
    in_closed_form = settings.statistic in IN_CLOSED_FORM
    if not settings.raters and not list_sizes(settings):
        raise InvalidInput(explain_impossible(settings))
    smallest = find_smallest_size(model, settings, share) if in_closed_form else None
    if smallest is None and in_closed_form and not settings.raters:
        raise InvalidInput(explain_unreachable(model, settings, share))
    numbers = settings.raters or choose_numbers(smallest, settings)
    requested, settings = settings, _limit_simulations(settings, share, numbers, most_answers)
    designs = []
    for index, n in enumerate(numbers):
        part = None if progress is None else scale_progress(progress, index, len(numbers))
        designs.append(_plan_design(model, settings, share, n, partial, part))
    if not in_closed_form:
        reached = [d.raters_per_group for d in designs if d.simulated and d.simulated.power >= settings.power]
        smallest = min(reached, default=None)
    variance = contrast_variance(model, build_design(settings, share, numbers[0]))
    return GroupPlan(
        settings=settings,
        sizes=((settings.n_items, settings.per_item),),
        pilot=pilot,
        share=share,
        designs=tuple(mark_efficient(designs)),
        smallest=smallest,
        items_sd=variance.items**0.5,
        notes=(
            *list_notes(settings, variance.items),
            *warn_of_few_items(designs, smallest, settings.level),
            *warn_of_low_power(designs, smallest, settings.power),
            *([NOT_SIMULATED] if requested != settings else []),
        ),
    )


def _limit_simulations(
    settings: GroupPlanSettings, share: float, numbers: Sequence[int], most_answers: int | None
) -> GroupPlanSettings:
    """Return settings without simulations that would draw more answers than allowed."""
    if most_answers is None or not settings.simulations:
        return settings
    weight = WORK.get(settings.statistic, 1)
    drawn = sum(build_design(settings, share, n).n_ratings for n in numbers) * settings.simulations * weight
    if drawn <= most_answers:
        return settings
    if settings.statistic not in IN_CLOSED_FORM:
        raise InvalidInput(
            f"The power for {settings.statistic} comes from simulations, and these designs are too large to be "
            "simulated here. Plan fewer raters or items, or use the command dissensus plan groups."
        )
    return replace(settings, simulations=0)


def _set_alternative(model: RatingModel, settings: GroupPlanSettings, share: float) -> RatingModel:
    """Check that the difference is possible, and return the model with it."""
    if not 0.001 <= share <= 0.999:
        raise InvalidInput(f"The share is {share:.3f}; give one from .001 to .999.")
    if settings.statistic in IN_CLOSED_FORM and not 0 < share + settings.difference < 1:
        side, most = ("higher", 1 - share) if settings.difference > 0 else ("lower", share)
        raise InvalidInput(
            f"A share of {share:.2f} cannot be {side} by {abs(settings.difference):.2f}; at most {most:.2f} remain."
        )
    if settings.statistic == "decomposition" or settings.statistic == "gai":
        return solve_group_item_sd(model, share, settings.difference, statistic=settings.statistic)
    return model


def _plan_design(
    model: RatingModel,
    settings: GroupPlanSettings,
    share: float,
    n: int,
    partial: PartialResults,
    progress: Callable[[float], None] | None,
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

    key = f"{settings.n_items}, {settings.per_item}, {n}"

    def simulate() -> SimulatedPower:
        return simulate_power(
            model,
            design,
            statistic=settings.statistic,
            level=settings.level,
            n_simulations=settings.simulations,
            seed=np.random.SeedSequence([settings.seed, n]),
            progress=progress,
        )

    return PlannedDesign(
        raters_per_group=n,
        others=settings.others,
        n_raters=design.n_raters,
        n_items=design.n_items,
        per_item=sum(c.per_item for c in design.cells),
        items_per_rater=load,
        power=contrast_power(settings.difference, variance, level=settings.level) if variance else None,
        simulated=partial.find_or_compute(key, SimulatedPower, simulate) if can_simulate else None,
        detectable=find_detectable(model, settings, share, n) if in_closed_form else None,
        design_effect=model.components(share).design_effect(load) if in_closed_form else None,
        null_rate=find_null_rate(model, settings, share, n) if in_closed_form else None,
        minutes_per_rater=rates.minutes(load) if rates else None,
        cost=compute_cost(settings, design),
    )


def scale_progress(progress: Callable[[float], None], index: int, n: int) -> Callable[[float], None]:
    """Return a function that reports the progress of one of n parts, by its index, as a share of the whole."""
    return lambda share: progress((index + share) / n)


def mark_efficient(designs: Sequence[PlannedDesign]) -> Iterator[PlannedDesign]:
    """Yield the designs, marked where no other one has more power for less money."""
    for design in designs:
        dominated = any(
            (other.cost or 0) <= (design.cost or 0)
            and (other.best_power or 0) >= (design.best_power or 0)
            and other is not design
            and ((other.cost or 0), -(other.best_power or 0)) != ((design.cost or 0), -(design.best_power or 0))
            for other in designs
        )
        yield replace(design, is_efficient=design.cost is not None and not dominated)
