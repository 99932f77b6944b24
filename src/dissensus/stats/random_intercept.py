"""Linear model with a random intercept for each cluster."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.result import FloatArray

RATIOS: Final = np.linspace(-14.0, 14.0, 113)
"""Grid of log variance ratios; the best one is refined."""

LARGEST: Final = 1e100
EXPLAINED: Final = 1e-24
"""Share of the sum of squares below which a residual is rounding error."""
STEPS: Final = 60
GOLDEN: Final = (5**0.5 - 1) / 2
_NO_MAXIMUM: Final = "Cases of one cluster do not differ, so the likelihood has no maximum."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomIntercept:
    """A fitted model.

    Parameters
    ----------
    coefficients, standard_errors
        Coefficient and standard error of each column of the design, shape (P,).
    sd_clusters, sd_residual
        Standard deviations of the random intercepts and of the residuals.
    log_likelihood
        Restricted log-likelihood, including all constants.
    n, clusters
        Numbers of cases and of clusters.
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
    """Products of design and outcome in total, and sums by cluster: all that the likelihood needs."""

    xx: FloatArray
    xy: FloatArray
    yy: float
    x: FloatArray
    y: FloatArray
    size: FloatArray


class _Solution(NamedTuple):
    criterion: float
    coefficients: FloatArray
    variance: float
    inverse: FloatArray


def random_intercept(design: npt.ArrayLike, outcome: npt.ArrayLike, clusters: npt.ArrayLike) -> RandomIntercept:
    r"""Fit a linear model with a random intercept for each cluster, by restricted maximum likelihood.

    .. math:: y_i = x_i^\top \beta + u_{g(i)} + e_i, \qquad
              u_g \sim N(0, \lambda \sigma^2), \quad e_i \sim N(0, \sigma^2)

    Given :math:`\lambda`, with :math:`V = I + \lambda Z Z^\top`, coefficients and :math:`\sigma^2` have closed forms,
    since the inverse of a block of V is :math:`I - \lambda / (1 + \lambda n_g) \, 1 1^\top`. The remaining criterion

    .. math:: (N - P) \ln \hat\sigma^2(\lambda) + \sum_g \ln(1 + \lambda n_g)
              + \ln \bigl| X^\top V^{-1} X \bigr|

    is minimised over :math:`\lambda` on a grid of :math:`\ln \lambda`, refined by golden section, and compared with
    :math:`\lambda = 0` (Laird and Ware 1982; Bates et al. 2015, section 3).

    Parameters
    ----------
    design
        Design matrix of the fixed effects, including a column of ones for the intercept, shape (N, P).
    outcome
        Outcome of each case, shape (N,).
    clusters
        Cluster of each case, shape (N,).

    Returns
    -------
    RandomIntercept
        Standard errors treat :math:`\lambda` as known, as is usual.

    Raises
    ------
    InvalidInput
        Arrays of different length, or values that are not finite.
    UndefinedEstimate
        Too few cases or clusters, clusters of one case only, a constant or fully explained outcome, collinear columns,
        values above 1e100, or a likelihood without a maximum within bounds.

    References
    ----------
    Laird, N. M. and Ware, J. H. (1982). Random-effects models for longitudinal data. Biometrics 38.
    Bates, D. et al. (2015). Fitting linear mixed-effects models using lme4. Journal of Statistical Software 67.

    Examples
    --------
    In balanced data the coefficient is the least-squares mean:

    >>> model = random_intercept(np.ones((6, 1)), [1, 2, 3, 5, 6, 7], [0, 0, 0, 1, 1, 1])
    >>> model.coefficients.round(3).tolist(), round(model.sd_residual, 3), round(model.sd_clusters, 3)
    ([4.0], 1.0, 2.769)
    """
    x, y, cluster = _check_cases(design, outcome, clusters)
    # Least-squares residuals have no large mean that would cost precision.
    start = np.linalg.lstsq(x, y, rcond=None)[0]
    residuals = y - x @ start
    if residuals @ residuals <= EXPLAINED * (y @ y):
        raise UndefinedEstimate("The design explains the outcome fully; there is no residual variance.")
    totals = _totals(x, residuals, cluster)
    best = RATIOS[int(np.argmin([_solve(totals, np.exp(ratio)).criterion for ratio in RATIOS]))]
    log_ratio = _refine(totals, float(best))
    without, refined = _solve(totals, 0.0), _solve(totals, float(np.exp(log_ratio)))
    if log_ratio > RATIOS[-1]:
        raise UndefinedEstimate(_NO_MAXIMUM)
    # A tiny ratio has the criterion of ratio 0, except for rounding.
    ratio = float(np.exp(log_ratio)) if refined.criterion < without.criterion - 1e-9 else 0.0
    solution = refined if ratio else without
    n, p = x.shape
    return RandomIntercept(
        coefficients=start + solution.coefficients,
        standard_errors=np.sqrt(solution.variance * np.diag(solution.inverse)),
        sd_clusters=float(np.sqrt(ratio * solution.variance)),
        sd_residual=float(np.sqrt(solution.variance)),
        log_likelihood=-(solution.criterion + (n - p) * (1 + np.log(2 * np.pi))) / 2,
        n=n,
        clusters=len(totals.size),
    )


