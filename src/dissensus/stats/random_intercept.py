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
        Coefficient and standard error of each column of the design, shape (P,), if the model holds.
    robust_errors, df
        Cluster-robust standard errors and the degrees of freedom of their t distributions, shape (P,); they hold too if
        effects differ between clusters. NaN where a single cluster determines the coefficient.
    sd_clusters, sd_residual
        Standard deviations of the random intercepts and of the residuals.
    log_likelihood
        Restricted log-likelihood, including all constants.
    n, clusters
        Numbers of cases and of clusters.
    """

    coefficients: FloatArray
    standard_errors: FloatArray
    robust_errors: FloatArray
    df: FloatArray
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


class _RobustErrors(NamedTuple):
    """Standard errors and degrees of freedom, shape (P,) each."""

    errors: FloatArray
    df: FloatArray


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

    Robust standard errors are CR2 of the model scaled by :math:`V^{-1/2}`, with rows :math:`X_g` of cluster g,
    residuals :math:`e_g`, and :math:`H_g = X_g M X_g^\top`, :math:`M = (X^\top X)^{-1}`:

    .. math:: \hat v = M \Bigl( \sum_g X_g^\top (I - H_g)^{-1/2} e_g e_g^\top (I - H_g)^{-1/2} X_g \Bigr) M

    which is unbiased if the model holds, and consistent if effects differ between clusters. Their degrees of freedom
    are Satterthwaite's, for each coefficient (Bell and McCaffrey 2002; Pustejovsky and Tipton 2018).

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
        All standard errors treat :math:`\lambda` as known, as is usual.

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
    Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage
    samples. Survey Methodology 28.
    Pustejovsky, J. E. and Tipton, E. (2018). Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. Journal of Business and Economic Statistics 36.

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
    robust = _robust_errors(x, residuals - x @ solution.coefficients, cluster, ratio)
    return RandomIntercept(
        coefficients=start + solution.coefficients,
        standard_errors=np.sqrt(solution.variance * np.diag(solution.inverse)),
        robust_errors=robust.errors,
        df=robust.df,
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


def _robust_errors(x: FloatArray, residuals: FloatArray, cluster: npt.NDArray[np.intp], ratio: float) -> _RobustErrors:
    """Return cluster-robust errors of the model scaled by the inverse root of V, which shrinks means of clusters."""
    size = np.bincount(cluster).astype(np.float64)
    shrinkage = (1 - 1 / np.sqrt(1 + ratio * size)) / size
    order = np.argsort(cluster, kind="stable")
    starts = np.cumsum(size).astype(np.intp) - size.astype(np.intp)
    sums = np.add.reduceat(x[order], starts), np.add.reduceat(residuals[order], starts)
    scaled = x - (shrinkage[:, None] * sums[0])[cluster]
    error = residuals - (shrinkage * sums[1])[cluster]
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    root = vectors / np.sqrt(values)  # so that design = scaled @ root has orthonormal columns
    design = scaled @ root
    p = x.shape[1]
    scores, roots = np.empty((len(size), p)), np.empty((len(size), p, p))
    inside, lost = np.empty((len(size), p, p)), np.zeros(p)
    for g, (low, n) in enumerate(zip(starts, size.astype(np.intp), strict=True)):
        rows = order[low : low + n]
        leverage, directions = np.linalg.eigh(design[rows].T @ design[rows])
        # A direction that the cluster alone determines has a leverage of 1 and no residual.
        fixed = leverage >= 1 - 1e-9
        free = np.where(fixed, np.inf, 1 - leverage)
        lost += ((root @ directions[:, fixed]) ** 2).sum(axis=1)
        scores[g] = directions @ ((directions.T @ (design[rows].T @ error[rows])) / np.sqrt(free))
        roots[g] = (directions * (leverage / np.sqrt(free))) @ directions.T
        inside[g] = (directions * (leverage / free)) @ directions.T
    variance = ((root @ scores.T) ** 2).sum(axis=1)
    # In the scaled model the numerator is a sum over clusters of squares of contrasts a'e with these covariances.
    own = np.einsum("pj,gjk,pk->pg", root, inside, root)
    crossed = np.einsum("gjk,pk->pgj", roots, root)
    diagonal = own - (crossed**2).sum(axis=2)
    gram = np.einsum("pgj,pgk->pjk", crossed, crossed)
    square = (own**2).sum(axis=1) - 2 * (own * (crossed**2).sum(axis=2)).sum(axis=1) + (gram**2).sum(axis=(1, 2))
    trace = diagonal.sum(axis=1)
    known = (trace > 0) & (lost <= 1e-6 * (root**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(known, trace**2 / square, np.nan)
    return _RobustErrors(np.where(known, np.sqrt(variance), np.nan), df)
