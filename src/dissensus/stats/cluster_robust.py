"""Cluster-robust intervals of means, shares and paired differences."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.result import check_level


@dataclass(frozen=True, slots=True)
class ClusteredEstimate:
    """A share or a difference with its interval.

    Parameters
    ----------
    estimate, ci_low, ci_high
        A share from 0 to 1, or the mean of the first value less that of the second.
    n, clusters
        Numbers of cases and of clusters.
    """

    estimate: float
    ci_low: float
    ci_high: float
    n: int
    clusters: int


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
    """

    estimate: float
    ci_low: float | None
    ci_high: float | None
    n: int
    clusters: int


def clustered_mean(
    values: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, level: float = 0.95
) -> Mean:
    r"""Estimate the mean of clustered cases with a cluster-robust interval.

    .. math:: \hat m = \frac{\sum_i w_i x_i}{\sum_i w_i}, \quad
              \hat v = \frac{G}{G - 1} \frac{\sum_g \bigl(\sum_{i \in g} w_i (x_i - \hat m)\bigr)^2}
              {\bigl(\sum_i w_i\bigr)^2}

    with G clusters g of cases i and weights w; the interval is :math:`\hat m \pm z \sqrt{\hat v}` (Liang and Zeger
    1986, for a model with an intercept only).

    Parameters
    ----------
    values
        A number for each case, shape (cases,).
    clusters
        Cluster of each case.
    weights
        Weight of each case, above 0; 1 by default.
    level
        Confidence level.

    Returns
    -------
    Mean
        In the units of the values.

    Raises
    ------
    UndefinedEstimate
        There are no cases.

    Notes
    -----
    The interval is too short with fewer than about 20 clusters.

    Examples
    --------
    >>> mean = clustered_mean([0.2, 0.4, 0.9, 0.1], [0, 0, 1, 2])
    >>> round(mean.estimate, 3), round(mean.ci_low, 3), round(mean.ci_high, 3), mean.clusters
    (0.4, 0.03, 0.77, 3)
    """
    check_level(level)
    x, cluster = np.asarray(values, dtype=np.float64), np.unique(np.asarray(clusters), return_inverse=True)[1]
    if not len(x):
        raise UndefinedEstimate("The mean is undefined: there are no cases.")
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    mean, groups = float(np.average(x, weights=w)), int(cluster.max()) + 1
    if groups < 2:
        return Mean(mean, None, None, len(x), groups)
    half = NormalDist().inv_cdf((1 + level) / 2) * clustered_variance(x - mean, cluster, w) ** 0.5
    return Mean(mean, mean - half, mean + half, len(x), groups)


def clustered_variance(
    residuals: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> float:
    """Return the cluster-robust variance of a weighted mean; clusters are numbered from 0."""
    totals = np.bincount(cluster, weights=weights * residuals)
    return len(totals) / max(len(totals) - 1, 1) * float(totals @ totals) / float(weights.sum()) ** 2


def clustered_share(
    hits: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, level: float = 0.95
) -> ClusteredEstimate:
    r"""Estimate a share of clustered cases with a cluster-robust interval.

    The variance is that of a ratio of cluster totals,

    .. math:: \hat v = \frac{G}{G - 1} \frac{\sum_g \bigl(\sum_{i \in g} w_i (y_i - \hat p)\bigr)^2}
              {\bigl(\sum_i w_i\bigr)^2}

    and the interval is Wilson's with the effective sample size :math:`\hat p (1 - \hat p) / \hat v` in place of n
    (Korn and Graubard 1998 do the same to the exact interval).

    Parameters
    ----------
    hits
        1 or 0 for each case, or a value between them, such as 0.5 for a tie.
    clusters
        Cluster of each case.
    weights
        Weight of each case, above 0; 1 by default.
    level
        Confidence level.

    Returns
    -------
    ClusteredEstimate
        From 0 to 1.

    Raises
    ------
    UndefinedEstimate
        There are no cases.

    Notes
    -----
    If the variance cannot be estimated, as with one cluster or a share of 0 or 1, n is the number of clusters.

    Examples
    --------
    >>> share = clustered_share([1, 1, 0, 1, 0, 0, 1, 1], [0, 0, 1, 2, 3, 3, 4, 5])
    >>> share.estimate, round(share.ci_low, 3), round(share.ci_high, 3)
    (0.625, 0.227, 0.904)
    """
    check_level(level)
    y, cluster = np.asarray(hits, dtype=np.float64), np.unique(np.asarray(clusters), return_inverse=True)[1]
    if not len(y):
        raise UndefinedEstimate("The share is undefined: there are no cases.")
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    p, groups = float(np.average(y, weights=w)), int(cluster.max()) + 1
    variance = clustered_variance(y - p, cluster, w)
    n = p * (1 - p) / variance if groups > 1 and variance > 1e-18 and 0 < p < 1 else float(groups)
    low, high = _wilson(p, n, NormalDist().inv_cdf((1 + level) / 2))
    return ClusteredEstimate(p, low, high, len(y), groups)


def _wilson(p: float, n: float, z: float) -> tuple[float, float]:
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, center - half), min(1.0, center + half)


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> ClusteredEstimate:
    r"""Estimate the mean difference of two values of each case, with a cluster-robust interval.

    .. math:: \hat d = \frac{\sum_i w_i (x_i - y_i)}{\sum_i w_i}, \quad
              \hat v = \frac{G}{G - 1} \frac{\sum_g \bigl(\sum_{i \in g} w_i (x_i - y_i - \hat d)\bigr)^2}
              {\bigl(\sum_i w_i\bigr)^2}

    and the interval is :math:`\hat d \pm z \sqrt{\hat v}`. Variation common to both values cancels, so the interval is
    far shorter than two separate intervals suggest.

    Parameters
    ----------
    first, second
        Two values of each case, such as the hits of two models, shape (cases,).
    clusters
        Cluster of each case.
    weights
        Weight of each case, above 0; 1 by default.
    level
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
        The two arrays differ in length.

    Notes
    -----
    If both values are equal in every case, the interval is 0 to 0. It is too short with fewer than about 20 clusters.

    Examples
    --------
    >>> difference = paired_difference([1, 1, 1, 0, 1, 0], [0, 1, 1, 0, 0, 1], [0, 1, 2, 3, 4, 5])
    >>> round(difference.estimate, 3), round(difference.ci_low, 3), round(difference.ci_high, 3)
    (0.167, -0.436, 0.769)
    """
    check_level(level)
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise InvalidInput(f"first has {x.size:,} values and second {y.size:,}. Give both values of each case.")
    mean = clustered_mean(x - y, clusters, weights=weights, level=level)
    if mean.ci_low is None or mean.ci_high is None:
        raise UndefinedEstimate(
            f"The interval of the difference is undefined: all {len(x):,} cases belong to 1 cluster, and it takes two "
            "or more."
        )
    return ClusteredEstimate(mean.estimate, mean.ci_low, mean.ci_high, mean.n, mean.clusters)
