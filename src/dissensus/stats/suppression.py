"""Small-cell suppression.

Primary suppression hides numbers of one to ``MIN_CELL - 1`` people. Complementary suppression hides further ones, so
that no hidden number can be derived from groups of several axes together.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

MIN_CELL: Final = 5
"""Smallest number of people about whom a number is published."""
TOLERANCE: Final = 1e-9
"""Size below which a weight is zero but for rounding."""


def select_publishable_groups(
    codes: npt.NDArray[np.integer[Any]], *, min_cell: int = MIN_CELL
) -> npt.NDArray[np.bool_]:
    """Select groups of several axes whose sums can be published together, beside the sum of all people.

    A published sum of answers is the sum over the people of a group. Sums of several axes can be combined: women minus
    the women of one age leave the others. The selected groups allow no linear combination of sums in which the answers
    of one person to ``min_cell - 1`` people remain and everybody else cancels out.

    Parameters
    ----------
    codes
        Group of each person on each axis, shape (A, R); -1 if unknown.
    min_cell
        Smallest number of people about whom a sum may be derived.

    Returns
    -------
    numpy.ndarray
        True for groups that can be published, shape (A, G), where G is the largest code plus one.

    Notes
    -----
    Groups are considered from the largest to the smallest, in the order of axes and codes if equally large, and added
    unless they and those before disclose somebody. So the selection is maximal, not the largest possible one. With
    fewer than `min_cell` people, nothing can be published, not even the sum of all.

    Examples
    --------
    Twelve women and nine men. The three women of group 1 on the second axis are hidden, and so is group 0, since all
    but those are in it:

    >>> gender = np.repeat([0, 1], [12, 9])
    >>> age = np.repeat([0, 1, 0], [9, 3, 9])
    >>> select_publishable_groups(np.stack([gender, age]))
    array([[ True,  True],
           [False, False]])
    """
    n_axes, n_people = codes.shape
    publishable = np.zeros((n_axes, int(codes.max(initial=-1)) + 1), np.bool_)
    if n_people < min_cell:
        return publishable
    sizes = (codes[:, :, None] == np.arange(publishable.shape[1])).sum(axis=1)
    sums = np.ones((1, n_people))
    for axis, group in np.argwhere(sizes >= min_cell)[np.argsort(-sizes[sizes >= min_cell], kind="stable")]:
        candidate = np.vstack([sums, codes[axis] == group])
        if not can_isolate(candidate, min_cell):
            sums, publishable[axis, group] = candidate, True
    return publishable


def select_disjoint_groups(
    sizes: npt.NDArray[np.integer[Any]], n_people: npt.NDArray[np.integer[Any]], *, min_cell: int = MIN_CELL
) -> npt.NDArray[np.bool_]:
    """Select groups of one axis whose sums can be published together, beside the sum of all people.

    The selection of `select_publishable_groups` for one axis, of many tables at once: sums of disjoint groups disclose
    nobody but the people outside of all published groups, who are too few if they are fewer than `min_cell`.

    Parameters
    ----------
    sizes
        People of each group, shape (I, G).
    n_people
        All people, also those of unknown group, shape (I,).
    min_cell
        Smallest number of people about whom a sum may be derived.

    Returns
    -------
    numpy.ndarray
        True for groups that can be published, shape (I, G).

    Examples
    --------
    In the first table three people are left over, who would be disclosed; in the second, nobody is.

    >>> select_disjoint_groups(np.array([[9, 6, 3], [9, 6, 0]]), np.array([18, 15]))
    array([[ True, False, False],
           [ True,  True, False]])
    """
    selected = np.zeros(sizes.shape, np.bool_)
    rows, left = np.arange(len(sizes)), n_people.astype(np.int64)
    for group in np.argsort(-sizes, axis=1, kind="stable").T:
        size = sizes[rows, group]
        rest = left - size
        published = (size >= min_cell) & ((rest == 0) | (rest >= min_cell))
        selected[rows, group] = published
        left = np.where(published, rest, left)
    return selected


def can_isolate(sums: npt.NDArray[np.float64], min_cell: int = MIN_CELL) -> bool:
    """Return whether a linear combination of sums over people isolates fewer than `min_cell` of them.

    Parameters
    ----------
    sums
        Weight of each person in each sum, shape (S, R).
    min_cell
        Smallest number of people whom a combination may describe.

    Notes
    -----
    This is the minimum distance of a linear code. People are dealt into `min_cell` blocks. A combination of fewer
    people misses one of the blocks, so it is searched among the combinations that vanish on a block, for each block in
    turn. Usually the people of every block are diverse enough that only zero vanishes on it.

    Examples
    --------
    >>> everybody, women = np.ones(9), np.repeat([1.0, 0.0], [6, 3])
    >>> can_isolate(np.stack([everybody, women])), can_isolate(np.stack([everybody, women]), 3)
    (True, False)
    """
    # Equal people stand side by side, so that they are dealt into different blocks; more than the blocks add nothing.
    kinds, n_people = np.unique(sums, axis=1, return_counts=True)
    people = np.repeat(kinds, np.minimum(n_people, min_cell), axis=1)
    left, scale, _ = np.linalg.svd(people, full_matrices=False)
    return _has_small_support(left[:, scale > TOLERANCE].T @ people, min_cell)


def _has_small_support(basis: npt.NDArray[np.float64], min_cell: int) -> bool:
    """Return whether the space of these independent rows has a vector with few entries, but not zero."""
    basis = basis[:, np.abs(basis).max(axis=0, initial=0) > TOLERANCE]
    rank, n_people = basis.shape
    if rank <= 1 or n_people < min_cell:
        return bool(rank > 0 and n_people < min_cell)
    blocks = (np.arange(n_people) % min_cell == block for block in range(min_cell))
    return any(_has_small_support(_vanish_on(basis, block), min_cell) for block in blocks)


def _vanish_on(basis: npt.NDArray[np.float64], block: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return a basis of the combinations of rows that vanish on a block of columns, without these columns."""
    # All left singular vectors; the right ones are as many as people, and not needed.
    left, scale, _ = np.linalg.svd(basis[:, block], full_matrices=len(basis) > block.sum())
    rank = int((scale > TOLERANCE).sum())
    return left[:, rank:].T @ basis[:, ~block]
