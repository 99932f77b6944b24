"""Pseudo-values of ratings: statistics as weighted means over raters and items, with their intervals and differences.

The infinitesimal jackknife writes a statistic as a weighted mean of one value for each rating, its influence beside the
statistic itself. Two-way cluster-robust variances of that mean are those of the statistic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.cluster_robust import (
    ClusteredEstimate,
    ClusteredVariance,
    Mean,
    estimate_clustered_variance,
    estimate_variance_of_totals,
    form_mean,
    form_share,
    t_quantile,
    t_test_p,
)
from dissensus.stats.result import ZERO, BoolArray, FloatArray, Int64Array, check_confidence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupRatings:
    """Ratings of the raters of a group, each safe or unsafe, in any order.

    Parameters
    ----------
    items, raters
        Item and rater of each rating, numbered from 0, shape (N,).
    unsafe
        1 for an unsafe answer, 0 for a safe one, shape (N,).
    n_group
        Number of raters of the group, if these are its ratings of some items; by default those of these ratings.
    """

    items: Int64Array
    raters: Int64Array
    unsafe: FloatArray
    n_group: int | None = None

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.items)

    @property
    def n_items(self) -> int:
        """Number of items with a rating."""
        return _count_distinct(self.items)

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return _count_distinct(self.raters)

    def count(self) -> tuple[FloatArray, FloatArray]:
        """Return the number of ratings, and of unsafe ones, of the item of each rating."""
        n, unsafe = np.bincount(self.items), np.bincount(self.items, weights=self.unsafe)
        return n[self.items].astype(np.float64), unsafe[self.items].astype(np.float64)

    def select(self, rows: npt.NDArray[np.bool_ | np.int64]) -> "GroupRatings":
        """Return some of the ratings, by a mask or by their indices."""
        items, raters, unsafe = self.items[rows], self.raters[rows], self.unsafe[rows]
        return GroupRatings(items=items, raters=raters, unsafe=unsafe, n_group=self.n_group)


class NotComputed(UndefinedEstimate):
    """A statistic that is defined, and is not computed from blocks of items."""


class RaterVariance(NamedTuple):
    """Variance over the raters of a group, its degrees of freedom, and its value if all raters vary by 1."""

    variance: float
    df: float
    of_unit: float


class ItemDifferences(NamedTuple):
    """Sums of squares and of fourth powers of the differences of item totals of two groups, and number of items."""

    squares: float
    fourths: float
    n_items: int


class Statistic(Protocol):
    """A statistic of a group with what its interval, and its differences from others, are computed from."""

    @property
    def estimate(self) -> float:
        """The statistic."""

    @property
    def is_share(self) -> bool:
        """True if it is a mean of values between 0 and 1."""

    @property
    def is_concentrated(self) -> bool:
        """True if few ratings may have most of the influence."""

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""

    @property
    def n_items(self) -> int:
        """Number of items."""

    @property
    def n_raters(self) -> int:
        """Number of raters."""

    @property
    def spread(self) -> ClusteredVariance | None:
        """Variance over items and raters."""

    @property
    def of_raters(self) -> RaterVariance:
        """Variance over raters."""

    @property
    def of_ratings(self) -> float:
        """Sum of the squared influences of single ratings."""

    def subtract_items(self, other: Any) -> ItemDifferences:
        """Return the differences of item totals from those of another group."""

    def spread_of_difference(self, other: Any) -> ClusteredVariance | None:
        """Return the variance of the difference from a statistic of the same ratings."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PseudoValues:
    """A statistic as the weighted mean of one value for each rating.

    Parameters
    ----------
    values
        Value of each rating, shape (N,).
    weights
        Weight of each rating, above 0, shape (N,).
    items, raters
        Item and rater of each rating, shape (N,).
    is_share
        True if every value lies between 0 and 1, so that the statistic is a share.
    is_concentrated
        True if few ratings may have most of the influence, so that the kurtosis of the totals of raters and of items
        bounds the degrees of freedom of differences.
    """

    values: FloatArray
    weights: FloatArray
    items: Int64Array
    raters: Int64Array
    is_share: bool = False
    is_concentrated: bool = False

    @property
    def estimate(self) -> float:
        """The statistic; NaN without ratings."""
        return float(np.average(self.values, weights=self.weights)) if len(self.values) else float("nan")

    @property
    def residuals(self) -> FloatArray:
        """Values less the statistic."""
        return self.values - self.estimate

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.values)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return _count_distinct(self.items)

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return _count_distinct(self.raters)

    @property
    def clusters(self) -> Int64Array:
        """Item and rater of each rating, numbered from 0, shape (2, N)."""
        return np.stack([np.unique(codes, return_inverse=True)[1] for codes in (self.items, self.raters)])

    @property
    def spread(self) -> ClusteredVariance | None:
        """Variance over items and raters."""
        return estimate_clustered_variance(self.residuals, self.clusters, self.weights)

    @property
    def influences(self) -> FloatArray:
        """Influence of each rating: its weighted residual over the sum of all weights."""
        return np.asarray(self.weights * self.residuals / self.weights.sum())

    @property
    def of_raters(self) -> RaterVariance:
        """Variance over raters."""
        row = np.unique(self.raters, return_inverse=True)[1]
        totals, size, square = (
            np.bincount(row, weights=part).astype(np.float64)
            for part in (self.weights * self.residuals, self.weights, self.weights**2)
        )
        return measure_raters(totals, size, square, is_concentrated=self.is_concentrated)

    @property
    def of_ratings(self) -> float:
        """Sum of the squared influences of single ratings."""
        return float(self.influences @ self.influences)

    def subtract_items(self, other: "PseudoValues") -> ItemDifferences:
        """Return the differences of item totals from those of another group."""
        row = np.unique(np.concatenate([self.items, other.items]), return_inverse=True)[1]
        total = np.bincount(row, weights=np.concatenate([self.influences, -other.influences]))
        return ItemDifferences(float(total @ total), float((total**4).sum()), len(total))

    def spread_of_difference(self, other: "PseudoValues") -> ClusteredVariance | None:
        """Return the variance of the difference from a statistic of the same ratings."""
        same = len(self.values) == len(other.values) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("items", "raters", "weights")
        )
        if not same:
            raise InvalidInput(
                "The two scores are compared on different ratings. Compare them on items that both scored."
            )
        return estimate_clustered_variance(self.residuals - other.residuals, self.clusters, self.weights)


