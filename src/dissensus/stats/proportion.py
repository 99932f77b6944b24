"""Shares of cases that come in clusters."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.stats.level import check_level
from dissensus.stats.mean import clustered_variance


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval.

    Parameters
    ----------
    estimate, ci_low, ci_high
        From 0 to 1.
    n, clusters
        Cases, and clusters that they come from.
    """

    estimate: float
    ci_low: float
    ci_high: float
    n: int
    clusters: int


def clustered_share(
    hits: npt.ArrayLike, clusters: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, level: float = 0.95
) -> Share:
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
    return Share(p, low, high, len(y), groups)


def _wilson(p: float, n: float, z: float) -> tuple[float, float]:
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, center - half), min(1.0, center + half)
