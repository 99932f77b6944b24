"""Contrast of the shares of groups: its variance and power in a design, in closed form."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.cluster_robust import t_quantile
from dissensus.stats.planning.rating_model import RatingModel

FEWEST_RATERS: Final = 2
"""Raters of a group without which the differences between its raters cannot be estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCell:
    """A group of raters in a design.

    Parameters
    ----------
    share
        Share of the answer in the population of the group, p.
    n_raters
        Raters of the group, n.
    per_item
        Ratings of an item by raters of the group, K; n if all rate everything.
    weight
        Weight of the share in the contrast.
    loading
        Factor of the item effects in the group.
    """

    share: float
    n_raters: int
    per_item: int
    weight: float
    loading: float = 1.0


@dataclass(frozen=True)
class ContrastDesign:
    """Cells of raters who rate the same items, balanced: every item has K ratings of each cell.

    Raises
    ------
    InvalidInput
        A cell has one rater, more ratings of an item than raters, or raters without an item.
    """

    cells: tuple[DesignCell, ...]
    n_items: int

    def __post_init__(self) -> None:
        if self.n_items < 1:
            raise InvalidInput(f"The number of items is {self.n_items}; give 1 or more.")
        for cell in self.cells:
            if cell.n_raters < FEWEST_RATERS:
                raise InvalidInput(
                    f"{cell.n_raters} rater of a group does not show how much raters differ. Plan {FEWEST_RATERS} or "
                    "more."
                )
            if not 1 <= cell.per_item <= cell.n_raters:
                raise InvalidInput(
                    f"{cell.per_item} ratings of an item cannot come from {cell.n_raters} raters of a group, who rate "
                    f"an item once. Give 1 to {cell.n_raters}."
                )
            if cell.per_item * self.n_items < cell.n_raters:
                raise InvalidInput(
                    f"{self.n_items} item{'s' * (self.n_items != 1)} with {cell.per_item} "
                    f"rating{'s' * (cell.per_item != 1)} of a group are not enough for "
                    f"{cell.n_raters} raters. Plan {-(-cell.n_raters // cell.per_item)} items, or fewer raters."
                )

    @cached_property
    def difference(self) -> float:
        """The contrast of the shares."""
        return sum(cell.weight * cell.share for cell in self.cells)

    @property
    def n_raters(self) -> int:
        """Raters of all cells."""
        return sum(cell.n_raters for cell in self.cells)

    @property
    def n_ratings(self) -> int:
        """Ratings of all cells."""
        return self.n_items * sum(cell.per_item for cell in self.cells)

    def load(self, cell: DesignCell) -> float:
        """Return the mean number of items of a rater of a cell."""
        return self.n_items * cell.per_item / cell.n_raters


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastVariance:
    """Variance of an estimated contrast.

    Parameters
    ----------
    raters
        Variance over samples of raters who rate the same items, which the test of `analyse` estimates.
    items
        Variance of the contrast over samples of items.
    df
        Degrees of freedom of the estimate of `raters` (Welch 1947; Satterthwaite 1946).
    """

    raters: float
    items: float
    df: float


def contrast_variance(model: RatingModel, design: ContrastDesign) -> ContrastVariance:
    r"""Return the variance of a contrast of mean answers of groups.

    With weights w, raters n, and load L = I K / n of a rater,

    .. math:: V_R = \sum_g \frac{w_g^2}{n_g} \Bigl(\sigma^2_{r,g} + \frac{\sigma^2_{e,g}}{L_g}\Bigr)
              = \sum_g \frac{w_g^2 \, p_g (1 - p_g)}{n_g L_g} \, \bigl(1 - \rho_{i,g} + (L_g - 1) \rho_{r,g}\bigr)

    the variance of shares of independent answers times a design effect (Kish 1965), and
    :math:`V_I = \operatorname{Var}_i(\sum_g w_g p_{gi}) / I`.

    References
    ----------
    Kish, L. (1965). Survey sampling. Wiley.
    Welch, B. L. (1947). The generalization of 'Student's' problem when several different population variances are
    involved. Biometrika 34.

    Examples
    --------
    Answers that do not depend on the rater or the item have the variance of two binomial shares:

    >>> cells = [DesignCell(share=0.5, n_raters=10, per_item=10, weight=w) for w in (1, -1)]
    >>> variance = contrast_variance(RatingModel(rater_sd=0, item_sd=0), ContrastDesign(tuple(cells), 20))
    >>> round(variance.raters, 6), variance.items, round(variance.df, 6)
    (0.0025, 0.0, 18.0)
    """
    parts, items = [], 0.0
    for cell in design.cells:
        components = model.components(cell.share, cell.loading)
        spread = components.rater + components.residual / design.load(cell)
        parts.append(cell.weight**2 * spread / cell.n_raters)
        items += cell.weight**2 * components.item
    for a, b in combinations(design.cells, 2):
        items += 2 * a.weight * b.weight * model.item_covariance((a.share, a.loading), (b.share, b.loading))
    raters = sum(parts)
    squares = sum(part**2 / (cell.n_raters - 1) for part, cell in zip(parts, design.cells, strict=True))
    return ContrastVariance(raters=raters, items=max(0.0, items) / design.n_items, df=raters**2 / squares)