class Difference(NamedTuple):
    """Difference of a statistic between two groups, or two scores, with its interval and the p-value of Student's t."""

    estimate: float
    ci_low: float
    ci_high: float
    p: float
    variance: float


def average_ratings(
    ratings: GroupRatings, values: FloatArray, *, mask: BoolArray | None = None, is_share: bool = False
) -> PseudoValues:
    """Return the mean over items of the mean over the ratings of each item, all items with the same weight.

    Parameters
    ----------
    ratings
        Ratings of a group.
    values
        Value of each rating, shape (N,).
    mask
        Ratings that count; all by default. The weight of a rating stays one over all ratings of its item.
    is_share
        True if every value lies between 0 and 1.

    Returns
    -------
    PseudoValues

    Raises
    ------
    UndefinedEstimate
        There are no ratings.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> average_ratings(ratings, ratings.unsafe, is_share=True).estimate
    0.75
    """
    if not len(values):
        raise UndefinedEstimate("There are no ratings.")
    weights = 1 / ratings.count()[0]
    rows = np.ones(len(values), np.bool_) if mask is None else mask
    return PseudoValues(
        values=values[rows],
        weights=weights[rows],
        items=ratings.items[rows],
        raters=ratings.raters[rows],
        is_share=is_share,
    )


def estimate_interval(statistic: Statistic, *, confidence: float) -> ClusteredEstimate | Mean:
    """Estimate a statistic with an interval over other items and other raters.

    Shares have the interval of `clustered_share`, other statistics that of `clustered_mean`.

    Parameters
    ----------
    statistic
        Pseudo-values of one or more ratings.
    confidence
        Confidence level.

    Returns
    -------
    ClusteredEstimate or Mean

    Raises
    ------
    UndefinedEstimate
        There are no ratings.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.arange(6) // 2, raters=np.arange(6) % 2, unsafe=np.array([1.0, 0, 1, 1, 0, 0]))
    >>> share = estimate_interval(average_ratings(ratings, ratings.unsafe, is_share=True), confidence=0.95)
    >>> share.estimate, share.clusters, share.crossed_clusters
    (0.5, 3, 2)
    """
    check_confidence(confidence)
    if not statistic.n_ratings:
        raise UndefinedEstimate("There are no ratings.")
    counts = statistic.n_items, statistic.n_raters
    form = form_share if statistic.is_share else form_mean
    return form(statistic.estimate, statistic.spread, statistic.n_ratings, counts, confidence)


def compare_scores(first: Statistic, second: Statistic, *, confidence: float) -> Difference:
    """Estimate the difference of a statistic of two scores against the same ratings.

    Parameters
    ----------
    first, second
        Pseudo-values of the same ratings, with the same weights.
    confidence
        Confidence level.

    Returns
    -------
    Difference
        First less second, with an interval in which variation common to both cancels.

    Raises
    ------
    InvalidInput
        The ratings differ.
    UndefinedEstimate
        There are fewer than two items and fewer than two raters, or a difference whose estimated variance is 0.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.arange(4), raters=np.zeros(4, np.int64), unsafe=np.array([1.0, 0, 1, 0]))
    >>> first, second = (average_ratings(ratings, np.array(values)) for values in ([0.0, 0, 1, 1], [0.0, 1, 1, 1]))
    >>> compare_scores(first, second, confidence=0.95).estimate
    -0.25
    """
    spread = first.spread_of_difference(second)
    if spread is None:
        raise UndefinedEstimate("The difference has no interval: there is one item of one rater.")
    return _test_difference(first.estimate - second.estimate, spread.variance, spread.df, confidence)


