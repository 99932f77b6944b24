"""Cluster-robust intervals of means, shares and paired differences, with one clustering or two crossed ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.result import FloatArray, Int64Array, check_confidence


@dataclass(frozen=True, slots=True)
class ClusteredEstimate:
    """A share or a difference with its interval.

    Parameters
    ----------
    estimate, ci_low, ci_high
        A share from 0 to 1, or the mean of the first value less that of the second.
    n, clusters
        Numbers of cases and of clusters.
    crossed_clusters
        Number of clusters of the second clustering; None with one clustering.
    """

    estimate: float
    ci_low: float
    ci_high: float
    n: int
    clusters: int
    crossed_clusters: int | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its interval.

    Parameters
    ----------
    estimate
        In the units of the values.
    ci_low, ci_high
        None if all cases belong to one cluster.
    n, clusters
        Numbers of cases and of clusters.
    crossed_clusters
        Number of clusters of the second clustering; None with one clustering.
    """

    estimate: float
    ci_low: float | None
    ci_high: float | None
    n: int
    clusters: int
    crossed_clusters: int | None = None


class ClusteredVariance(NamedTuple):
    """Cluster-robust variance of a weighted mean, and the degrees of freedom of its t distribution."""

    variance: float
    df: float


def clustered_mean(
    values: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, confidence: float = 0.95
) -> Mean:
    r"""Estimate the mean of clustered cases with a cluster-robust interval.

    .. math:: \hat m = \frac{\sum_i w_i x_i}{\sum_i w_i}, \quad \hat m \pm t_\nu \sqrt{\hat v}

    with the variance :math:`\hat v` and the degrees of freedom :math:`\nu` of `estimate_clustered_variance`.

    Parameters
    ----------
    values
        A number for each case, shape (cases,).
    clusters
        Cluster of each case, shape (cases,); or clusters of two crossed clusterings, such as the dialogue and the rater
        of each case, shape (2, cases).
    weights
        Weight of each case, above 0; 1 by default.
    confidence
        Confidence level.

    Returns
    -------
    Mean
        In the units of the values.

    Raises
    ------
    UndefinedEstimate
        There are no cases.
    InvalidInput
        The clusters are not of either shape.

    Notes
    -----
    A clustering whose cases are all in one cluster says nothing about other clusters, so the interval disregards it.

    Examples
    --------
    >>> mean = clustered_mean([0.2, 0.4, 0.9, 0.1], [0, 0, 1, 2])
    >>> round(mean.estimate, 3), round(mean.ci_low, 3), round(mean.ci_high, 3), mean.clusters
    (0.4, -0.475, 1.275, 3)
    """
    check_confidence(confidence)
    return form_mean(*_average("mean", values, clusters, weights), confidence)


def _average(
    name: str, values: npt.ArrayLike, clusters: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[float, ClusteredVariance | None, int, tuple[int, int | None]]:
    """Return the weighted mean, its variance, and the numbers of cases and of clusters."""
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        raise UndefinedEstimate(f"The {name} is undefined: there are no cases.")
    cluster, w = _number_clusters(clusters, len(x)), _fill_weights(weights, len(x))
    mean = float(np.average(x, weights=w))
    return mean, estimate_clustered_variance(x - mean, cluster, w), len(x), _count_clusters(cluster)


def form_mean(
    mean: float, spread: ClusteredVariance | None, n: int, counts: tuple[int, int | None], confidence: float
) -> Mean:
    """Return a mean with its interval; `counts` are the numbers of clusters."""
    if spread is None:
        return Mean(mean, None, None, n, *counts)
    half = t_quantile(confidence, spread.df) * spread.variance**0.5
    return Mean(mean, mean - half, mean + half, n, *counts)


def _number_clusters(clusters: npt.ArrayLike, n: int) -> Int64Array:
    """Return cluster numbers from 0, of shape (clusterings, cases)."""
    ids = np.atleast_2d(np.asarray(clusters))
    if ids.ndim != 2 or len(ids) > 2 or ids.shape[1] != n:
        raise InvalidInput(
            f"The clusters have shape {np.shape(clusters)} for {n:,} cases. Give one for each case, or two rows of "
            "them for crossed clusterings."
        )
    return np.array([np.unique(row, return_inverse=True)[1] for row in ids], dtype=np.int64)


def _fill_weights(weights: npt.ArrayLike | None, n: int) -> FloatArray:
    return np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)


