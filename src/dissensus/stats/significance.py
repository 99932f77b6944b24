"""P-values of permutation tests, and adjustment for multiple testing."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray, none_if_nan

Method = Literal["two-sided", "grasp"]
# Tolerance, relative to 1 + |s|, for values that differ only by the order of summation.
ROUNDING = 1e-12
T_ROUNDING = 1e-9


def permutation_p(observed: npt.ArrayLike, replicates: npt.ArrayLike, *, method: Method = "two-sided") -> FloatArray:
    r"""Return permutation p-values.

    "two-sided" doubles the smaller tail and counts the observed value as one of the replicates, so that p is never 0
    (Phipson and Smyth 2010):

    .. math::

        p = \min\Bigl(1,\; 2\,\frac{1 + \min(\#\{s^* \le s\}, \#\{s^* \ge s\})}{B + 1}\Bigr)

    "grasp" is the published rule of Prabhakaran et al. (2024): :math:`\#\{s^* < s\}/B` if s lies below the
    median of the replicates, else :math:`\#\{s^* > s\}/B`.

    Parameters
    ----------
    observed
        Observed values, shape (…).
    replicates
        Values under the null, shape (B, …).
    method
        "two-sided" or "grasp".

    Returns
    -------
    ndarray, shape (…)
        NaN where the observed value is NaN or no replicate is defined.

    Notes
    -----
    Replicates that are NaN are left out, and B is the number of the others; values that differ only by rounding are
    ties. The grasp rule chooses its side by the data, ignores ties and may return 0: at the 5 % level it rejects a true
    null nearly 10 % of the time. If all replicates tie with s, p is 1 by either rule.

    Examples
    --------
    >>> replicates = [0.1, 0.2, 0.3, 0.4]
    >>> float(permutation_p(0.5, replicates)), float(permutation_p(0.5, replicates, method="grasp"))
    (0.4, 0.0)
    """
    value, null = _check_replicates(observed, replicates)
    if method not in get_args(Method):
        raise InvalidInput(f"method is {method!r}; choose one of {', '.join(get_args(Method))}.")
    n = (~np.isnan(null)).sum(axis=0)
    rounding = ROUNDING * (1 + np.abs(value))
    if method == "grasp":
        below, above = (null < value - rounding).sum(axis=0), (null > value + rounding).sum(axis=0)
        p = np.where(value < medians(null), below, above) / np.maximum(n, 1)
        p = np.where((below == 0) & (above == 0), 1.0, p)
    else:
        low, high = (null <= value + rounding).sum(axis=0), (null >= value - rounding).sum(axis=0)
        p = np.minimum(1, 2 * (1 + np.minimum(low, high)) / (n + 1))
    return np.where(np.isnan(value) | (n == 0), np.nan, p)


def upper_p(observed: npt.ArrayLike, replicates: npt.ArrayLike) -> FloatArray:
    r"""Return one-sided permutation p-values for large observed values.

    .. math:: p = \frac{1 + \#\{s^* \ge s\}}{B + 1}

    (Phipson and Smyth 2010).

    Parameters
    ----------
    observed
        Observed values, shape (…).
    replicates
        Values under the null, shape (B, …).

    Returns
    -------
    ndarray, shape (…)
        NaN where the observed value is NaN. A replicate that is NaN counts against the observed value.

    Examples
    --------
    >>> float(upper_p(3.0, [1.0, 2.0, 3.0, 4.0]))
    0.6
    """
    value, null = np.asarray(observed, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    reached = ~(null < value - ROUNDING * (1 + np.abs(value)))
    return np.where(np.isnan(value), np.nan, (1 + reached.sum(axis=0)) / (len(null) + 1))


def benjamini_hochberg(p: npt.ArrayLike) -> FloatArray:
    r"""Adjust the p-values of one family for the false discovery rate (Benjamini and Hochberg 1995).

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \min\bigl(1, \tfrac{M}{j}\, p_{(j)}\bigr)

    Parameters
    ----------
    p
        P-values of the family, shape (M,). NaN means no test; it stays NaN and does not count towards M.

    Returns
    -------
    ndarray, shape (M,)
        Adjusted p-values.

    Raises
    ------
    InvalidInput
        Not one-dimensional, or a value outside 0 … 1.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.03, 0.03, nan]
    """

    def correct(ordered: FloatArray) -> FloatArray:
        scaled = ordered * ordered.size / np.arange(1, ordered.size + 1)
        return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])

    return _adjust_known(p, correct)


def holm(p: npt.ArrayLike) -> FloatArray:
    r"""Adjust the p-values of one family for the family-wise error rate, under any dependence (Holm 1979).

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl(1, (M - j + 1)\, p_{(j)}\bigr)

    Parameters
    ----------
    p
        P-values of the family, shape (M,). NaN means no test; it stays NaN and does not count towards M.

    Returns
    -------
    ndarray, shape (M,)
        Adjusted p-values.

    Raises
    ------
    InvalidInput
        Not one-dimensional, or a value outside 0 … 1.

    Examples
    --------
    >>> holm([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    return _adjust_known(p, lambda ordered: np.maximum.accumulate(ordered * np.arange(ordered.size, 0, -1)))


def _adjust_known(p: npt.ArrayLike, correct: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return p-values corrected in ascending order, with those that are NaN left out."""
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or (values < 0).any() or (values > 1).any():
        raise InvalidInput("p must be one-dimensional, with numbers from 0 to 1 or NaN.")
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    adjusted[order] = np.minimum(1, correct(values[order]))
    return adjusted


def adjust_tests(p: Iterable[float | None], adjust: Callable[[npt.ArrayLike], FloatArray]) -> list[float | None]:
    """Adjust the p-values of one family by `holm` or `benjamini_hochberg`; None means no test.

    Examples
    --------
    >>> adjust_tests([0.01, None, 0.02], holm)
    [0.02, None, 0.02]
    """
    return [none_if_nan(value) for value in adjust(np.array(list(p), dtype=np.float64))]


def max_t(observed: npt.ArrayLike, replicates: npt.ArrayLike) -> FloatArray:
    r"""Adjust the tests of one family for the family-wise error rate by step-down max-T.

    Each statistic is standardised by the mean and standard deviation of its replicates,
    :math:`t = |s - \bar s^*| / \mathrm{sd}^*`; the adjusted p-value of the j-th largest t is the share of replicates
    whose largest t among the j-th and smaller ones reaches it, counting the observed one, made monotone
    (Westfall and Young 1993, algorithm 4.1).

    Parameters
    ----------
    observed
        Observed values, shape (M,).
    replicates
        Joint replicates under the null, shape (B, M); each row is one permutation.

    Returns
    -------
    ndarray, shape (M,)
        NaN where the observed value is NaN or no replicate is defined; 1 where the replicates do not vary.

    Notes
    -----
    An undefined replicate counts against its own test and does not enter the maximum of other tests. For a skewed
    statistic the result may be below its two-sided :func:`permutation_p`; `analyse` reports the larger of the two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> max_t([0.1, 5.0], rng.normal(size=(999, 2))).round(3).tolist()
    [0.911, 0.001]
    """
    statistic, null = _check_replicates(observed, replicates)
    if statistic.ndim != 1:
        raise InvalidInput("observed must be one-dimensional.")
    center, spread = _moments(null)
    constant = spread <= ROUNDING * (1 + np.abs(center))
    tested = np.flatnonzero(~np.isnan(statistic) & ~constant)
    t = np.abs(statistic - center)[tested] / spread[tested]
    t_star = np.abs(null - center)[:, tested] / spread[tested]
    undefined = np.isnan(t_star)
    t_star[undefined] = -np.inf
    order = np.argsort(-t, kind="stable")
    largest = np.maximum.accumulate(t_star[:, order][:, ::-1], axis=1)[:, ::-1]
    reached = (largest >= t[order] * (1 - T_ROUNDING)) | undefined[:, order]
    p = (1 + reached.sum(axis=0)) / (len(null) + 1)
    adjusted = np.where(np.isnan(statistic) | np.isnan(null).all(axis=0), np.nan, 1.0)
    adjusted[tested[order]] = np.maximum.accumulate(p)
    return adjusted


def medians(replicates: FloatArray) -> FloatArray:
    """Return the medians over the first axis, ignoring NaN."""
    undefined = np.isnan(replicates).all(axis=0)
    if len(replicates) == 0:
        return np.full(undefined.shape, np.nan)
    return np.where(undefined, np.nan, np.nanmedian(np.where(undefined, 0.0, replicates), axis=0))


def _moments(null: FloatArray) -> tuple[FloatArray, FloatArray]:
    n = np.maximum((~np.isnan(null)).sum(axis=0), 1)
    center = np.nansum(null, axis=0) / n
    return center, np.sqrt(np.nansum(np.square(null - center), axis=0) / n)


def _check_replicates(observed: npt.ArrayLike, replicates: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    values: npt.NDArray[Any] = np.asarray(observed, dtype=np.float64)
    null = np.asarray(replicates, dtype=np.float64)
    if null.ndim != values.ndim + 1 or null.shape[1:] != values.shape:
        raise InvalidInput(f"replicates has shape {null.shape}; observed {values.shape} needs (B, …) of the same.")
    return values, null
