"""Means and rank correlations of cases that come in clusters, with intervals from drawing clusters."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.bootstrap import resampled
from dissensus.stats.result import FloatArray, check_level

Codes = npt.NDArray[np.intp]

LEAST: Final = 10
"""Fewer effective clusters than these give no interval: it would hold the truth far less often than it says."""

NONE, SAME = "there is none", "no interval: all values are the same"
NOT_DRAWN = "no interval was asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """An estimate from cases that come in clusters.

    Parameters
    ----------
    estimate, ci_low, ci_high
        The estimate and its interval for other clusters; None where there is none.
    n, clusters
        Cases, and clusters that they come from.
    effective
        Clusters of one size that would tell as much, (Σ n_g)² / Σ n_g² (Kish 1965).
    reason
        Why something is None.
    """

    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    clusters: int
    effective: float
    reason: str = ""


def drawn_clusters(n: int, replicates: int, seed: int) -> FloatArray:
    """Draw how often each of n clusters enters each replicate, shape (B, n); each has a child of the seed."""
    if not replicates:
        return np.empty((0, n))
    weights, _ = resampled(np.random.SeedSequence(seed).spawn(replicates), np.zeros(n, np.int64), 0, "raters")
    return np.asarray(weights, dtype=np.float64)


def clustered_means(
    values: npt.ArrayLike,
    cells: npt.ArrayLike,
    clusters: npt.ArrayLike,
    draws: FloatArray,
    *,
    n_cells: int = 1,
    level: float = 0.95,
) -> tuple[Clustered, ...]:
    r"""Return the mean of each cell, with an interval that counts clusters, not cases.

    .. math:: \hat\mu_c = \frac{\sum_g t_{gc}}{\sum_g n_{gc}}, \qquad
              \mu^*_c = \frac{\sum_g w_g t_{gc}}{\sum_g w_g n_{gc}}

    with the total t and the number n of the cases of cluster g in cell c, and :math:`w_g` how often the cluster was
    drawn. The interval lies between the percentiles of :math:`\mu^*_c`, so that it never leaves the range of the values
    (Davison and Hinkley 1997, section 5.3; clusters are drawn whole, section 3.8).

    Parameters
    ----------
    values
        One a case, shape (N,): a number, 1 and 0 for a share, NaN where it is not known, which leaves the case out.
    cells
        Cell of each case, from 0; negative for none.
    clusters
        Cluster of each case, from 0.
    draws
        Of `drawn_clusters`, shape (B, G).
    n_cells
        How many cells there are.
    level
        Confidence level.

    Returns
    -------
    tuple of Clustered
        One a cell. There is no interval with fewer than `LEAST` effective clusters, or where all values are the same:
        nothing that is drawn from them could differ.

    Examples
    --------
    >>> draws = drawn_clusters(12, 500, seed=0)
    >>> (share,) = clustered_means([0, 1, 1] * 8, [0] * 24, [case // 2 for case in range(24)], draws)
    >>> round(share.estimate, 3), round(share.ci_low, 2), round(share.ci_high, 2), share.clusters
    (0.667, 0.54, 0.79, 12)
    """
    check_level(level)
    value, cell, cluster = np.asarray(values, np.float64), np.asarray(cells, np.intp), np.asarray(clusters, np.intp)
    kept = np.isfinite(value) & (cell >= 0)
    shape = (draws.shape[1], n_cells)
    place = np.ravel_multi_index((cluster[kept], cell[kept]), shape)
    totals = np.bincount(place, weights=value[kept], minlength=shape[0] * n_cells).reshape(shape)
    sizes = np.bincount(place, minlength=shape[0] * n_cells).reshape(shape).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = (draws @ totals) / (draws @ sizes)
        estimates = totals.sum(axis=0) / sizes.sum(axis=0)
    same = [np.ptp(value[kept][cell[kept] == c]) == 0 if n else False for c, n in enumerate(sizes.sum(axis=0))]
    return tuple(
        clustered(float(estimates[c]), replicates[:, c], sizes[:, c], same=bool(same[c]), level=level)
        for c in range(n_cells)
    )


def rank_correlation(
    x: npt.ArrayLike, y: npt.ArrayLike, clusters: npt.ArrayLike, draws: FloatArray, *, level: float = 0.95
) -> Clustered:
    """Return Spearman's rank correlation, with mid-ranks for ties, and its interval for other clusters.

    Parameters
    ----------
    x, y
        Numbers, shape (N,); a case in which either is NaN is left out.
    clusters, draws, level
        As for `clustered_means`.

    Returns
    -------
    Clustered
        From -1 to 1; a replicate ranks the cases that were drawn anew.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4], [1, 2, 2, 9], [0, 1, 2, 3], drawn_clusters(4, 0, seed=0)).estimate.__round__(3)
    0.949
    """
    check_level(level)
    one, other = np.asarray(x, np.float64), np.asarray(y, np.float64)
    kept = np.isfinite(one) & np.isfinite(other)
    cluster = np.asarray(clusters, np.intp)[kept]
    first, second = (np.unique(values[kept], return_inverse=True)[1] for values in (one, other))
    sizes = np.bincount(cluster, minlength=draws.shape[1]).astype(np.float64)
    same = bool(len(cluster)) and (first.max() == 0 or second.max() == 0)
    if same or len(cluster) < 2:
        return clustered(np.nan, np.empty(0), sizes, same=same, level=level)
    estimate = _spearman(first, second, np.ones(len(cluster)))
    replicates = np.array([_spearman(first, second, draw[cluster]) for draw in draws])
    return clustered(estimate, replicates, sizes, same=False, level=level)


def clustered(estimate: float, replicates: FloatArray, sizes: FloatArray, *, same: bool, level: float) -> Clustered:
    """Return an estimate with the percentiles of its replicates, or the reason why there are none."""
    n = float(sizes.sum())
    effective = n**2 / float(sizes @ sizes) if n else 0.0
    defined = replicates[np.isfinite(replicates)]
    reason = _why_not(n, effective, defined, same=same)
    low, high = (None, None) if reason else np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Clustered(
        estimate=float(estimate) if np.isfinite(estimate) else None,
        ci_low=low,
        ci_high=high,
        n=int(n),
        clusters=int((sizes > 0).sum()),
        effective=effective,
        reason=reason,
    )


def _why_not(n: float, effective: float, defined: FloatArray, *, same: bool) -> str:
    if not n:
        return NONE
    if same:
        return SAME
    # of equal clusters the sum of squares may miss by a rounding
    if effective < LEAST - 1e-9:
        return f"no interval: as few as {effective:.1f} effective clusters, and {LEAST} are needed"
    return "" if len(defined) else NOT_DRAWN


def _spearman(x: Codes, y: Codes, weight: FloatArray) -> float:
    """Return the correlation of the mid-ranks that cases have if each is there as often as its weight says."""
    # sums rather than products of vectors: threads of these wait for each other on a busy machine
    one, other = (_centred_ranks(values, weight) for values in (x, y))
    spread = float((weight * one * one).sum()) * float((weight * other * other).sum())
    return float((weight * one * other).sum() / np.sqrt(spread)) if spread > 0 else float("nan")


def _centred_ranks(values: Codes, weight: FloatArray) -> FloatArray:
    ties = np.bincount(values, weights=weight)
    return np.asarray((np.cumsum(ties) - ties / 2 - weight.sum() / 2)[values])