def _count_clusters(cluster: Int64Array) -> tuple[int, int | None]:
    """Return the number of clusters of the first clustering, and of the second if there is one."""
    first, *crossed = (int(row.max()) + 1 for row in cluster)
    return first, crossed[0] if crossed else None


def estimate_clustered_variance(
    residuals: FloatArray, cluster: Int64Array, weights: FloatArray
) -> ClusteredVariance | None:
    r"""Estimate the cluster-robust variance of a weighted mean.

    With one clustering into clusters g,

    .. math:: \hat v = \frac{\sum_g d_g T_g^2}{W^2}, \quad T_g = \sum_{i \in g} w_i e_i, \quad
              d_g = \frac{s_g}{(1 - W_g / W)^2 s_g + (W_g / W)^2 (S - s_g)}

    where W is the sum of the weights :math:`w_i`, :math:`s_g` the sum of their squares in a cluster and S that of all.
    The factors d make the estimate unbiased if cases are independent: for weights of 1 it is CR2 of Bell and McCaffrey
    (2002), and for clusters of equal size d is :math:`G / (G - 1)`, as in Liang and Zeger (1986). The degrees of
    freedom are theirs, after Satterthwaite, for independent cases: G - 1 for equal clusters, fewer for unequal ones.

    With two crossed clusterings the variance is the sum of both less that of their intersections (Cameron, Gelbach and
    Miller 2011), at least the larger of both, and the degrees of freedom are the smaller of both.

    Parameters
    ----------
    residuals
        Value of each case less the weighted mean, shape (cases,).
    cluster
        Cluster numbers from 0, shape (clusterings, cases).
    weights
        Weight of each case, above 0.

    Returns
    -------
    ClusteredVariance | None
        None if no clustering has two clusters.
    """
    rows = [row for row in cluster if row.max() > 0]
    if not rows:
        return None
    ways = [_one_way_variance(residuals, row, weights) for row in rows]
    of_both = 0.0
    if len(ways) == 2:
        both = np.unique(rows[0] * (rows[1].max() + 1) + rows[1], return_inverse=True)[1]
        of_both = _one_way_variance(residuals, both, weights).variance
    return cross_clusterings(ways, of_both)


def cross_clusterings(ways: Sequence[ClusteredVariance], of_both: float) -> ClusteredVariance:
    """Return the variance by one clustering, or by two with the variance by their intersections."""
    variance = sum(way.variance for way in ways) - (of_both if len(ways) == 2 else 0.0)
    return ClusteredVariance(max(variance, *(way.variance for way in ways)), min(way.df for way in ways))


def _one_way_variance(residuals: FloatArray, cluster: Int64Array, weights: FloatArray) -> ClusteredVariance:
    totals, size, square = (
        np.bincount(cluster, weights=part).astype(np.float64) for part in (weights * residuals, weights, weights**2)
    )
    return estimate_variance_of_totals(totals, size, square)


def estimate_variance_of_totals(totals: FloatArray, size: FloatArray, square: FloatArray) -> ClusteredVariance:
    """Return the variance by one clustering, from the totals, weights and squared weights of its clusters."""
    weight, all_squares = float(size.sum()), float(square.sum())
    return variance_of_sums(sum_clusters(totals, size, square, weight, all_squares), weight, all_squares)


def weigh_clusters(
    size: FloatArray, square: FloatArray, weight: float, all_squares: float
) -> tuple[FloatArray, FloatArray]:
    """Return the share of some clusters in the weight of all, and the factor d of their squared totals."""
    share = size / weight
    return share, square / ((1 - share) ** 2 * square + share**2 * (all_squares - square))


def sum_clusters(
    totals: FloatArray, size: FloatArray, square: FloatArray, weight: float, all_squares: float
) -> FloatArray:
    """Return sums over some clusters, shape (6,), from which `variance_of_sums` computes if they are of all.

    The arrays are the totals, weights and squared weights of these clusters, both numbers the weight W and the sum S of
    squared weights of all. The first sum is that of the squared totals.
    """
    share, factor = weigh_clusters(size, square, weight, all_squares)
    # The covariance of the totals is diag(square) + A with A = -share square' - square share' + S share share', of
    # rank two: so its traces need no matrix of clusters.
    diagonal = -2 * share * square + all_squares * share**2
    parts = (totals**2, square + diagonal, share**2, share * square, square**2)
    return np.array([*(factor @ part for part in parts), factor**2 @ (square**2 + 2 * square * diagonal)])


