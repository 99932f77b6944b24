"""A linear model in which each cluster has an intercept of its own."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.result import FloatArray

RATIOS: Final = np.linspace(-14.0, 14.0, 113)
"""Logarithms of the ratio of the two variances that are looked at before the best of them is refined."""

LARGEST: Final = 1e100
EXPLAINED: Final = 1e-24
"""Of the sum of squares, what rounding may leave."""
STEPS: Final = 60
GOLDEN: Final = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomIntercept:
    """A fitted model.

    Parameters
    ----------
    coefficients, standard_errors
        Of each column of the design, shape (P,).
    sd_clusters, sd_residual
        Standard deviations of the intercepts of clusters, and of what is left.
    log_likelihood
        Restricted, with all constants.
    n, clusters
        Cases and clusters.
    """

    coefficients: FloatArray
    standard_errors: FloatArray
    sd_clusters: float
    sd_residual: float
    log_likelihood: float
    n: int
    clusters: int

    @property
    def share_of_clusters(self) -> float:
        """Share of the residual variance that lies between clusters, from 0 to 1."""
        return self.sd_clusters**2 / (self.sd_clusters**2 + self.sd_residual**2)


class _Totals(NamedTuple):
    """All that the likelihood needs: products of the design and the outcome, whole and by cluster."""

    xx: FloatArray
    xy: FloatArray
    yy: float
    x: FloatArray
    y: FloatArray
    size: FloatArray


class _Solved(NamedTuple):
    criterion: float
    coefficients: FloatArray
    variance: float
    inverse: FloatArray


def random_intercept(design: npt.ArrayLike, outcome: npt.ArrayLike, clusters: npt.ArrayLike) -> RandomIntercept:
    r"""Fit a linear model with a random intercept for each cluster, by restricted maximum likelihood.

    .. math:: y_i = x_i^\top \beta + u_{g(i)} + e_i, \qquad
              u_g \sim N(0, \lambda \sigma^2), \quad e_i \sim N(0, \sigma^2)

    Given :math:`\lambda`, with :math:`V = I + \lambda Z Z^\top`, coefficients and :math:`\sigma^2` have closed forms,
    as the inverse of a block of V is :math:`I - \lambda / (1 + \lambda n_g) \, 1 1^\top`. What is left to be minimised
    is

    .. math:: (N - P) \ln \hat\sigma^2(\lambda) + \sum_g \ln(1 + \lambda n_g)
              + \ln \bigl| X^\top V^{-1} X \bigr|

    over one number, found on a grid of :math:`\ln \lambda`, refined by golden section, and compared with
    :math:`\lambda = 0` (Laird and Ware 1982; Bates et al. 2015, section 3).

    Parameters
    ----------
    design
        Columns of the fixed part, with one of ones for the intercept, shape (N, P).
    outcome
        Shape (N,).
    clusters
        Cluster of each case, shape (N,).

    Returns
    -------
    RandomIntercept
        Standard errors take :math:`\lambda` for known, as is usual.

    Raises
    ------
    InvalidInput
        Arrays of different length, or with values that are no numbers.
    UndefinedEstimate
        There are too few cases or clusters, every cluster has one case, the outcome is the same throughout or is fully
        explained, columns of the design determine each other, values are beyond all measure, or the likelihood has no
        maximum within bounds.

    References
    ----------
    Laird, N. M. and Ware, J. H. (1982). Random-effects models for longitudinal data. Biometrics 38.
    Bates, D. et al. (2015). Fitting linear mixed-effects models using lme4. Journal of Statistical Software 67.

    Examples
    --------
    Two clusters of balanced data have the means that least squares gives, and a variance between them:

    >>> found = random_intercept(np.ones((6, 1)), [1, 2, 3, 5, 6, 7], [0, 0, 0, 1, 1, 1])
    >>> found.coefficients.round(3).tolist(), round(found.sd_residual, 3), round(found.sd_clusters, 3)
    ([4.0], 1.0, 2.769)
    """
    x, y, cluster = _checked(design, outcome, clusters)
    # what least squares leaves has no large mean to be lost in
    start = np.linalg.lstsq(x, y, rcond=None)[0]
    left = y - x @ start
    if left @ left <= EXPLAINED * (y @ y):
        raise UndefinedEstimate("The design explains the outcome fully, so nothing is left to vary.")
    totals = _totals(x, left, cluster)
    best = RATIOS[int(np.argmin([_solve(totals, np.exp(ratio)).criterion for ratio in RATIOS]))]
    ratio = _refined(totals, float(best))
    none, some = _solve(totals, 0.0), _solve(totals, float(np.exp(ratio)))
    if ratio > RATIOS[-1]:
        raise UndefinedEstimate("Clusters differ, and nothing else does: the likelihood has no maximum.")
    # with a tiny ratio the criterion is that of none but for a rounding
    of_clusters = float(np.exp(ratio)) if some.criterion < none.criterion - 1e-9 else 0.0
    found = some if of_clusters else none
    n, p = x.shape
    return RandomIntercept(
        coefficients=start + found.coefficients,
        standard_errors=np.sqrt(found.variance * np.diag(found.inverse)),
        sd_clusters=float(np.sqrt(of_clusters * found.variance)),
        sd_residual=float(np.sqrt(found.variance)),
        log_likelihood=-(found.criterion + (n - p) * (1 + np.log(2 * np.pi))) / 2,
        n=n,
        clusters=len(totals.size),
    )


def _checked(
    design: npt.ArrayLike, outcome: npt.ArrayLike, clusters: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    x, y, given = np.asarray(design, np.float64), np.asarray(outcome, np.float64), np.asarray(clusters)
    if x.ndim != 2 or not len(x) == len(y) == len(given):
        raise InvalidInput("The design has a row, and outcome and clusters a value, for each case.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InvalidInput("The design or the outcome has values that are no numbers. Leave these cases out.")
    cluster = np.unique(given, return_inverse=True)[1].ravel()
    n, p = x.shape
    n_clusters = int(cluster.max()) + 1 if n else 0
    if n <= p + 1:
        raise UndefinedEstimate(f"{n:,} cases are too few for {p} coefficients and two variances.")
    if n_clusters < 2:
        raise UndefinedEstimate("All cases are of one cluster, so clusters cannot be told from the rest.")
    if n_clusters == n:
        raise UndefinedEstimate("No cluster has two cases, so clusters cannot be told from the rest.")
    if max(np.abs(x).max(), np.abs(y).max()) > LARGEST:
        raise UndefinedEstimate(f"Some values are beyond {LARGEST:g}, too large to be squared.")
    if np.linalg.matrix_rank(x) < p:
        raise UndefinedEstimate("Some columns of the design are determined by others.")
    if np.ptp(y) == 0:
        raise UndefinedEstimate("The outcome is the same throughout.")
    return x, y, cluster


def _totals(x: FloatArray, y: FloatArray, cluster: npt.NDArray[np.intp]) -> _Totals:
    size = np.bincount(cluster).astype(np.float64)
    by_cluster = np.zeros((len(size), x.shape[1]))
    np.add.at(by_cluster, cluster, x)
    sums = np.bincount(cluster, weights=y).astype(np.float64)
    return _Totals(x.T @ x, x.T @ y, float(y @ y), by_cluster, sums, size)


def _solve(totals: _Totals, ratio: float) -> _Solved:
    """Return what is most likely for a ratio of the variances."""
    shrunk = ratio / (1 + ratio * totals.size)
    xvx = totals.xx - (totals.x * shrunk[:, None]).T @ totals.x
    xvy = totals.xy - totals.x.T @ (shrunk * totals.y)
    yvy = totals.yy - float(shrunk @ totals.y**2)
    inverse = np.linalg.inv(xvx)
    coefficients = inverse @ xvy
    free = int(totals.size.sum()) - len(xvx)
    variance = (yvy - float(coefficients @ xvy)) / free
    if variance <= 0:
        raise UndefinedEstimate("Clusters differ, and nothing else does: the likelihood has no maximum.")
    determinant = float(np.linalg.slogdet(xvx)[1])
    criterion = free * np.log(variance) + float(np.log1p(ratio * totals.size).sum()) + determinant
    return _Solved(float(criterion), coefficients, variance, np.asarray(inverse, np.float64))


def _refined(totals: _Totals, middle: float) -> float:
    """Return the logarithm of the best ratio near one, by golden section."""
    step = RATIOS[1] - RATIOS[0]
    low, high = middle - step, middle + step
    for _ in range(STEPS):
        first, second = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if _solve(totals, np.exp(first)).criterion < _solve(totals, np.exp(second)).criterion:
            high = second
        else:
            low = first
    return float((low + high) / 2)
