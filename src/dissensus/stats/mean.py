"""Means of cases that come in clusters."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.stats.level import check_level


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
