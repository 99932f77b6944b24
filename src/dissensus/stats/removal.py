"""Label shifts after the removal of raters, and strata of raters with like numbers of ratings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.design import Design
from dissensus.stats.divergence import jensen_shannon, total_variation
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, Int64Array, IntArray, divide_or_nan

MOVES = ("mean_total_variation", "mean_jensen_shannon", "changed", "disjoint")
"""Columns of the result of `summarise_shifts`, in order."""

LOAD_RATIO: Final = 1.1
"""Largest ratio of the numbers of ratings of two raters of a stratum; see `load_strata`."""

# Size of the arrays of one block of items.
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelShift:
    """Shift of the label of each item; the last axis is items.

    Parameters
    ----------
    total_variation, jensen_shannon
        Distances between the soft labels before and after; NaN if no ratings remain.
    changed
        True if the set of most frequent answers changes.
    disjoint
        True if the two sets share no answer: the label changes however ties are broken.
    """

    total_variation: FloatArray
    jensen_shannon: FloatArray
    changed: BoolArray
    disjoint: BoolArray


def label_shift(before: npt.ArrayLike, after: npt.ArrayLike) -> LabelShift:
    """Measure the shift of the label of each item after the removal of raters.

    Parameters
    ----------
    before
        Raters who gave each answer to each item, shape (I, K); every item has at least one.
    after
        The same after the removal, shape (…, I, K).

    Returns
    -------
    LabelShift
        Arrays of shape (…, I).

    Notes
    -----
    An item without remaining ratings has no label: its distances are NaN, and it counts as neither changed nor
    disjoint. Ties are not broken: the label is the *set* of most frequent answers.

    Examples
    --------
    After the removal of two of five raters, the minority answer becomes the majority:

    >>> shift = label_shift([[3, 2]], [[1, 2]])
    >>> shift.total_variation.round(4), shift.changed, shift.disjoint
    (array([0.2667]), array([ True]), array([ True]))
    """
    before, after = np.asarray(before), np.asarray(after)
    p, q = (divide_or_nan(counts, counts.sum(axis=-1, keepdims=True)) for counts in (before, after))
    rated = after.sum(axis=-1) > 0
    modes_before, modes_after = _modes(before), _modes(after)
    return LabelShift(
        total_variation=total_variation(p, q),
        jensen_shannon=jensen_shannon(p, q),
        changed=rated & (modes_before != modes_after).any(axis=-1),
        disjoint=rated & ~(modes_before & modes_after).any(axis=-1),
    )


def summarise_shifts(design: Design, removed: BoolArray) -> FloatArray:
    """Summarise the label shifts of each of many sets of removed raters.

    Parameters
    ----------
    design
        The ratings.
    removed
        Sets of raters, shape (B, R); True if the rater is removed.

    Returns
    -------
    ndarray, shape (B, 4)
        In the order of `MOVES`: mean distances over the items that still have a rating, NaN if there are none, and
        numbers of items.

    Notes
    -----
    Counts of removed answers are a matrix product: removed raters (B, R) times answers (R, items × K). It is computed
    in blocks of items, which bounds the memory and excludes raters without ratings in the block.
    """
    sums, n_rated = np.zeros((len(removed), len(MOVES))), np.zeros(len(removed))
    for before, n_removed in _count_removed(design, removed):
        shift = label_shift(before, before - n_removed)
        n_rated += (~np.isnan(shift.total_variation)).sum(axis=-1)
        sums[:, 0] += np.nansum(shift.total_variation, axis=-1)
        sums[:, 1] += np.nansum(shift.jensen_shannon, axis=-1)
        sums[:, 2] += shift.changed.sum(axis=-1)
        sums[:, 3] += shift.disjoint.sum(axis=-1)
    sums[:, :2] = divide_or_nan(sums[:, :2], n_rated[:, None])
    return sums


def expected_shift(design: Design, removed: BoolArray) -> FloatArray:
    r"""Return the mean squared shift of the labels that is due to the number of ratings removed from each item alone.

    .. math:: \frac{1}{I} \sum_i \frac{k_i}{(m_i - k_i)(m_i - 1)}

    is the variance of the soft label after removing :math:`k_i` of :math:`m_i` ratings of item i at random, up to the
    variance of the answers. Random removals whose value differs from that of a filter shift labels by another extent,
    even if the removed raters answer like the others.

    Parameters
    ----------
    design
        The ratings.
    removed
        Sets of raters, shape (B, R); True if the rater is removed.

    Returns
    -------
    ndarray, shape (B,)
        0 or more; the mean is over items that still have a rating, NaN if there are none.

    Examples
    --------
    Two raters rate one item, and two another: removing one of each item shifts both labels.

    >>> design = Design(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]), np.array([0, 1, 0, 1]), 2, 4, 2)
    >>> expected_shift(design, np.array([[True, False, True, False], [True, True, False, False]]))
    array([1., 0.])
    """
    total, n_rated = np.zeros(len(removed)), np.zeros(len(removed))
    for before, n_removed in _count_removed(design, removed):
        m, k = before.sum(axis=-1), n_removed.sum(axis=-1)
        rated = k < m
        n_rated += rated.sum(axis=-1)
        total += (k / np.maximum((m - k) * (m - 1), 1) * rated).sum(axis=-1)
    return divide_or_nan(total, n_rated)


def _count_removed(design: Design, removed: BoolArray) -> Iterator[tuple[Int32Array, FloatArray]]:
    """Yield the answers to each item of a block, shape (items, K), and those of removed raters, shape (B, items, K)."""
    starts, raters, answers = design.by_item
    before = design.counts()
    row_bytes = 8 * design.n_categories * max(len(removed), design.n_raters)
    for low in range(0, design.n_items, step := max(1, _BLOCK_BYTES // row_bytes)):
        high = min(low + step, design.n_items)
        block_raters, row = np.unique(raters[starts[low] : starts[high]], return_inverse=True)
        item = np.repeat(np.arange(high - low), np.diff(starts[low : high + 1]))
        indicator = np.zeros((block_raters.size, high - low, design.n_categories), dtype=np.float32)
        indicator[row, item, answers[starts[low] : starts[high]]] = 1
        yield before[low:high], np.tensordot(removed[:, block_raters].astype(np.float32), indicator, 1)


def load_strata(loads: npt.ArrayLike, within: IntArray | None = None) -> Int64Array:
    """Group raters by their number of ratings.

    In ascending order, a stratum begins at the first load that is more than `LOAD_RATIO` times the least of the stratum
    before. Labels shift further the more ratings are removed, so random removals are compared with an observed one only
    if they take raters of like loads.

    Parameters
    ----------
    loads
        Number of ratings of each rater, shape (R,), 1 or more.
    within
        Another stratum of each rater, shape (R,), negative if unknown; it is crossed with those of the loads.

    Returns
    -------
    ndarray, shape (R,)
        Stratum of each rater, 0 … S-1, ordered by `within`, then by load; raters of equal load share one.

    Examples
    --------
    >>> load_strata([10, 60, 11, 62, 12, 10])
    array([0, 2, 0, 2, 1, 0])
    """
    own = np.asarray(loads)
    levels, level = np.unique(own, return_inverse=True)
    starts: list[int] = []
    for value in levels.tolist():
        if not starts or value > LOAD_RATIO * starts[-1]:
            starts.append(value)
    stratum = np.searchsorted(starts, levels, side="right")[level]
    if within is not None:
        stratum = (np.asarray(within).astype(np.int64) + 1) * (len(starts) + 1) + stratum
    return np.unique(stratum, return_inverse=True)[1].astype(np.int64)


def _modes(counts: npt.NDArray[np.floating]) -> BoolArray:
    """Mark the most frequent answers."""
    return np.asarray(counts == counts.max(axis=-1, keepdims=True))