def variance_of_sums(sums: FloatArray, weight: float, all_squares: float) -> ClusteredVariance:
    """Return the variance by one clustering, from the `sum_clusters` of all."""
    squares, trace, of_shares, mixed, of_squares, of_diagonal = sums.tolist()
    product = np.array([[all_squares, -1.0], [-1.0, 0.0]]) @ np.array([[of_shares, mixed], [mixed, of_squares]])
    return ClusteredVariance(squares / weight**2, trace**2 / (of_diagonal + float(np.trace(product @ product))))


def estimate_clustered_df(sizes: npt.ArrayLike) -> float:
    """Estimate the degrees of freedom of a mean over clusters (Bell and McCaffrey 2002, after Satterthwaite).

    Parameters
    ----------
    sizes
        Number of cases of each cluster, shape (G,), two of them above 0.

    Returns
    -------
    float
        G - 1 for equal clusters, fewer for unequal ones.

    Examples
    --------
    >>> round(estimate_clustered_df([5, 5, 5, 5]), 6), round(estimate_clustered_df([50, 5, 5, 5]), 2)
    (3.0, 1.41)
    """
    size = np.asarray(sizes, dtype=np.float64)
    size = size[size > 0]
    return estimate_variance_of_totals(np.zeros_like(size), size, size).df


def t_quantile(confidence: float, df: float) -> float:
    r"""Return t with :math:`P(|T| \le t)` = confidence for Student's T.

    The probability is an integral of :math:`\cos^{df - 1}` from 0 to :math:`\theta = \arctan(t / \sqrt{df})`. It is
    concave in :math:`\theta`, so that Newton's steps from the normal quantile never pass the root.

    Parameters
    ----------
    confidence
        Probability, above 0 and below 1.
    df
        Degrees of freedom, 1 or more.

    Returns
    -------
    float
        0 or more.

    Examples
    --------
    >>> round(t_quantile(0.95, 9), 4)
    2.2622
    """
    nodes, weights = _quadrature()
    scale = _t_scale(df)
    theta = math.atan(NormalDist().inv_cdf((1 + confidence) / 2) / math.sqrt(df))
    for _ in range(100):
        probability = scale * theta / 2 * float(weights @ np.cos(theta * (1 + nodes) / 2) ** (df - 1))
        step = (confidence - probability) / (scale * math.cos(theta) ** (df - 1))
        theta = min(theta + step, (theta + math.pi / 2) / 2)
        if abs(step) <= 1e-14 * theta:
            break
    return math.sqrt(df) * math.tan(theta)


def t_test_p(t: float, df: float) -> float:
    r"""Return the two-sided p-value :math:`P(|T| \ge |t|)` for Student's T.

    Parameters
    ----------
    t
        The statistic.
    df
        Degrees of freedom, 1 or more.

    Returns
    -------
    float
        0 to 1.

    Examples
    --------
    >>> round(t_test_p(-2.2622, 9), 4)
    0.05
    """
    nodes, weights = _quadrature()
    low = math.atan(abs(t) / math.sqrt(df))
    # Beyond this angle the integrand is below e^-40 of its largest value.
    high = min(math.pi / 2, math.sqrt(low**2 + 80 / max(df - 1, 1e-9)))
    half = (high - low) / 2
    return min(1.0, _t_scale(df) * half * float(weights @ np.cos(low + half * (1 + nodes)) ** (df - 1)))


@cache
def _quadrature() -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    return nodes, weights


def _t_scale(df: float) -> float:
    return 2 / math.sqrt(math.pi) * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2))


