"""Chi-square tests of nested multilevel models: Wald and likelihood ratio."""

import math

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray

# Share of a column's length that other columns must leave unexplained, as in R.
TOLERANCE = 1e-7


def chi_square_tail(statistic: float, df: int) -> float:
    """Probability that a chi-square variable exceeds a value.

    The regularized upper incomplete gamma function of df / 2, a finite sum for whole degrees of freedom (Abramowitz &
    Stegun 1964, 26.4.4 and 26.4.5).

    Parameters
    ----------
    statistic
        Value; below 0 counts as 0.
    df
        Degrees of freedom, at least 1.

    Raises
    ------
    InvalidInput
        `df` is below 1.

    Examples
    --------
    >>> round(chi_square_tail(3.841459, 1), 6), round(chi_square_tail(9.487729, 4), 6)
    (0.05, 0.05)
    """
    if df < 1:
        raise InvalidInput(f"df is {df}; a chi-square distribution has at least one degree of freedom.")
    half = max(statistic, 0.0) / 2
    if half in (0, math.inf):
        return 1.0 if half == 0 else 0.0
    tail = math.erfc(math.sqrt(half)) if df % 2 else 0.0
    for power in np.arange(df % 2 / 2, df / 2):
        tail += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(tail, 1.0)


def wald_statistic(
    coefficients: FloatArray, covariance: FloatArray, covariates: FloatArray, nested: FloatArray
) -> tuple[float, int]:
    """Wald statistic of the hypothesis that a linear predictor lies in the span of fewer covariates.

    The part of the predictor that these covariates and a constant do not explain is zero: C β = 0, where the rows of C
    span that of the residuals of the covariates, and the statistic is (C β)ᵀ (C V Cᵀ)⁻¹ C β. It does not depend on how
    factors are coded.

    Parameters
    ----------
    coefficients, covariance
        Estimates, shape (P,), and their covariance matrix, shape (P, P).
    covariates
        Distinct rows of covariates, shape (M, P).
    nested
        The fewer covariates at the same rows, shape (M, Q).

    Returns
    -------
    tuple
        Statistic, and its degrees of freedom; 0 if the fewer covariates explain all.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    >>> wald_statistic(np.array([1.0, 2.0]), np.eye(2) / 4, rows, rows[:, :1])
    (16.0, 1)
    """
    basis = np.linalg.qr(np.column_stack([np.ones(len(nested)), nested]))[0]
    length = np.maximum(np.linalg.norm(covariates, axis=0), 1e-300)
    scaled = covariates / length
    residual = scaled - basis @ (basis.T @ scaled)
    _, values, rows = np.linalg.svd(residual, full_matrices=False)
    contrast = rows[values > TOLERANCE] * length
    if not len(contrast):
        return 0.0, 0
    value = contrast @ coefficients
    return float(value @ np.linalg.solve(contrast @ covariance @ contrast.T, value)), len(contrast)