def _check_cases(
    design: npt.ArrayLike, outcome: npt.ArrayLike, clusters: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    x, y, names = np.asarray(design, np.float64), np.asarray(outcome, np.float64), np.asarray(clusters)
    if x.ndim != 2 or not len(x) == len(y) == len(names):
        raise InvalidInput("The design needs a row, and outcome and clusters a value, for each case.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InvalidInput("The design or the outcome has values that are not finite. Leave these cases out.")
    cluster = np.unique(names, return_inverse=True)[1].ravel()
    n, p = x.shape
    n_clusters = int(cluster.max()) + 1 if n else 0
    if n <= p + 1:
        raise UndefinedEstimate(f"{n:,} cases are too few for {p} coefficients and two variances.")
    if n_clusters < 2:
        raise UndefinedEstimate("All cases belong to one cluster, so the variance between clusters is undefined.")
    if n_clusters == n:
        raise UndefinedEstimate("No cluster has two cases, so the variance within clusters is undefined.")
    if max(np.abs(x).max(), np.abs(y).max()) > LARGEST:
        raise UndefinedEstimate(f"Some values are above {LARGEST:g}, too large to be squared.")
    if np.linalg.matrix_rank(x) < p:
        raise UndefinedEstimate("Some columns of the design are linear combinations of others.")
    if np.ptp(y) == 0:
        raise UndefinedEstimate("The outcome is constant.")
    return x, y, cluster


def _totals(x: FloatArray, y: FloatArray, cluster: npt.NDArray[np.intp]) -> _Totals:
    size = np.bincount(cluster).astype(np.float64)
    by_cluster = np.zeros((len(size), x.shape[1]))
    np.add.at(by_cluster, cluster, x)
    sums = np.bincount(cluster, weights=y).astype(np.float64)
    return _Totals(x.T @ x, x.T @ y, float(y @ y), by_cluster, sums, size)


def _solve(totals: _Totals, ratio: float) -> _Solution:
    """Return the most likely parameters given the ratio of the variances."""
    shrunk = ratio / (1 + ratio * totals.size)
    xvx = totals.xx - (totals.x * shrunk[:, None]).T @ totals.x
    xvy = totals.xy - totals.x.T @ (shrunk * totals.y)
    yvy = totals.yy - float(shrunk @ totals.y**2)
    inverse = np.linalg.inv(xvx)
    coefficients = inverse @ xvy
    free = int(totals.size.sum()) - len(xvx)
    variance = (yvy - float(coefficients @ xvy)) / free
    if variance <= 0:
        raise UndefinedEstimate(_NO_MAXIMUM)
    determinant = float(np.linalg.slogdet(xvx)[1])
    criterion = free * np.log(variance) + float(np.log1p(ratio * totals.size).sum()) + determinant
    return _Solution(float(criterion), coefficients, variance, np.asarray(inverse, np.float64))


def _refine(totals: _Totals, middle: float) -> float:
    """Return the best log ratio near another, by golden section."""
    step = RATIOS[1] - RATIOS[0]
    low, high = middle - step, middle + step
    for _ in range(STEPS):
        first, second = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if _solve(totals, np.exp(first)).criterion < _solve(totals, np.exp(second)).criterion:
            high = second
        else:
            low = first
    return float((low + high) / 2)