def clustered_share(
    hits: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, confidence: float = 0.95
) -> ClusteredEstimate:
    r"""Estimate a share of clustered cases with a cluster-robust interval.

    The interval is Wilson's (1927) with :math:`t_\nu` in place of the normal quantile and the effective sample size
    :math:`\hat p (1 - \hat p) / \hat v` in place of n (Korn and Graubard 1998 do the same to the exact interval), with
    the variance and the degrees of freedom of `estimate_clustered_variance`.

    Parameters
    ----------
    hits
        1 or 0 for each case, or a value between them, such as 0.5 for a tie.
    clusters
        Cluster of each case, shape (cases,); or clusters of two crossed clusterings, such as the dialogue and the rater
        of each case, shape (2, cases).
    weights
        Weight of each case, above 0; 1 by default.
    confidence
        Confidence level.

    Returns
    -------
    ClusteredEstimate
        From 0 to 1.

    Raises
    ------
    UndefinedEstimate
        There are no cases.
    InvalidInput
        The clusters are not of either shape.

    Notes
    -----
    If the variance cannot be estimated, as with one cluster or a share of 0 or 1, n is the number of clusters, of the
    clustering with fewer, and the quantile is the normal one. A clustering whose cases are all in one cluster says
    nothing about other clusters, so the interval disregards it if the other clustering has several.

    Examples
    --------
    >>> share = clustered_share([1, 1, 0, 1, 0, 0, 1, 1], [0, 0, 1, 2, 3, 3, 4, 5])
    >>> share.estimate, round(share.ci_low, 3), round(share.ci_high, 3)
    (0.625, 0.148, 0.941)
    """
    check_confidence(confidence)
    return form_share(*_average("share", hits, clusters, weights), confidence)


def form_share(
    p: float, spread: ClusteredVariance | None, n: int, counts: tuple[int, int | None], confidence: float
) -> ClusteredEstimate:
    """Return a share with its interval; `counts` are the numbers of clusters."""
    if spread is not None and spread.variance > 1e-18 and 0 < p < 1:
        low, high = wilson_interval(p, p * (1 - p) / spread.variance, t_quantile(confidence, spread.df))
    else:
        several = [count for count in counts if count is not None and count > 1]
        low, high = wilson_interval(p, float(min(several, default=1)), NormalDist().inv_cdf((1 + confidence) / 2))
    return ClusteredEstimate(p, low, high, n, *counts)


def wilson_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a share p of n independent cases, with the normal quantile z.

    Examples
    --------
    >>> low, high = wilson_interval(0.5, 100, 1.96)
    >>> round(low, 4), round(high, 4)
    (0.4038, 0.5962)
    """
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, center - half), min(1.0, center + half)


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> ClusteredEstimate:
    r"""Estimate the mean difference of two values of each case, with a cluster-robust interval.

    .. math:: \hat d = \frac{\sum_i w_i (x_i - y_i)}{\sum_i w_i}, \quad \hat d \pm t_\nu \sqrt{\hat v}

    as `clustered_mean` of the differences. Variation common to both values cancels, so the interval is far shorter than
    two separate intervals suggest.

    Parameters
    ----------
    first, second
        Two values of each case, such as the hits of two models, shape (cases,).
    clusters
        Cluster of each case, shape (cases,); or clusters of two crossed clusterings, such as the dialogue and the rater
        of each case, shape (2, cases).
    weights
        Weight of each case, above 0; 1 by default.
    confidence
        Confidence level.

    Returns
    -------
    ClusteredEstimate
        In the units of the values.

    Raises
    ------
    UndefinedEstimate
        There are no cases, or all belong to one cluster.
    InvalidInput
        The two arrays differ in length, or the clusters are not of either shape.

    Notes
    -----
    If both values are equal in every case, the interval is 0 to 0.

    Examples
    --------
    >>> difference = paired_difference([1, 1, 1, 0, 1, 0], [0, 1, 1, 0, 0, 1], [0, 1, 2, 3, 4, 5])
    >>> round(difference.estimate, 3), round(difference.ci_low, 3), round(difference.ci_high, 3)
    (0.167, -0.623, 0.957)
    """
    check_confidence(confidence)
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise InvalidInput(f"first has {x.size:,} values and second {y.size:,}. Give both values of each case.")
    mean = clustered_mean(x - y, clusters, weights=weights, confidence=confidence)
    if mean.ci_low is None or mean.ci_high is None:
        raise UndefinedEstimate(
            f"The interval of the difference is undefined: all {len(x):,} cases belong to 1 cluster, and it takes two "
            "or more."
        )
    return ClusteredEstimate(mean.estimate, mean.ci_low, mean.ci_high, mean.n, mean.clusters, mean.crossed_clusters)