def compare_groups(first: Statistic, second: Statistic, *, confidence: float = 0.95) -> Difference:
    r"""Estimate the difference of a statistic between two groups without a common rater.

    Raters are independent between the groups, and items are common to both, so that with

    .. math:: \hat v = \hat v_{\text{raters}} + \hat v_{\text{items}} - \hat v_{\text{ratings}}

    the part of raters is the sum of those of the groups, with Satterthwaite's degrees of freedom, at most those for
    groups of equal variance; the part of items is that of the differences of item totals; and the part of single
    ratings, which both count, is subtracted once (Cameron, Gelbach and Miller 2011). The variance is at least the
    larger of the parts of raters and items.

    Parameters
    ----------
    first, second
        Pseudo-values of the ratings of two groups.
    confidence
        Confidence level.

    Returns
    -------
    Difference
        First less second; p is that of Student's t with the smaller degrees of freedom.

    Raises
    ------
    UndefinedEstimate
        A group has no ratings, or fewer than two raters or two items together, or the estimated variance of a
        difference is 0.

    Examples
    --------
    >>> items, raters = np.tile(np.arange(8), 6), np.repeat(np.arange(6), 8)
    >>> unsafe = ((items * 5 + raters * 3) % 7 < 2 + 2 * (raters > 2)).astype(float)
    >>> sides = [GroupRatings(items=items, raters=raters, unsafe=unsafe).select(raters // 3 == g) for g in (1, 0)]
    >>> difference = compare_groups(*(average_ratings(side, side.unsafe, is_share=True) for side in sides))
    >>> round(difference.estimate, 3), round(difference.p, 3)
    (0.292, 0.018)
    """
    if min(first.n_raters, second.n_raters) < 2:
        raise UndefinedEstimate("The difference has no interval: a group has fewer than 2 raters.")
    items = first.subtract_items(second)
    n_items = items.n_items
    if n_items < 2:
        raise UndefinedEstimate("The difference has no interval: the groups rated 1 item.")
    of_items = items.squares * n_items / (n_items - 1)
    parts = [first.of_raters, second.of_raters]
    of_raters, of_ratings = sum(part.variance for part in parts), first.of_ratings + second.of_ratings
    variance = max(of_raters + of_items - of_ratings, of_raters, of_items)
    df = min(_pool_df(parts), n_items - 1)
    if first.is_concentrated or second.is_concentrated:
        df = min(df, _estimate_df(n_items, items.squares, items.fourths))
    return _test_difference(first.estimate - second.estimate, variance, df, confidence)


def _count_distinct(codes: Int64Array) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def _test_difference(estimate: float, variance: float, df: float, confidence: float) -> Difference:
    error = variance**0.5
    half = t_quantile(confidence, df) * error
    if error <= ZERO < abs(estimate):
        raise UndefinedEstimate("The difference has no test: the ratings do not vary, so its variance is unknown.")
    p = t_test_p(estimate / error, df) if error > ZERO else 1.0
    return Difference(estimate, estimate - half, estimate + half, p, variance)


def measure_raters(totals: FloatArray, size: FloatArray, square: FloatArray, *, is_concentrated: bool) -> RaterVariance:
    """Return the variance over raters, from the totals, weights and squared weights of each."""
    if len(totals) < 2:
        return RaterVariance(float("nan"), 1.0, float("nan"))
    variance, df = estimate_variance_of_totals(totals, size, square)
    shares, influence = size / size.sum(), totals / size.sum()
    if is_concentrated:
        df = min(df, _estimate_df(len(totals), float(influence @ influence), float((influence**4).sum())))
    return RaterVariance(variance, df, float(shares @ shares))


def _estimate_df(n: int, squares: float, fourths: float) -> float:
    """Return the degrees of freedom of a variance of totals by their kurtosis, 1 or more, from sums of their powers.

    Two or three large totals, as of the few items with a rare answer, tell less about a variance than as many totals of
    one size. The variance of a sample variance is (kurtosis - 1) / n of its square.
    """
    kurtosis = n * fourths / squares**2 if squares > 0 else 1.0
    return max(1.0, 2 * n / (kurtosis - 1)) if kurtosis > 1 else float("inf")


def _pool_df(parts: Sequence[RaterVariance]) -> float:
    """Return Satterthwaite's degrees of freedom for the estimated variances, or for equal ones if these are fewer.

    A small group whose variance is estimated too low by chance would count for little, and have the degrees of freedom
    of the large one.
    """
    df = np.array([part.df for part in parts])
    variances = np.array([[part.variance, part.of_unit] for part in parts]).T
    squares = (variances**2 / df).sum(axis=1)
    return float((variances.sum(axis=1) ** 2 / squares).min()) if squares[0] > 0 else float(df.min())
