"""Numbers of items by the answers that were given to them."""

from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.design import Block, BlockedDesign, Design, pass_over
from dissensus.stats.result import FloatArray, IntArray

MOST_COUNTS: Final = 2**23
"""Most possible counts that are held in memory, 8 bytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemCounts:
    """Distinct answers to an item, as counts, and the number of items with each.

    Parameters
    ----------
    counts
        Number of times that each answer was given, shape (V, K), in no particular order; no row is zero.
    n_items
        Items with these counts, shape (V,).
    """

    counts: IntArray
    n_items: IntArray


def count_items(design: Design | BlockedDesign) -> ItemCounts:
    r"""Count the items by the answers that were given to them.

    Parameters
    ----------
    design
        The ratings.

    Returns
    -------
    ItemCounts

    Raises
    ------
    UndefinedEstimate
        In blocks: more than `MOST_COUNTS` different counts are possible.

    Notes
    -----
    Of blocks only the numbers of items are held in memory, one for each possible count of K answers among at most m
    ratings. There are :math:`\binom{m + K}{K}` of them, numbered by the combinatorial number system.

    Examples
    --------
    >>> design = Design(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]), 2, 2, 2)
    >>> result = count_items(design)
    >>> result.counts.tolist(), result.n_items.tolist()
    ([[1, 1]], [2])
    """
    if not isinstance(design, BlockedDesign):
        counts = design.counts()
        distinct, n_items = np.unique(counts[counts.sum(axis=1) > 0], axis=0, return_counts=True)
        return ItemCounts(distinct.astype(np.int64), n_items)
    most, n_answers = design.most_ratings, design.n_categories
    if (possible := comb(most + n_answers, n_answers)) > MOST_COUNTS:
        raise UndefinedEstimate(
            f"Up to {most:,} ratings of an item with {n_answers:,} answers have {possible:,} possible counts, and at "
            f"most {MOST_COUNTS:,} are held in memory."
        )
    # The number of subsets of k of n elements, by n and k.
    subsets = np.array([[comb(n, k + 1) for k in range(n_answers)] for n in range(most + n_answers)], np.int64)
    total = np.zeros(possible, np.int64)
    pass_over(design, partial(_add_items, subsets), total)
    ranks = np.flatnonzero(total[1:]) + 1  # That of no ratings is 0
    return ItemCounts(_unrank_counts(ranks, subsets), total[ranks])


def compute_quantiles(values: FloatArray, n: IntArray, q: FloatArray) -> FloatArray:
    """Return the quantiles of sorted values that occur n times, linear between them."""
    ends = np.cumsum(n)
    place = q * (ends[-1] - 1)
    low, high = (values[np.searchsorted(ends, side(place), side="right")] for side in (np.floor, np.ceil))
    return np.asarray(low + (high - low) * (place - np.floor(place)))


def _add_items(subsets: IntArray, block: Block, total: IntArray) -> None:
    counts = block.design.counts()
    # Counts as a set of numbers: the partial sums, moved apart by one each.
    numbers = np.cumsum(counts, axis=1, dtype=np.int64) + np.arange(counts.shape[1])
    total += np.bincount(subsets[numbers, np.arange(counts.shape[1])].sum(axis=1), minlength=total.size)


def _unrank_counts(ranks: IntArray, subsets: IntArray) -> IntArray:
    """Return the counts of each rank, shape (V, K)."""
    remaining, numbers = ranks.copy(), np.empty((ranks.size, subsets.shape[1]), np.int64)
    for k in reversed(range(subsets.shape[1])):
        numbers[:, k] = np.searchsorted(subsets[:, k], remaining, side="right") - 1
        remaining -= subsets[numbers[:, k], k]
    return np.diff(numbers - np.arange(subsets.shape[1]), axis=1, prepend=0)
