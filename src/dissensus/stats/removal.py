"""Label shifts after the removal of raters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.stats.design import Design
from dissensus.stats.divergence import jensen_shannon, total_variation
from dissensus.stats.result import FloatArray

Bools = npt.NDArray[np.bool_]

MOVES = ("mean_total_variation", "mean_jensen_shannon", "changed", "disjoint")
"""What `moves` returns, in order."""

# A block of items takes a few arrays of this size.
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelShift:
    """Shift of each item's label; the last axis is items.

    Parameters
    ----------
    total_variation, jensen_shannon
        Distances between the soft labels before and after; NaN where nobody is left.
    changed
        Whether the set of most frequent answers changes.
    disjoint
        Whether the two sets share no answer: every label that a tie could be broken to is another one.
    """

    total_variation: FloatArray
    jensen_shannon: FloatArray
    changed: Bools
    disjoint: Bools


def label_shift(before: npt.ArrayLike, after: npt.ArrayLike) -> LabelShift:
    """Measure how far labels move from some counts to others of the same items.

    Parameters
    ----------
    before
        Raters who gave each answer to each item, shape (I, K); every item has a rater.
    after
        The same without some of the raters, shape (…, I, K).

    Returns
    -------
    LabelShift
        Arrays of shape (…, I).

    Notes
    -----
    An item that nobody is left to rate has no label after: its distances are NaN, and it counts as neither changed nor
    disjoint. Ties are kept: the label is the *set* of most frequent answers.

    Examples
    --------
    Two of five raters are removed, and a tie takes the place of the majority:

    >>> shift = label_shift([[3, 2]], [[1, 2]])
    >>> shift.total_variation.round(4), shift.changed, shift.disjoint
    (array([0.2667]), array([ True]), array([ True]))
    """
    first, later = np.asarray(before), np.asarray(after)
    p, q = _shares(first), _shares(later)
    left = later.sum(axis=-1) > 0
    tops, later_tops = _tops(first), _tops(later)
    return LabelShift(
        total_variation=total_variation(p, q),
        jensen_shannon=jensen_shannon(p, q),
        changed=left & (tops != later_tops).any(axis=-1),
        disjoint=left & ~(tops & later_tops).any(axis=-1),
    )


def moves(design: Design, removed: Bools) -> FloatArray:
    """Return how far labels move on the whole, for each of many sets of removed raters.

    Parameters
    ----------
    design
        The ratings.
    removed
        Whether each rater is removed, shape (B, R).

    Returns
    -------
    ndarray, shape (B, 4)
        In the order of `MOVES`: means over the items that have a rater left, and numbers of items; NaN means where no
        item has.

    Notes
    -----
    The answers of the removed are one matrix product: removed raters (B, R) times answers (R, items × K), by blocks of
    items, so that memory stays bounded and only raters of the block take part.
    """
    starts, raters, answers = design.by_item
    before = design.counts()
    sums, n_left = np.zeros((len(removed), len(MOVES))), np.zeros(len(removed))
    row_bytes = 8 * design.n_categories * max(len(removed), design.n_raters)
    for low in range(0, design.n_items, step := max(1, _BLOCK_BYTES // row_bytes)):
        high = min(low + step, design.n_items)
        who, place = np.unique(raters[starts[low] : starts[high]], return_inverse=True)
        item = np.repeat(np.arange(high - low), np.diff(starts[low : high + 1]))
        gave = np.zeros((who.size, high - low, design.n_categories), dtype=np.float32)
        gave[place, item, answers[starts[low] : starts[high]]] = 1
        taken = removed[:, who].astype(np.float32) @ gave.reshape(who.size, -1)
        after = before[low:high] - taken.reshape(len(removed), *gave.shape[1:])
        shift = label_shift(before[low:high], after)
        n_left += (~np.isnan(shift.total_variation)).sum(axis=-1)
        sums[:, 0] += np.nansum(shift.total_variation, axis=-1)
        sums[:, 1] += np.nansum(shift.jensen_shannon, axis=-1)
        sums[:, 2] += shift.changed.sum(axis=-1)
        sums[:, 3] += shift.disjoint.sum(axis=-1)
    sums[:, :2] = np.divide(
        sums[:, :2], n_left[:, None], out=np.full((len(removed), 2), np.nan), where=n_left[:, None] > 0
    )
    return sums


def _shares(counts: npt.NDArray[np.floating]) -> FloatArray:
    m = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(counts, m, out=np.full(counts.shape, np.nan), where=m > 0))


def _tops(counts: npt.NDArray[np.floating]) -> Bools:
    """Tell which answers are the most frequent."""
    return np.asarray(counts == counts.max(axis=-1, keepdims=True))
