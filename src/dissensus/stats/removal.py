"""Label shifts after the removal of raters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.stats.design import Design
from dissensus.stats.divergence import jensen_shannon, total_variation
from dissensus.stats.result import FloatArray

Bools = npt.NDArray[np.bool_]

MOVES = ("mean_total_variation", "mean_jensen_shannon", "changed", "disjoint")
"""Columns of the result of `moves`, in order."""

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
    changed: Bools
    disjoint: Bools


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
    p, q = _shares(before), _shares(after)
    rated = after.sum(axis=-1) > 0
    modes_before, modes_after = _modes(before), _modes(after)
    return LabelShift(
        total_variation=total_variation(p, q),
        jensen_shannon=jensen_shannon(p, q),
        changed=rated & (modes_before != modes_after).any(axis=-1),
        disjoint=rated & ~(modes_before & modes_after).any(axis=-1),
    )


def moves(design: Design, removed: Bools) -> FloatArray:
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
    starts, raters, answers = design.by_item
    before = design.counts()
    sums, n_rated = np.zeros((len(removed), len(MOVES))), np.zeros(len(removed))
    row_bytes = 8 * design.n_categories * max(len(removed), design.n_raters)
    for low in range(0, design.n_items, step := max(1, _BLOCK_BYTES // row_bytes)):
        high = min(low + step, design.n_items)
        block_raters, row = np.unique(raters[starts[low] : starts[high]], return_inverse=True)
        item = np.repeat(np.arange(high - low), np.diff(starts[low : high + 1]))
        indicator = np.zeros((block_raters.size, high - low, design.n_categories), dtype=np.float32)
        indicator[row, item, answers[starts[low] : starts[high]]] = 1
        n_removed = np.tensordot(removed[:, block_raters].astype(np.float32), indicator, 1)
        after = before[low:high] - n_removed
        shift = label_shift(before[low:high], after)
        n_rated += (~np.isnan(shift.total_variation)).sum(axis=-1)
        sums[:, 0] += np.nansum(shift.total_variation, axis=-1)
        sums[:, 1] += np.nansum(shift.jensen_shannon, axis=-1)
        sums[:, 2] += shift.changed.sum(axis=-1)
        sums[:, 3] += shift.disjoint.sum(axis=-1)
    sums[:, :2] = np.divide(
        sums[:, :2], n_rated[:, None], out=np.full((len(removed), 2), np.nan), where=n_rated[:, None] > 0
    )
    return sums


def _shares(counts: npt.NDArray[np.floating]) -> FloatArray:
    m = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(counts, m, out=np.full(counts.shape, np.nan), where=m > 0))


def _modes(counts: npt.NDArray[np.floating]) -> Bools:
    """Mark the most frequent answers."""
    return np.asarray(counts == counts.max(axis=-1, keepdims=True))
