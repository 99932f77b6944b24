"""Small-cell suppression of counts.

Primary suppression hides every count from 1 to ``MIN_CELL - 1``. Complementary suppression hides further cells, so
that no hidden count can be derived from published totals: from the total of a list of groups in
`suppress_small_cells`, from the sums of all lines of a table in `hidden_cells`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

MIN_CELL: Final = 5
"""Smallest count above zero that is published."""
GroupKey = TypeVar("GroupKey")


def suppress_small_cells(counts: Mapping[GroupKey, int], *, min_cell: int = MIN_CELL) -> dict[GroupKey, int | None]:
    """Suppress small counts of disjoint groups with a published total.

    Parameters
    ----------
    counts
        People in each group. The groups are disjoint and add up to the published total.
    min_cell
        Smallest count above zero that may be published.

    Returns
    -------
    dict
        The counts in the same order, None for suppressed ones.

    Notes
    -----
    Zeros describe nobody and are not small counts. If any group is suppressed, so is the smallest group of at least
    `min_cell` people (the first of equals). If there is no such group, all groups are suppressed, including zeros.

    Examples
    --------
    >>> suppress_small_cells({"young": 2, "old": 9, "other": 12, "none": 0})
    {'young': None, 'old': None, 'other': 12, 'none': 0}
    >>> suppress_small_cells({"young": 7, "old": 9})
    {'young': 7, 'old': 9}
    >>> suppress_small_cells({"young": 2, "old": 0})
    {'young': None, 'old': None}
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


def can_isolate(sums: npt.NDArray[np.float64], min_cell: int = MIN_CELL) -> bool:
    """Return whether a linear combination of sums over people isolates fewer than `min_cell` of them.

    Parameters
    ----------
    sums
        Weight of each person in each sum, shape (S, R).
    min_cell
        Number of people from which on a combination isolates nobody.

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
        return rank > 0 and n_people < min_cell
    blocks = (np.arange(n_people) % min_cell == block for block in range(min_cell))
    return any(_has_small_support(_vanish_on(basis, block), min_cell) for block in blocks)


def _vanish_on(basis: npt.NDArray[np.float64], block: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return a basis of the combinations of rows that vanish on a block of columns, without these columns."""
    # All left singular vectors; the right ones are as many as people, and not needed.
    left, scale, _ = np.linalg.svd(basis[:, block], full_matrices=len(basis) > block.sum())
    rank = int((scale > TOLERANCE).sum())
    return left[:, rank:].T @ basis[:, ~block]


def hidden_cells(
    counts: npt.NDArray[np.intp], below: int, *, unknown: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.bool_]:
    """Return the cells of a table of counts to hide, with complementary suppression.

    Parameters
    ----------
    counts
        People in each cell of crossed axes, with any number of dimensions.
    below
        Non-empty cells with fewer people are hidden; 0 hides none.
    unknown
        Cells of people of unknown group, in the shape of `counts`; they are hidden unless empty.

    Returns
    -------
    numpy.ndarray
        True for hidden cells, of the shape of `counts`.

    Notes
    -----
    The difference between a total and its published cells describes the hidden cells together. If a line has exactly
    one hidden cell, or hidden cells with fewer people than `below` in total, another cell is hidden: the smallest
    non-empty one, else an empty one. The same holds for a cell that the sums of several lines disclose together. If the
    sum of a line is hidden on its own axis, all non-empty cells of the line are. Empty cells are not small counts.

    Examples
    --------
    >>> hidden_cells(np.array([9, 4, 6]), 5)
    array([False,  True,  True])
    """
    if unknown is None:
        unknown = np.zeros(counts.shape, dtype=np.bool_)
    hidden = (counts > 0) & ((counts < below) | unknown)
    axes = range(counts.ndim)
    if counts.ndim > 1:
        for axis in axes:
            other_axes = tuple(other for other in axes if other != axis)
            margin = hidden_cells(counts.sum(axis=other_axes), below, unknown=np.asarray(unknown.all(axis=other_axes)))
            hidden |= np.expand_dims(margin, other_axes) & (counts > 0)
    tables = (hidden, counts, unknown)
    lines = [line for axis in axes for line in zip(*(_iter_lines(table, axis) for table in tables), strict=True)]
    changed = True
    while changed:
        added = [
            _hide_another(mask, line) for mask, line, is_unknown in lines if _is_exposed(mask, line, is_unknown, below)
        ]
        changed = any(added) or _hide_beside_exposed(hidden, counts, unknown)
    return hidden


def _is_exposed(
    mask: npt.NDArray[np.bool_], line: npt.NDArray[np.intp], unknown: npt.NDArray[np.bool_], below: int
) -> bool:
    """Return True if the sum of a line discloses a hidden cell, or too few people."""
    return bool((mask.sum() == 1 and not unknown[mask].any()) or 0 < line[mask].sum() < below)


def _iter_lines(cells: npt.NDArray[Any], axis: int) -> Iterator[npt.NDArray[Any]]:
    """Yield views of the lines of cells along an axis."""
    moved = np.moveaxis(cells, axis, -1)
    for index in np.ndindex(moved.shape[:-1]):
        yield moved[index]


def _hide_another(mask: npt.NDArray[np.bool_], line: npt.NDArray[np.intp]) -> bool:
    """Hide the smallest visible cell of a line, empty cells last; return False if there is none."""
    visible = np.flatnonzero(~mask)
    if not visible.size:
        return False
    empty_last = np.where(line[visible] > 0, line[visible], np.iinfo(np.intp).max)
    mask[visible[np.argmin(empty_last)]] = True
    return True


def _hide_beside_exposed(
    hidden: npt.NDArray[np.bool_], counts: npt.NDArray[np.intp], unknown: npt.NDArray[np.bool_]
) -> bool:
    """Hide one more cell in a line with an exposed cell; return False if there is none."""
    exposed = _exposed_cells(hidden) & ~unknown
    for axis in range(exposed.ndim):
        lines = zip(_iter_lines(exposed, axis), _iter_lines(hidden, axis), _iter_lines(counts, axis), strict=True)
        if any(is_exposed.any() and _hide_another(mask, line) for is_exposed, mask, line in lines):
            return True
    return False


def _exposed_cells(hidden: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the hidden cells that can be derived from the other cells and the sums of all lines."""
    exposed, positions = np.zeros_like(hidden), np.argwhere(hidden)
    longer = [axis for axis in range(hidden.ndim) if hidden.shape[axis] > 1]
    if not longer or not len(positions):
        return exposed

    lines = [np.unique(np.delete(positions, axis, axis=1), axis=0, return_inverse=True)[1].ravel() for axis in longer]
    sums = np.concatenate([np.arange(line.max() + 1)[:, None] == line for line in lines]).astype(float)
    # A cell is exposed if it is a linear combination of sums, that is, if it lies in their row space.
    within = np.einsum("cs,sc->c", np.linalg.pinv(sums), sums)
    exposed[tuple(positions[within > 1 - 1e-9].T)] = True
    return exposed
