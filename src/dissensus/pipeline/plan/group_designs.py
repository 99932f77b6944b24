"""Designs of a comparison of groups, and the numbers of raters that are possible."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from dissensus.pipeline.plan.balance import split_ratings
from dissensus.pipeline.plan.settings import MOST_RATERS, GroupPlanSettings
from dissensus.stats.planning.contrast_power import (
    FEWEST_RATERS,
    ContrastDesign,
    DesignCell,
    bound_power,
    contrast_power,
    contrast_variance,
    find_peak,
    find_smallest,
    smallest_difference,
)
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.planning.simulated_power import SimulatedPower

GRID: Final = (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
"""Raters per group of the designs of a table, as multiples of the smallest number that reaches the power."""
FALLBACK: Final = (10, 20, 30, 50, 80)
"""Raters per group of the designs of a table where that number has no closed form."""
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


def compute_cost(settings: GroupPlanSettings, design: ContrastDesign) -> float | None:
    """Return the cost of a design, None without a rate of pay."""
    rates = settings.rates
    return None if rates is None else round(sum(rates.money(design.load(c), c.n_raters) for c in design.cells), 2)


def list_sizes(settings: GroupPlanSettings) -> tuple[range, ...]:
    """Return the possible numbers of raters per group, by ranges in which the ratings of an item are split alike.

    With them every rater has an item, and every item has a rating of each group.
    """
    per_item, others, n_items = settings.per_item, settings.others, settings.n_items
    if per_item is None:
        bounds = [(0, MOST_RATERS)]
    elif others is None:
        bounds = [(-(-per_item // settings.n_cells), per_item // settings.n_cells * n_items)]
    else:
        # The group has k of the ratings where its proportion of them is above k - ½ and at most k + ½.
        bounds = [
            (
                max(per_item - others, (2 * k - 1) * others // (2 * (per_item - k) + 1) + 1),
                min(k * n_items, (2 * k + 1) * others // (2 * (per_item - k) - 1)),
            )
            for k in range(1, per_item)
            if others <= (per_item - k) * n_items
        ]
    sizes = (range(max(FEWEST_RATERS, least), min(MOST_RATERS, most) + 1) for least, most in bounds)
    return tuple(numbers for numbers in sizes if numbers)


def choose_numbers(smallest: int | None, settings: GroupPlanSettings) -> tuple[int, ...]:
    """Return the raters per group of the designs of a table: around the smallest number, or fixed ones without it."""
    sizes = list_sizes(settings)
    wanted = FALLBACK if smallest is None else (*(round(factor * smallest) for factor in GRID), smallest)
    return tuple(sorted({_find_nearest(sizes, n) for n in wanted}))


def _find_nearest(sizes: Sequence[range], n: int) -> int:
    return min((min(max(n, numbers[0]), numbers[-1]) for numbers in sizes), key=lambda size: abs(size - n))


def find_smallest_size(model: RatingModel, settings: GroupPlanSettings, share: float) -> int | None:
    """Return the smallest number of raters per group that reaches the power, None if none does."""
    power = _cache_power(model, settings, share)
    for numbers in list_sizes(settings):
        # The variance is smallest with the most raters: a bound in a fraction of the time.
        variance = contrast_variance(model, build_design(settings, share, numbers[-1]))
        if bound_power(settings.difference, variance, level=settings.level) < settings.power:
            continue
        peak = find_peak(power, numbers[0], numbers[-1])
        smallest = find_smallest(power, settings.power, numbers[0], peak)
        if smallest is not None:
            return smallest
    return None


def find_best_size(model: RatingModel, settings: GroupPlanSettings, share: float) -> tuple[int, float]:
    """Return the number of raters per group with the largest power, and that power."""
    power = _cache_power(model, settings, share)
    best = max((find_peak(power, numbers[0], numbers[-1]) for numbers in list_sizes(settings)), key=power)
    return best, power(best)


def _cache_power(model: RatingModel, settings: GroupPlanSettings, share: float) -> Callable[[int], float]:
    """Return the power by the number of raters per group.

    It has one peak in each of `list_sizes`: raters of one group reduce the variance, but also the degrees of freedom
    where the other group is small. Between these ranges it falls where the other group loses a rating of each item.
    """

    @cache
    def power(n: int) -> float:
        design = build_design(settings, share, n)
        return contrast_power(settings.difference, contrast_variance(model, design), level=settings.level)

    return power


def find_detectable(model: RatingModel, settings: GroupPlanSettings, share: float, n: int) -> float | None:
    """Return the smallest difference that reaches the power, with the sign of the settings'; None if none does."""
    sign = math.copysign(1, settings.difference)

    def power(size: float) -> float:
        design = build_design(settings, share, n, sign * size)
        return contrast_power(size, contrast_variance(model, design), level=settings.level)

    size = smallest_difference(power, settings.power, 0.999 - share if sign > 0 else share - 0.001)
    return None if size is None else sign * size


def find_null_rate(model: RatingModel, settings: GroupPlanSettings, share: float, n: int) -> float:
    """Return how often the test rejects although the groups do not differ over all items."""
    variance = contrast_variance(model, build_design(settings, share, n, 0.0))
    return 2 * contrast_power(0.0, variance, level=settings.level)
