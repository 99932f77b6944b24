"""Distances between distributions of answers, such as the soft labels of two groups.

The functions take distributions over the last axis, broadcast the other axes, and return one number per pair of
distributions. A distribution of NaN (no answers) gives NaN. `mean_pairwise` takes ratings instead, and returns the mean
over items for every pair of groups of raters.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats import kernels
from dissensus.stats.counts import as_floats
from dissensus.stats.design import Block, BlockedDesign, Design, pass_over, run_in_threads, to_int32
from dissensus.stats.distance import check_values
from dissensus.stats.result import FloatArray, Int32Array, Int64Array, IntArray, divide_or_nan

Divergence = Callable[[FloatArray, FloatArray], FloatArray]

# Size of the arrays of one block of items.
_BLOCK_BYTES = 1 << 24


def total_variation(p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    r"""Return the total variation distance, :math:`\tfrac12\sum_k |p_k - q_k|`.

    Parameters
    ----------
    p, q
        Distributions over the last axis, shape (…, K).

    Returns
    -------
    ndarray, shape (…)
        Range 0 to 1; symmetric; half the Manhattan distance.

    Raises
    ------
    InvalidInput
        Negative shares, shares that do not sum to 1, or different numbers of categories.

    Examples
    --------
    >>> float(total_variation([0.5, 0.5, 0.0], [0.25, 0.25, 0.5]))
    0.5
    """
    p, q = _check_pair(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def jensen_shannon(p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    r"""Return the Jensen–Shannon divergence in nats (Lin 1991, equation 4.1 with equal weights).

    .. math:: \tfrac12 \mathrm{KL}(p \| u) + \tfrac12 \mathrm{KL}(q \| u), \qquad u = (p + q)/2

    Parameters
    ----------
    p, q
        Distributions over the last axis, shape (…, K).

    Returns
    -------
    ndarray, shape (…)
        Range 0 to :math:`\ln 2`; symmetric and always finite. Its square root is a metric.

    Examples
    --------
    >>> round(float(jensen_shannon([1.0, 0.0], [0.0, 1.0])), 6)
    0.693147
    """
    p, q = _check_pair(p, q)
    middle = (p + q) / 2
    return np.asarray((_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2)


def kullback_leibler(p: npt.ArrayLike, q: npt.ArrayLike, *, smoothing: float = 0.0) -> FloatArray:
    r"""Return the Kullback–Leibler divergence in nats, :math:`\sum_k p_k \ln(p_k / q_k)`.

    Parameters
    ----------
    p, q
        Distributions over the last axis, shape (…, K).
    smoothing
        Weight s of the uniform distribution mixed into both, :math:`(p + s/K)/(1 + s)`.

    Returns
    -------
    ndarray, shape (…)
        0 to infinity; infinite where q is 0 and p is not, unless smoothed. Not symmetric.

    Examples
    --------
    >>> round(float(kullback_leibler([0.5, 0.5], [0.25, 0.75])), 6)
    0.143841
    >>> float(kullback_leibler([1.0, 0.0], [0.0, 1.0]))
    inf
    """
    p, q = _smooth(p, q, smoothing)
    return _relative_entropy(p, q)


def cross_entropy(p: npt.ArrayLike, q: npt.ArrayLike, *, smoothing: float = 0.0) -> FloatArray:
    r"""Return the cross-entropy in nats, :math:`-\sum_k p_k \ln q_k`: the cost of predicting p by q.

    Parameters
    ----------
    p, q
        Distributions over the last axis, shape (…, K).
    smoothing
        As for :func:`kullback_leibler`.

    Returns
    -------
    ndarray, shape (…)
        0 to infinity; infinite where q is 0 and p is not, unless smoothed. Not symmetric.

    Examples
    --------
    >>> round(float(cross_entropy([0.5, 0.5], [0.25, 0.75])), 6)
    0.836988
    """
    p, q = _smooth(p, q, smoothing)
    return np.asarray(-_p_times(p, _ln(q)).sum(axis=-1))


def wasserstein(p: npt.ArrayLike, q: npt.ArrayLike, *, values: npt.ArrayLike | None = None) -> FloatArray:
    r"""Return the first Wasserstein (earth mover's) distance between distributions of ordered answers.

    .. math:: \sum_{k<K} (v_{k+1} - v_k)\, |P_k - Q_k|

    with P and Q the cumulative shares.

    Parameters
    ----------
    p, q
        Distributions over the last axis, shape (…, K), categories in order.
    values
        The increasing number each category stands for, shape (K,); 0 … K-1 by default.

    Returns
    -------
    ndarray, shape (…)
        0 to the range of `values`, in their unit; symmetric.

    Examples
    --------
    >>> float(wasserstein([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    2.0
    """
    p, q = _check_pair(p, q)
    gaps = np.diff(check_values(values, p.shape[-1]))
    if (gaps <= 0).any():
        raise InvalidInput("values must increase from category to category.")
    return np.asarray((np.abs(np.cumsum(p - q, axis=-1)[..., :-1]) * gaps).sum(axis=-1))


def mean_pairwise(
    design: Design | BlockedDesign, group: IntArray, divergence: Divergence = total_variation
) -> tuple[FloatArray, Int64Array]:
    r"""Return the mean divergence between the soft labels of every pair of groups of raters.

    .. math:: \frac{1}{I_{gh}} \sum_i D(p_{ig}, p_{ih})

    over the :math:`I_{gh}` items that both groups rated.

    Parameters
    ----------
    design
        The ratings.
    group
        Group of each rater in each replicate, shape (B, R): 0 … G-1, each with at least one rater; negative for raters
        without a group.
    divergence
        A function of this module. Total variation is compiled and runs in threads; others take 20 to 100 times as long.

    Returns
    -------
    means, n_items : ndarray, shape (B, G (G - 1) / 2)
        The means, NaN for a pair without shared items, and the number of shared items. Pairs are in the order of
        ``itertools.combinations``. The result does not depend on the number of threads.

    Notes
    -----
    Memory does not grow with items × groups, since items are processed in blocks.

    Examples
    --------
    Three raters, each a group of one, rate the first item, and two of them the second:

    >>> design = Design(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]), np.array([0, 1, 0, 1, 1]), 2, 3, 2)
    >>> means, n_items = mean_pairwise(design, np.array([[0, 1, 2]]))
    >>> means.tolist(), n_items.tolist()
    ([[0.5, 0.0, 1.0]], [[2, 1, 1]])
    """
    total, shared = zero_pairs(group, len(group))

    def fill(block: Block, total: FloatArray, shared: Int64Array) -> None:
        add_pairs(block.design, group, divergence, total, shared)

    pass_over(design, fill, total, shared)
    return divide_or_nan(total, shared), shared


def zero_pairs(group: IntArray, n_replicates: int) -> tuple[FloatArray, Int64Array]:
    """Return zero sums and numbers of items for each pair of groups in each replicate."""
    n_groups = int(group.max()) + 1
    shape = n_replicates, n_groups * (n_groups - 1) // 2
    return np.zeros(shape), np.zeros(shape, dtype=np.int64)


def add_pairs(design: Design, group: IntArray, divergence: Divergence, total: FloatArray, shared: Int64Array) -> None:
    """Add the divergences on the items of a design, and their number, to those of each pair of groups."""
    if divergence is total_variation:
        lists, codes = design.by_item, to_int32(group)

        def fill(part: slice) -> None:
            kernels.fill_pairs(total[part], shared[part], *lists, codes[part], design.n_categories)

        run_in_threads(fill, len(codes))
        return
    n_groups = int(group.max()) + 1
    for block in _blocks(design, n_groups):
        for b, codes in enumerate(group):
            _add_block(total[b], shared[b], block.counts(codes), divergence)


def _blocks(design: Design, n_groups: int) -> Iterator[Design]:
    """Yield the ratings in blocks of items whose arrays (G, items, K) fit in bounded memory."""
    starts, raters, answers = design.by_item
    step = max(1, _BLOCK_BYTES // (8 * n_groups * design.n_categories))
    for low in range(0, design.n_items, step):
        high = min(low + step, design.n_items)
        items = np.repeat(np.arange(high - low), np.diff(starts[low : high + 1]))
        part = slice(starts[low], starts[high])
        yield Design(items, raters[part], answers[part], high - low, design.n_raters, design.n_categories)


def _add_block(total: FloatArray, shared: Int64Array, counts: Int32Array, divergence: Divergence) -> None:
    """Add a block of items, counts (G, I, K), to the sum and the number of shared items of each pair, both (P,)."""
    shares = divide_or_nan(counts, counts.sum(axis=-1, keepdims=True))
    for pair, (g, h) in enumerate(zip(*np.triu_indices(len(counts), 1), strict=True)):
        values = divergence(shares[g], shares[h])
        total[pair] += np.nansum(values)
        shared[pair] += (~np.isnan(values)).sum()


def _check_pair(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    p, q = _check_distribution(p, "p"), _check_distribution(q, "q")
    if p.shape[-1] != q.shape[-1]:
        raise InvalidInput(f"p has {p.shape[-1]} categories and q {q.shape[-1]}; both need the same.")
    try:
        np.broadcast_shapes(p.shape, q.shape)
    except ValueError:
        raise InvalidInput(f"p has shape {p.shape} and q {q.shape}; they do not broadcast.") from None
    return p, q


def _check_distribution(shares: npt.ArrayLike, name: str) -> FloatArray:
    array = as_floats(shares, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidInput(f"{name} has no categories; give shares over the last axis.")
    if (array < 0).any():
        raise InvalidInput(f"{name} has a negative share; shares cannot be negative.")
    total = array.sum(axis=-1)
    if (np.isnan(total) & ~np.isnan(array).all(axis=-1)).any():
        raise InvalidInput(f"{name} has a distribution with some shares missing; give NaN for all of them or none.")
    if not np.allclose(total[~np.isnan(total)], 1, rtol=0, atol=1e-6):
        raise InvalidInput(f"{name} has shares that do not sum to 1; divide counts by their total first.")
    return array


def _smooth(p: npt.ArrayLike, q: npt.ArrayLike, smoothing: float) -> tuple[FloatArray, FloatArray]:
    if smoothing < 0 or not np.isfinite(smoothing):
        raise InvalidInput(f"smoothing is {smoothing}; give 0 or a positive number.")
    p, q = _check_pair(p, q)
    uniform = smoothing / p.shape[-1]
    return (p + uniform) / (1 + smoothing), (q + uniform) / (1 + smoothing)


def _relative_entropy(p: FloatArray, q: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        ratio = _ln(p) - _ln(q)
    # Rounding makes the divergence of almost equal distributions negative, and its root NaN.
    return np.asarray(np.maximum(_p_times(p, ratio).sum(axis=-1), 0.0))


def _ln(shares: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def _p_times(p: FloatArray, term: FloatArray) -> FloatArray:
    """Return p × term, with 0 where p is 0, the limit of p ln p."""
    with np.errstate(invalid="ignore"):
        return np.where(p == 0, 0.0, p * term)
