"""Designs of a comparison of groups, and the numbers of raters that are possible."""

import math
from dataclasses import dataclass
from typing import Final

from dissensus.pipeline.plan.balance import split_ratings
from dissensus.pipeline.plan.settings import MOST_RATERS, GroupPlanSettings
from dissensus.stats.planning.contrast_power import (
    ContrastDesign,
    DesignCell,
    contrast_power,
    contrast_variance,
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


def least_raters(settings: GroupPlanSettings) -> int:
    """Return the smallest number of raters per group with which every item has its ratings."""
    if settings.per_item is None:
        return 2
    if settings.others is not None:
        return max(2, settings.per_item - settings.others, -(-settings.others // max(1, settings.per_item - 1)))
    return max(2, -(-settings.per_item // settings.n_cells))


def most_raters(settings: GroupPlanSettings) -> int:
    """Return the largest number of raters per group: an item for each of them, and a rating of each other group."""
    if settings.per_item is None:
        return MOST_RATERS
    if settings.others is not None:
        return max(2, settings.others * (settings.per_item - 1))
    return max(2, min(MOST_RATERS, settings.per_item // settings.n_cells * settings.n_items))


def choose_numbers(smallest: int | None, settings: GroupPlanSettings) -> tuple[int, ...]:
    """Return the raters per group of the designs of a table: around the smallest number, or fixed ones without it."""
    least, most = least_raters(settings), most_raters(settings)
    if smallest is None:
        return tuple(sorted({min(most, max(least, n)) for n in FALLBACK}))
    return tuple(sorted({min(most, max(least, round(factor * smallest))) for factor in GRID} | {smallest}))


def find_smallest_size(model: RatingModel, settings: GroupPlanSettings, share: float) -> int | None:
    """Return the smallest number of raters per group that reaches the power, None if none does."""

    def power(n: int) -> float:
        design = build_design(settings, share, n)
        return contrast_power(settings.difference, contrast_variance(model, design), level=settings.level)

    return find_smallest(power, settings.power, least_raters(settings), most_raters(settings))


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
