"""Cluster-robust means, shares and paired differences: intervals that count clusters, not cases."""

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
        Cases, and clusters that they come from.
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
        None where all cases are of one cluster, which tells nothing of others.
    n, clusters
        Cases, and clusters that they come from.
    """

    estimate: float
    ci_low: float | None
    ci_high: float | None
    n: int
    clusters: int


def clustered_mean(
    values: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, level: float = 0.95
) -> Mean:
    r"""Return the mean of cases that come in clusters, with an interval that counts clusters, not cases.

    .. math:: \hat m = \frac{\sum_i w_i x_i}{\sum_i w_i}, \quad
              \hat v = \frac{G}{G - 1} \frac{\sum_g \bigl(\sum_{i \in g} w_i (x_i - \hat m)\bigr)^2}
              {\bigl(\sum_i w_i\bigr)^2}

    and the interval is :math:`\hat m \pm z \sqrt{\hat v}` (Liang and Zeger 1986, for a mean alone).

    Parameters
    ----------
    values
        A number for each case, shape (cases,).
    clusters
        Cluster of each case.
    weights
        Of each case, above 0.
    level
        Confidence level.

    Returns
    -------
    Mean
        In the units of the values.

    Raises
    ------
    UndefinedEstimate
        There is no case.

    Notes
    -----
    With fewer than some 20 clusters the interval is too short.

    Examples
    --------
    >>> found = clustered_mean([0.2, 0.4, 0.9, 0.1], [0, 0, 1, 2])
    >>> round(found.estimate, 3), round(found.ci_low, 3), round(found.ci_high, 3), found.clusters
    (0.4, 0.03, 0.77, 3)
    """
    check_level(level)
    x, cluster = np.asarray(values, dtype=np.float64), np.unique(np.asarray(clusters), return_inverse=True)[1]
    if not len(x):
        raise UndefinedEstimate("There is no case, so there is no mean.")
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    mean, groups = float(np.average(x, weights=w)), int(cluster.max()) + 1
    if groups < 2:
        return Mean(mean, None, None, len(x), groups)
    half = NormalDist().inv_cdf((1 + level) / 2) * clustered_variance(x - mean, cluster, w) ** 0.5
    return Mean(mean, mean - half, mean + half, len(x), groups)


def clustered_variance(
    residuals: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> float:
    """Return the variance of a weighted mean from the residuals of its cases, by clusters numbered from 0."""
    apart = np.bincount(cluster, weights=weights * residuals)
    return len(apart) / max(len(apart) - 1, 1) * float(apart @ apart) / float(weights.sum()) ** 2


def clustered_share(
    hits: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, level: float = 0.95
) -> ClusteredEstimate:
    r"""Return a share of cases that come in clusters, with an interval that counts clusters, not cases.

    The variance is that of a ratio of cluster totals,

    .. math:: \hat v = \frac{G}{G - 1} \frac{\sum_g \bigl(\sum_{i \in g} w_i (y_i - \hat p)\bigr)^2}
              {\bigl(\sum_i w_i\bigr)^2}

    and the interval is Wilson's, with the number of independent cases that have this variance,
    :math:`\hat p (1 - \hat p) / \hat v`, in place of n (Korn and Graubard 1998 do the same to the exact interval).

    Parameters
    ----------
    hits
        1 or 0 for each case, or what lies between, such as 0.5 for a tie.
    clusters
        Cluster of each case.
    weights
        Of each case, above 0.
    level
        Confidence level.

    Returns
    -------
    Share
        From 0 to 1.

    Raises
    ------
    UndefinedEstimate
        There is no case.

    Notes
    -----
    Where there is no variance to see, as with one cluster or with hits alone, n is the number of clusters.

    Examples
    --------
    >>> share = clustered_share([1, 1, 0, 1, 0, 0, 1, 1], [0, 0, 1, 2, 3, 3, 4, 5])
    >>> share.estimate, round(share.ci_low, 3), round(share.ci_high, 3)
    (0.625, 0.227, 0.904)
    """
    check_level(level)
    y, cluster = np.asarray(hits, dtype=np.float64), np.unique(np.asarray(clusters), return_inverse=True)[1]
    if not len(y):
        raise UndefinedEstimate("There is no case, so there is no share.")
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
    one: npt.ArrayLike,
    other: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> ClusteredEstimate:
    r"""Return the mean difference of two values of each case, with an interval that counts clusters, not cases.

    .. math:: \hat d = \frac{\sum_i w_i (x_i - y_i)}{\sum_i w_i}, \quad
              \hat v = \frac{G}{G - 1} \frac{\sum_g \bigl(\sum_{i \in g} w_i (x_i - y_i - \hat d)\bigr)^2}
              {\bigl(\sum_i w_i\bigr)^2}

    and the interval is :math:`\hat d \pm z \sqrt{\hat v}`. What both get right, or wrong, adds nothing to it, so it is
    far shorter than what two separate intervals let expect.

    Parameters
    ----------
    one, other
        A value of each case by each way, shape (cases,).
    clusters
        Cluster of each case.
    weights
        Of each case, above 0.
    level
        Confidence level.

    Returns
    -------
    Difference
        In the units of the values.

    Raises
    ------
    UndefinedEstimate
        There is no case, or all are of one cluster, which tells nothing of others.
    InvalidInput
        There are not as many values of the one as of the other.

    Notes
    -----
    Where both are the same on every case the interval is 0 to 0. With fewer than some 20 clusters it is too short.

    Examples
    --------
    >>> found = paired_difference([1, 1, 1, 0, 1, 0], [0, 1, 1, 0, 0, 1], [0, 1, 2, 3, 4, 5])
    >>> round(found.estimate, 3), round(found.ci_low, 3), round(found.ci_high, 3)
    (0.167, -0.436, 0.769)
    """
    check_level(level)
    x, y = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.shape != y.shape:
        raise InvalidInput(
            f"There are {x.size:,} values of the one and {y.size:,} of the other. Give both of each case."
        )
    found = clustered_mean(x - y, clusters, weights=weights, level=level)
    if found.ci_low is None or found.ci_high is None:
        raise UndefinedEstimate(f"{len(x):,} cases of 1 cluster tell nothing of others. Give two clusters or more.")
    return ClusteredEstimate(found.estimate, found.ci_low, found.ci_high, found.n, found.clusters)
