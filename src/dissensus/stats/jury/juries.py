"""Juries that could be drawn from the raters of an item, and how many of them call it unsafe."""

from collections.abc import Sequence
from math import comb
from typing import Final

import numpy as np

from dissensus.stats.result import FloatArray, Int64Array

_ROUNDING: Final = 1e-12


def share_of_juries(n_raters: Int64Array, n_unsafe: Int64Array, seats: Sequence[int], *, at_least: float) -> FloatArray:
    r"""Return the share of the juries that could be drawn from each item's raters that call it unsafe.

    A jury draws :math:`s_g` of the :math:`n_g` raters of each group without replacement, every choice with the same
    chance, and calls the item unsafe if the share of its unsafe votes reaches a threshold. With :math:`k_g` raters of a
    group who call the item unsafe, the number of juries with :math:`v` unsafe votes is

    .. math:: \sum_{v_1 + \dots + v_G = v} \; \prod_g \binom{k_g}{v_g} \binom{n_g - k_g}{s_g - v_g}

    in whole numbers, without rounding.

    Parameters
    ----------
    n_raters, n_unsafe
        Raters of each group who answered each item, and those who called it unsafe, shape (G, I). Groups are disjoint.
    seats
        Seats of each group, shape (G,); one seat or more in all.
    at_least
        Minimum share of unsafe votes for an unsafe verdict.

    Returns
    -------
    numpy.ndarray
        Shares, shape (I,); NaN where a group has fewer raters than seats, so that there is no such jury.

    Examples
    --------
    Two women and one man of three women, of whom two call the item unsafe, and two men, of whom one does; and of one
    woman:

    >>> share_of_juries(np.array([[3, 1], [2, 2]]), np.array([[2, 1], [1, 1]]), [2, 1], at_least=0.5).round(3).tolist()
    [0.667, nan]
    """
    rows = np.concatenate([n_raters, n_unsafe]).T
    kinds, place = np.unique(rows, axis=0, return_inverse=True)
    shares = [_share(kind[: len(seats)], kind[len(seats) :], seats, at_least) for kind in kinds.tolist()]
    return np.array(shares, np.float64)[place.ravel()]


def _share(n_raters: Sequence[int], n_unsafe: Sequence[int], seats: Sequence[int], at_least: float) -> float:
    if any(n < s for n, s in zip(n_raters, seats, strict=True)):
        return float("nan")
    juries = np.array([1], np.object_)
    for n, k, s in zip(n_raters, n_unsafe, seats, strict=True):
        juries = np.convolve(juries, np.array([comb(k, v) * comb(n - k, s - v) for v in range(s + 1)], np.object_))
    n_seats = sum(seats)
    unsafe = sum(n for votes, n in enumerate(juries.tolist()) if votes >= (at_least - _ROUNDING) * n_seats)
    return float(unsafe / sum(juries.tolist()))
