"""Permutation tests: permutations of raters, p-values, and step-down max-T over a family of tests."""

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray, IntArray

Method = Literal["two-sided", "grasp"]
# Tolerance, relative to 1 + |s|, for values that differ only by the order of summation.
ROUNDING = 1e-12
T_ROUNDING = 1e-9


def draw_permutations(
    seeds: list[np.random.SeedSequence], n_raters: int, within: IntArray | None = None
) -> npt.NDArray[np.int32]:
    """Draw one permutation of the raters per seed.

    Parameters
    ----------
    seeds
        One seed per replicate, so that a replicate does not depend on the number of replicates.
    n_raters
        Number of raters, R.
    within
        Stratum of each rater, shape (R,): raters are exchanged within strata only.

    Returns
    -------
    ndarray of int32, shape (B, R)
        Entry (b, r) is the rater whose demographic row rater r receives in replicate b.
    """
    if within is not None and len(within) != n_raters:
        raise InvalidInput(f"within has {len(within)} strata for {n_raters} raters; give one per rater.")
    unrestricted = within is None or bool((within == within[:1]).all())
    permutations = np.empty((len(seeds), n_raters), dtype=np.int32)
    for row, seed in zip(permutations, seeds, strict=True):
        rng = np.random.Generator(np.random.PCG64(seed))
        if unrestricted or within is None:
            row[:] = rng.permutation(n_raters)
        else:
            _shuffle_within(row, within, rng)
    return permutations


def _shuffle_within(row: npt.NDArray[np.int32], within: IntArray, rng: np.random.Generator) -> None:
    order = np.argsort(within, kind="stable")
    # Sorting by stratum and then by a random key lists the raters of each stratum in random order.
    row[order] = np.lexsort((rng.random(len(within)), within))


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
