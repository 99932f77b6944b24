"""Cluster bootstrap of means and rank correlations."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.bootstrap import NO_SPREAD, draw_resamples, vary
from dissensus.stats.cluster_robust import estimate_clustered_df, t_quantile
from dissensus.stats.result import FloatArray, IndexArray, check_confidence, none_if_not_finite

MIN_CLUSTERS: Final = 10
"""Smallest effective number of clusters for an interval; with fewer, coverage is far below the nominal level."""

NO_CASES, NO_VARIATION = "no cases", "no interval: all values are the same"
NO_INTERVAL = "no interval was requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapEstimate:
    """An estimate from clustered cases with its bootstrap interval.

    Parameters
    ----------
    estimate, ci_low, ci_high
        The estimate and its interval; None if undefined.
    n, clusters
        Numbers of cases and of clusters.
    effective
        Effective number of clusters, (Σ n_g)² / Σ n_g² (Kish 1965).
    reason
        Reason why a value is None.
    """

    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    clusters: int
    effective: float
    reason: str = ""


def draw_clusters(n: int, replicates: int, seed: int) -> FloatArray:
    """Draw the number of times each of n clusters enters each replicate, shape (B, n)."""
    if not replicates:
        return np.empty((0, n))
    weights, _ = draw_resamples(np.random.SeedSequence(seed).spawn(replicates), np.zeros(n, np.int64), 0, "raters")
    return np.asarray(weights, dtype=np.float64)


def bootstrap_means(
    values: npt.ArrayLike,
    cells: npt.ArrayLike,
    clusters: npt.ArrayLike,
    draws: FloatArray,
    *,
    n_cells: int = 1,
    confidence: float = 0.95,
) -> tuple[BootstrapEstimate, ...]:
    r"""Estimate the mean of each cell, with a cluster bootstrap interval.

    .. math:: \hat\mu_c = \frac{\sum_g t_{gc}}{\sum_g n_{gc}}, \qquad
              \mu^*_c = \frac{\sum_g w_g t_{gc}}{\sum_g w_g n_{gc}}

    with the total t and the number n of the cases of cluster g in cell c, and the number of times :math:`w_g` that the
    cluster was drawn. The interval lies between percentiles of :math:`\mu^*_c`, so it stays within the range of the
    values (Davison and Hinkley 1997, section 5.3; resampling of clusters, section 3.8). They are expanded for few or
    unequal clusters; see `summarise_replicates`.

    Parameters
    ----------
    values
        Value of each case, shape (N,): a number, or 1 and 0 for a share. Cases with NaN or infinity are left out.
    cells
        Cell of each case, numbered from 0; cases with a negative cell are left out.
    clusters
        Cluster of each case, numbered from 0.
    draws
        Result of `draw_clusters`, shape (B, G).
    n_cells
        Number of cells.
    confidence
        Confidence level.

    Returns
    -------
    tuple of BootstrapEstimate
        One per cell. There is no interval with fewer than `MIN_CLUSTERS` effective clusters, or if all values are the
        same.

    Examples
    --------
    >>> draws = draw_clusters(12, 500, seed=0)
    >>> (share,) = bootstrap_means([0, 1, 1] * 8, [0] * 24, [case // 2 for case in range(24)], draws)
    >>> round(share.estimate, 3), round(share.ci_low, 2), round(share.ci_high, 2), share.clusters
    (0.667, 0.54, 0.83, 12)
    """
    check_confidence(confidence)
    value, cell, cluster = np.asarray(values, np.float64), np.asarray(cells, np.intp), np.asarray(clusters, np.intp)
    valid = np.isfinite(value) & (cell >= 0)
    value, cell, cluster = value[valid], cell[valid], cluster[valid]
    shape = (draws.shape[1], n_cells)
    index = np.ravel_multi_index((cluster, cell), shape)
    totals = np.bincount(index, weights=value, minlength=shape[0] * n_cells).reshape(shape)
    sizes = np.bincount(index, minlength=shape[0] * n_cells).reshape(shape).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = (draws @ totals) / (draws @ sizes)
        estimates = totals.sum(axis=0) / sizes.sum(axis=0)
    same = [np.ptp(value[cell == c]) == 0 if n else False for c, n in enumerate(sizes.sum(axis=0))]
    return tuple(
        summarise_replicates(
            float(estimates[c]), replicates[:, c], sizes[:, c], same=bool(same[c]), confidence=confidence
        )
        for c in range(n_cells)
    )


def bootstrap_rank_correlation(
    x: npt.ArrayLike, y: npt.ArrayLike, clusters: npt.ArrayLike, draws: FloatArray, *, confidence: float
) -> BootstrapEstimate:
    """Estimate Spearman's rank correlation, with a cluster bootstrap interval; ties have mid-ranks.

    Parameters
    ----------
    x, y
        Numbers, shape (N,); cases with NaN or infinity in either are left out.
    clusters, draws, confidence
        As for `bootstrap_means`.

    Returns
    -------
    BootstrapEstimate
        From -1 to 1. Each replicate computes its own ranks.

    Examples
    --------
    >>> draws = draw_clusters(4, 0, seed=0)
    >>> result = bootstrap_rank_correlation([1, 2, 3, 4], [1, 2, 2, 9], [0, 1, 2, 3], draws, confidence=0.95)
    >>> round(result.estimate, 3)
    0.949
    """
    check_confidence(confidence)
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    valid = np.isfinite(x) & np.isfinite(y)
    cluster = np.asarray(clusters, np.intp)[valid]
    x_code, y_code = (np.unique(values[valid], return_inverse=True)[1] for values in (x, y))
    sizes = np.bincount(cluster, minlength=draws.shape[1]).astype(np.float64)
    same = bool(len(cluster)) and (x_code.max() == 0 or y_code.max() == 0)
    if same or len(cluster) < 2:
        return summarise_replicates(np.nan, np.empty(0), sizes, same=same, confidence=confidence)
    estimate = weighted_spearman(x_code, y_code, np.ones(len(cluster)))
    replicates = np.array([weighted_spearman(x_code, y_code, draw[cluster]) for draw in draws])
    return summarise_replicates(estimate, replicates, sizes, same=False, confidence=confidence)


def summarise_replicates(
    estimate: float, replicates: FloatArray, sizes: FloatArray, *, same: bool, confidence: float
) -> BootstrapEstimate:
    r"""Return an estimate with the expanded percentile interval of its replicates, or the reason why it has none.

    Percentiles are those of the probabilities :math:`\Phi(\pm k)` (Hesterberg 2015) with

    .. math:: k = \sqrt{\frac{n_e}{n_e - 1}} \; t_\nu

    where :math:`n_e` is the effective number of clusters, and :math:`\nu` the degrees of freedom of
    `estimate_clustered_df`: drawn clusters vary too little by the first factor, and t stands for the normal quantile.

    Parameters
    ----------
    estimate
        The estimate; NaN if undefined.
    replicates
        Bootstrap replicates, shape (B,); those that are undefined are left out.
    sizes
        Number of cases of each cluster, shape (G,).
    same
        Whether all values are the same, so that there is no interval.
    confidence
        Confidence level.

    Returns
    -------
    BootstrapEstimate

    References
    ----------
    Hesterberg, T. C. (2015). What teachers should know about the bootstrap. The American Statistician 69(4).
    """
    n = float(sizes.sum())
    effective = n**2 / float(sizes @ sizes) if n else 0.0
    defined = replicates[np.isfinite(replicates)]
    reason = _missing_reason(n, effective, replicates, same=same)
    if not reason and not vary(defined, estimate):
        reason = NO_SPREAD
    low = high = None
    if not reason:
        k = (effective / (effective - 1)) ** 0.5 * t_quantile(confidence, estimate_clustered_df(sizes))
        tails = [NormalDist().cdf(-k), NormalDist().cdf(k)]
        low, high = np.quantile(defined, tails, method="weibull").tolist()
    return BootstrapEstimate(
        estimate=none_if_not_finite(estimate),
        ci_low=low,
        ci_high=high,
        n=int(n),
        clusters=int((sizes > 0).sum()),
        effective=effective,
        reason=reason,
    )


def _missing_reason(n: float, effective: float, replicates: FloatArray, *, same: bool) -> str:
    if not n:
        return NO_CASES
    if same:
        return NO_VARIATION
    # The tolerance is for rounding in the sum of squares.
    if effective < MIN_CLUSTERS - 1e-9:
        return f"no interval: {effective:.1f} effective clusters, and {MIN_CLUSTERS} are needed"
    if not len(replicates):
        return NO_INTERVAL
    return "" if np.isfinite(replicates).any() else "no interval: the estimate is undefined in every replicate"


def weighted_spearman(x: IndexArray, y: IndexArray, weight: FloatArray) -> float:
    """Return Spearman's correlation of cases repeated by their weights.

    Parameters
    ----------
    x, y
        Codes of the values in ascending order, shape (N,); ties have mid-ranks.
    weight
        Number of repetitions of each case, 0 or more, shape (N,).

    Returns
    -------
    float
        From -1 to 1; NaN if either has one value.

    Examples
    --------
    >>> round(weighted_spearman(np.array([0, 1, 2]), np.array([0, 2, 1]), np.array([1.0, 1.0, 2.0])), 3)
    0.333
    """
    # Sums instead of dot products: BLAS threads slow each other down on a busy machine.
    x_rank, y_rank = (_centred_ranks(values, weight) for values in (x, y))
    spread = float((weight * x_rank * x_rank).sum()) * float((weight * y_rank * y_rank).sum())
    return float((weight * x_rank * y_rank).sum() / np.sqrt(spread)) if spread > 0 else float("nan")


def _centred_ranks(values: IndexArray, weight: FloatArray) -> FloatArray:
    ties = np.bincount(values, weights=weight)
    return np.asarray((np.cumsum(ties) - ties / 2 - weight.sum() / 2)[values])
