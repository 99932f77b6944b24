"""Gap between the groups for which a statistic is worst and best, with its value by chance and a test."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multiple_testing import holm
from dissensus.stats.result import FloatArray
from dissensus.stats.score.pseudo_values import Statistic, compare_groups

_POINTS: Final = 2001


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Gap of a statistic between groups.

    Parameters
    ----------
    lowest, highest
        Numbers of the groups with the lowest and the highest value.
    estimate
        Highest less lowest value.
    by_chance
        Mean gap between groups of these raters that do not differ; NaN if the variance of a difference is unknown.
    p
        Smallest p-value of the differences of two groups, adjusted by Holm's method; NaN if none is defined.
    pair
        Numbers of the groups with that p-value.
    """

    lowest: int
    highest: int
    estimate: float
    by_chance: float
    p: float
    pair: tuple[int, int]


def estimate_gap(groups: Sequence[Statistic]) -> Gap:
    r"""Estimate the gap of a statistic between the groups of an axis.

    The gap is the range of the values. Chance makes it positive where groups do not differ: `by_chance` is the expected
    range of independent normal values,

    .. math:: \int 1 - \prod_g \Phi(x / s_g) - \prod_g \bigl(1 - \Phi(x / s_g)\bigr) \, dx

    whose variances :math:`s_g^2` are those of which the sums in pairs are nearest to the variances of the differences.

    The test compares each two groups by `compare_groups`, and adjusts by Holm's method.

    Parameters
    ----------
    groups
        Pseudo-values of each group, two or more without a common rater.

    Returns
    -------
    Gap

    Raises
    ------
    UndefinedEstimate
        Fewer than two groups.

    Notes
    -----
    A maximum of noisy values has no interval that covers as it claims, so the gap has none. Groups are chosen by the
    same ratings that measure them.

    Examples
    --------
    >>> from dissensus.stats.score.pseudo_values import GroupRatings, average_ratings
    >>> items, raters = np.tile(np.arange(8), 6), np.repeat(np.arange(6), 8)
    >>> unsafe = ((items * 5 + raters * 3) % 7 < 2 + 2 * (raters > 2)).astype(float)
    >>> sides = [GroupRatings(items=items, raters=raters, unsafe=unsafe).select(raters // 3 == g) for g in (0, 1)]
    >>> gap = estimate_gap([average_ratings(side, side.unsafe, is_share=True) for side in sides])
    >>> gap.highest, round(gap.estimate, 3), round(gap.by_chance, 3), round(gap.p, 3)
    (1, 0.292, 0.06, 0.018)
    """
    if len(groups) < 2:
        raise UndefinedEstimate("A gap needs two groups or more.")
    values = np.array([group.estimate for group in groups])
    pairs = list(combinations(range(len(groups)), 2))
    p, variances = np.array([_compare(groups[first], groups[second]) for first, second in pairs]).T
    adjusted = holm(p)
    best = int(np.nanargmin(adjusted.round(12))) if np.isfinite(adjusted).any() else 0
    return Gap(
        lowest=int(values.round(12).argmin()),
        highest=int(values.round(12).argmax()),
        estimate=float(np.ptp(values)),
        by_chance=expected_range(np.sqrt(_split_variances(pairs, variances, len(groups)))),
        p=float(adjusted[best]),
        pair=pairs[best],
    )


def _compare(first: Statistic, second: Statistic) -> tuple[float, float]:
    """Return the p-value and the variance of a difference; NaN if undefined."""
    try:
        difference = compare_groups(first, second)
    except UndefinedEstimate:
        return float("nan"), float("nan")
    return difference.p, difference.variance


def _split_variances(pairs: Sequence[tuple[int, int]], variances: FloatArray, n_groups: int) -> FloatArray:
    """Return the variance of each group by those of the differences, the least-squares solution."""
    if n_groups == 2:
        return np.repeat(variances / 2, 2)
    of_group = np.zeros(n_groups)
    for pair, variance in zip(pairs, variances, strict=True):
        of_group[list(pair)] += variance
    return np.asarray(np.maximum((of_group - variances.sum() / (n_groups - 1)) / (n_groups - 2), 0.0))


def expected_range(errors: FloatArray) -> float:
    """Return the expected range of independent normal values with these standard deviations; NaN if one is unknown.

    Examples
    --------
    >>> round(expected_range(np.ones(2)), 4), round(expected_range(np.ones(10)), 3)
    (1.1284, 3.078)
    """
    if not np.isfinite(errors).all():
        return float("nan")
    if not errors.max(initial=0) > 0:
        return 0.0
    points, cdf = _normal_table()
    x = points * errors.max()
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.array([np.interp(np.nan_to_num(x / error), points, cdf) for error in errors])
    inside = 1 - below.prod(axis=0) - (1 - below).prod(axis=0)
    return float(np.trapezoid(inside, x))


@cache
def _normal_table() -> tuple[FloatArray, FloatArray]:
    """Return points and the normal distribution at them."""
    points = np.linspace(-8, 8, _POINTS)
    return points, np.array([NormalDist().cdf(x) for x in points.tolist()])
