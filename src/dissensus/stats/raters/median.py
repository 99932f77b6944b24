"""Exact median of numbers that do not fit in memory together."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dissensus.stats.result import FloatArray

_WIDTH: Final = 16
"""Bits of a number that one pass counts."""

Parts = Sequence[Callable[[], FloatArray]]


def find_median(parts: Parts) -> float:
    """Return the median of numbers of 0 or more by a few passes over their parts.

    Parameters
    ----------
    parts
        Functions that return some of the numbers each, the same at each call.

    Returns
    -------
    float
        The mean of the two middle numbers if their number is even; NaN without numbers.

    Examples
    --------
    >>> find_median([lambda: np.array([7.0, 1.0]), lambda: np.array([2.0, 5.0])])
    3.5
    """
    n = sum(part().size for part in parts)
    if not n:
        return float("nan")
    low = _select(parts, (n - 1) // 2)
    return low if n % 2 else (low + _find_next(parts, low, n // 2)) / 2


def _select(parts: Parts, rank: int) -> float:
    """Return the number with this many smaller ones before it, by counts of its leading bits, then of the next ones."""
    prefix = 0
    for shift in range(64 - _WIDTH, -1, -_WIDTH):
        counts = np.zeros(1 << _WIDTH, np.int64)
        for part in parts:
            words = (part() + 0.0).view(np.uint64) >> np.uint64(shift)  # In the order of the numbers, without -0.0
            codes = words[words >> np.uint64(_WIDTH) == prefix] & np.uint64((1 << _WIDTH) - 1)
            counts += np.bincount(codes.astype(np.int64), minlength=1 << _WIDTH)
        ends = np.cumsum(counts)
        code = int(np.searchsorted(ends, rank, side="right"))
        rank -= int(ends[code] - counts[code])
        prefix = prefix << _WIDTH | code
    return float(np.array(prefix, np.uint64).view(np.float64))


def _find_next(parts: Parts, low: float, rank: int) -> float:
    """Return the number with this many before it, which is a given one or the next larger."""
    n_up_to, above = 0, np.inf
    for part in parts:
        values = part()
        n_up_to += int(np.count_nonzero(values <= low))
        above = min(above, float(values[values > low].min(initial=np.inf)))
    return low if n_up_to > rank else above
