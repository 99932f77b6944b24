"""What two ways of judging the same cases differ by, where cases come in clusters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.level import check_level
from dissensus.stats.mean import clustered_mean


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with its interval.

    Parameters
    ----------
    estimate, ci_low, ci_high
        Mean of the first less that of the second.
    n, clusters
        Cases, and clusters that they come from.
    """

    estimate: float
    ci_low: float
    ci_high: float
    n: int
    clusters: int


def paired_difference(
    one: npt.ArrayLike,
    other: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Difference:
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
    return Difference(found.estimate, found.ci_low, found.ci_high, found.n, found.clusters)