def contrast_power(difference: float, variance: ContrastVariance, *, level: float) -> float:
    r"""Return the power of the two-sided t test of a contrast whose errors are clustered by rater.

    .. math:: \Pr\Bigl(\frac{\hat\delta}{\sqrt{\hat V_R}} > t\Bigr), \qquad
              \hat\delta \sim N(|\delta|, V_R + V_I), \quad \nu \hat V_R / V_R \sim \chi^2_\nu

    integrated over :math:`\hat V_R`; with :math:`V_I = 0` it is the noncentral t distribution. Differences of the wrong
    sign do not count. Without a difference, twice the result is the rate at which the test rejects.

    Parameters
    ----------
    difference
        The contrast in the population.
    variance
        Its variance in the design.
    level
        Level of the test.

    Returns
    -------
    float

    Notes
    -----
    The test is about the items of the campaign. A contrast that varies over items (:math:`V_I`) is a part of what it
    finds, so that without a difference over all items it may reject more often than at its level, and no number of
    raters has a power above :math:`\Phi(|\delta| / \sqrt{V_I})`.

    Examples
    --------
    64 people of each group and a difference of half a standard deviation: the textbook power of .80.

    >>> variance = ContrastVariance(raters=2 / 64, items=0.0, df=126)
    >>> round(contrast_power(0.5, variance, level=0.05), 4)
    0.8015
    """
    if not 0 < level < 1:
        raise InvalidInput(f"level is {level}; give a level of the test between 0 and 1, such as 0.05.")
    limit, df = t_quantile(1 - level, max(1.0, variance.df)), max(1.0, variance.df)
    # ln s² is close to normal: its quadrature has no end at zero.
    log_square = np.linspace(-1, 1, 801) * min(30.0, 9 * math.sqrt(2 / df) + 20 / df)
    log_density = df / 2 * (log_square - np.exp(log_square))
    density = np.exp(log_density - log_density.max())
    scale = math.sqrt(variance.raters + variance.items)
    cut = limit * np.exp(log_square / 2) * math.sqrt(variance.raters)
    cdf = NormalDist().cdf
    chance = [cdf((abs(difference) - c) / scale) for c in cut.tolist()]
    return float(density @ np.array(chance) / density.sum())


def bound_power(difference: float, variance: ContrastVariance, *, level: float) -> float:
    """Return the power of the two-sided z test, whose variance is known: `contrast_power` does not exceed it.

    Examples
    --------
    >>> round(bound_power(0.5, ContrastVariance(raters=2 / 64, items=0.0, df=126), level=0.05), 4)
    0.8074
    """
    normal = NormalDist()
    cut = normal.inv_cdf(1 - level / 2) * math.sqrt(variance.raters)
    return normal.cdf((abs(difference) - cut) / math.sqrt(variance.raters + variance.items))


def find_smallest(power: Callable[[int], float], target: float, least: int, most: int) -> int | None:
    """Return the smallest number whose power reaches a target, None if `most` does not; power increases.

    Examples
    --------
    >>> find_smallest(lambda n: n / 100, 0.375, 2, 90), find_smallest(lambda n: 0.1, 0.8, 2, 90)
    (38, None)
    """
    if most < least or power(most) < target:
        return None
    low, high = least - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= target else (middle, high)
    return high


def find_peak(power: Callable[[int], float], least: int, most: int) -> int:
    """Return the number from `least` to `most` with the largest power, which increases up to it and then decreases.

    Examples
    --------
    >>> find_peak(lambda n: -abs(n - 30), 2, 90), find_peak(lambda n: n / 100, 2, 90)
    (30, 90)
    """
    if least < most and power(most - 1) < power(most):
        return most
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if power(middle) < power(middle + 1) else (low, middle)
    return low


def smallest_difference(power: Callable[[float], float], target: float, most: float) -> float | None:
    """Return the smallest difference whose power reaches a target, by bisection; None if `most` does not, or 0 does."""
    if power(most) < target or power(0.0) >= target:
        return None
    low, high = 0.0, most
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= target else (middle, high)
    return high
