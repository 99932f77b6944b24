"""Small-cell suppression: the counts that are hidden because they would describe few people.

Primary suppression hides every count from 1 to ``MIN_CELL - 1``. Complementary suppression hides further cells, so
that no hidden count follows from published totals: from the total of one list of groups in `suppress_small_cells`, from
the sums of all lines of a table in `hidden_cells`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

MIN_CELL: Final = 5
"""Smallest count above zero that is published."""
GroupKey = TypeVar("GroupKey")


def suppress_small_cells(counts: Mapping[GroupKey, int], *, min_cell: int = MIN_CELL) -> dict[GroupKey, int | None]:
    """Suppress small counts of disjoint groups whose total is known.

    Parameters
    ----------
    counts
        People in each group. The groups are disjoint and together make up the published total.
    min_cell
        Smallest count above zero that may be published.

    Returns
    -------
    dict
        The counts in the order given, None for those that are suppressed.

    Notes
    -----
    Zeros describe nobody and are not suppressed by themselves. If any group is suppressed, so is the smallest of the
    others (the first of equals). If there is no other large group, all groups are suppressed, zeros too.

    Examples
    --------
    >>> suppress_small_cells({"young": 2, "old": 9, "other": 12, "none": 0})
    {'young': None, 'old': None, 'other': 12, 'none': 0}
    >>> suppress_small_cells({"young": 7, "old": 9})
    {'young': 7, 'old': 9}
    >>> suppress_small_cells({"young": 2, "old": 0})
    {'young': None, 'old': None}
    """
    hidden = {group for group, n in counts.items() if 0 < n < min_cell}
    others = sorted((n, index) for index, n in enumerate(counts.values()) if n >= min_cell)
    if hidden and others:
        hidden.add(list(counts)[others[0][1]])
    if hidden and not others:
        hidden = set(counts)
    return {group: None if group in hidden else n for group, n in counts.items()}


def hidden_cells(
    counts: npt.NDArray[np.intp], below: int, *, unknown: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.bool_]:
    """Return the cells of a table of counts that are hidden, with complementary suppression.

    Parameters
    ----------
    counts
        People in each cell of crossed axes, of any number of dimensions.
    below
        Cells with fewer people, but with some, are hidden; 0 hides nothing.
    unknown
        Cells of people whose group is not known, of the shape of `counts`; they are hidden wherever they have people.

    Returns
    -------
    numpy.ndarray
        True for hidden cells, of the shape of `counts`.

    Notes
    -----
    The total less what is published describes the hidden cells together. If a line of cells has exactly one that is
    hidden, or hidden ones with fewer people than `below` in all, another one is hidden with them: the smallest that
    has people, else an empty one. The same holds for a cell that the sums of several lines disclose together. If the
    sum of a line is hidden on its own axis, all its cells are. A cell without people is not hidden by itself.

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
            others = tuple(other for other in axes if other != axis)
            of_axis = hidden_cells(counts.sum(axis=others), below, unknown=np.asarray(unknown.all(axis=others)))
            hidden |= np.expand_dims(of_axis, others) & (counts > 0)
    tables = (hidden, counts, unknown)
    lines = [line for axis in axes for line in zip(*(_iter_lines(of, axis) for of in tables), strict=True)]
    grown = True
    while grown:
        more = [_hide_another(mask, line) for mask, line, others in lines if _is_exposed(mask, line, others, below)]
        grown = any(more) or _hide_beside_exposed(hidden, counts, unknown)
    return hidden


def _is_exposed(
    mask: npt.NDArray[np.bool_], line: npt.NDArray[np.intp], unknown: npt.NDArray[np.bool_], below: int
) -> bool:
    """Return whether the sum of a line discloses one hidden cell, or too few people."""
    return bool((mask.sum() == 1 and not unknown[mask].any()) or 0 < line[mask].sum() < below)


def _iter_lines(cells: npt.NDArray[Any], axis: int) -> Iterator[npt.NDArray[Any]]:
    """Yield views of the lines of cells along an axis."""
    moved = np.moveaxis(cells, axis, -1)
    for index in np.ndindex(moved.shape[:-1]):
        yield moved[index]


def _hide_another(mask: npt.NDArray[np.bool_], line: npt.NDArray[np.intp]) -> bool:
    """Hide the smallest of the other cells of a line; return whether there was one."""
    free = np.flatnonzero(~mask)
    if not free.size:
        return False
    empty_last = np.where(line[free] > 0, line[free], np.iinfo(np.intp).max)
    mask[free[np.argmin(empty_last)]] = True
    return True


def _hide_beside_exposed(
    hidden: npt.NDArray[np.bool_], counts: npt.NDArray[np.intp], unknown: npt.NDArray[np.bool_]
) -> bool:
    """Hide one more cell in a line with an exposed cell; return whether there was one."""
    exposed = _exposed_cells(hidden) & ~unknown
    for axis in range(exposed.ndim):
        lines = zip(_iter_lines(exposed, axis), _iter_lines(hidden, axis), _iter_lines(counts, axis), strict=True)
        if any(given_away.any() and _hide_another(mask, line) for given_away, mask, line in lines):
            return True
    return False


def _exposed_cells(hidden: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the hidden cells whose value follows from all other cells and the sums of all lines."""
    exposed, positions = np.zeros_like(hidden), np.argwhere(hidden)
    longer = [axis for axis in range(hidden.ndim) if hidden.shape[axis] > 1]
    if not longer or not len(positions):
        return exposed

    lines = [np.unique(np.delete(positions, axis, axis=1), axis=0, return_inverse=True)[1].ravel() for axis in longer]
    sums = np.concatenate([np.arange(line.max() + 1)[:, None] == line for line in lines]).astype(float)
    # A cell is exposed if it is a linear combination of sums: if it lies in the space that their rows span.
    within = np.einsum("cs,sc->c", np.linalg.pinv(sums), sums)
    exposed[tuple(positions[within > 1 - 1e-9].T)] = True
    return exposed
