"""People to invite so that enough usable raters of each cell remain, by exact probabilities."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.exact import ln_choose, ln_factorials
from dissensus.stats.result import FloatArray

MOST_PEOPLE: Final = 200_000
"""Largest number of people that is searched."""
NEGLIGIBLE: Final = 1e-12


def binomial_at_least(n: int, p: float, k: int) -> float:
    """Return the probability of k or more of n, each with probability p.

    Examples
    --------
    >>> round(binomial_at_least(12, 0.9, 10), 4)
    0.8891
    """
    if k <= 0:
        return 1.0
    if k > n or p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    counts = np.arange(k, n + 1)
    logs = ln_choose(ln_factorials(n), n, counts) + counts * math.log(p) + (n - counts) * math.log1p(-p)
    return min(1.0, float(np.exp(logs).sum()))


def chance_of_enough(n_people: int, p_finish: float, n_seats: int, p_remain: float, n_needed: int) -> float:
    """Return the probability that enough of the people who begin finish, have a seat and remain.

    Each person finishes with probability `p_finish`; those who finish take the seats while there are some, and each of
    them remains with probability `p_remain`.

    Examples
    --------
    Two people for one seat, half of whom finish, and half of those remain:

    >>> chance_of_enough(2, 0.5, 1, 0.5, 1)
    0.375
    """
    if p_finish >= 1:
        return binomial_at_least(min(n_people, n_seats), p_remain, n_needed)
    total = binomial_at_least(n_people, p_finish, n_seats) * binomial_at_least(n_seats, p_remain, n_needed)
    for m in range(min(n_people, n_seats - 1), n_needed - 1, -1):
        ways = math.lgamma(n_people + 1) - math.lgamma(m + 1) - math.lgamma(n_people - m + 1)
        chance = math.exp(ways + m * math.log(p_finish) + (n_people - m) * math.log1p(-p_finish))
        if chance < NEGLIGIBLE and m < n_people * p_finish:
            break
        total += chance * binomial_at_least(m, p_remain, n_needed)
    return total


def people_for_cell(needed: int, p: float, confidence: float) -> int:
    """Return the smallest number of people of whom enough remain with the given confidence.

    The number of people until the last needed one is negative binomial.

    Examples
    --------
    Ten raters, if one in six is removed:

    >>> people_for_cell(10, 5 / 6, 0.9)
    14
    """
    return _smallest(lambda n: binomial_at_least(n, p, needed), confidence, needed)


def people_for_cells(needed: Sequence[int], p: Sequence[float], confidence: float) -> list[int]:
    """Return numbers of people for each cell so that all cells have enough with the given joint confidence.

    Cells are independent, and each has enough with the same confidence :math:`c^{1/C}`.

    Examples
    --------
    >>> people_for_cells([10, 10, 4], [5 / 6, 5 / 6, 1], 0.9)
    [15, 15, 4]
    """
    each = confidence ** (1 / max(1, len(needed)))
    return [people_for_cell(k, q, each) for k, q in zip(needed, p, strict=True)]


def open_call_confidence(n: int, shares: Sequence[float], needed: Sequence[int]) -> float:
    r"""Return the probability that n people from one pool fill all cells.

    Of n people, a share :math:`s_c` belongs to cell c and remains; all others count nowhere. Counts are multinomial,
    which are Poisson counts given their sum (Levin 1981),

    .. math:: \Pr(X_c \ge k_c \ \forall c) = \frac{\Pr(\sum_c Y_c + Y_0 = n, \ Y_c \ge k_c \ \forall c)}
              {\Pr(\operatorname{Poisson}(n) = n)}, \qquad Y_c \sim \operatorname{Poisson}(n s_c)

    by convolution; exact but for rounding.

    References
    ----------
    Levin, B. (1981). A representation for multinomial cumulative distribution functions. Annals of Statistics 9.

    Examples
    --------
    Two people of two equal cells are one of each in half of the cases:

    >>> round(open_call_confidence(2, [0.5, 0.5], [1, 1]), 6)
    0.5
    """
    if n < sum(needed) or any(k > 0 and s <= 0 for s, k in zip(shares, needed, strict=True)):
        return 0.0
    rest = max(0.0, 1 - sum(shares))
    start, total = 0, np.ones(1)
    for share, least in [*zip(shares, needed, strict=True), (rest, 0)]:
        first, chances = _poisson(n * share, least)
        start, total = start + first, np.convolve(total, chances)
    if not start <= n < start + len(total):
        return 0.0
    whole = math.exp(n * math.log(n) - n - math.lgamma(n + 1)) if n else 1.0
    return min(1.0, float(total[n - start]) / whole)


def people_for_open_call(shares: Sequence[float], needed: Sequence[int], confidence: float) -> int:
    """Return the smallest number of people from one pool with whom all cells are full with the given confidence."""
    least = max([sum(needed), 1, *(people_for_cell(k, s, confidence) for k, s in zip(needed, shares, strict=True))])
    return _smallest(lambda n: open_call_confidence(n, shares, needed), confidence, least)


def _poisson(rate: float, least: int) -> tuple[int, FloatArray]:
    """Return the first number and the probabilities from there, of numbers that are not negligible."""
    spread = 12 * math.sqrt(rate) + 30
    first, end = max(least, math.floor(rate - spread), 0), max(least, math.ceil(rate + spread))
    counts = np.arange(first, end + 1)
    if rate <= 0:
        return 0, np.ones(1) if least <= 0 else np.zeros(1)
    return first, np.exp(counts * math.log(rate) - rate - ln_factorials(end)[first:])


def _smallest(chance: Callable[[int], float], confidence: float, least: int) -> int:
    """Return the smallest number whose chance reaches the confidence; chance increases."""
    high = max(1, least)
    while chance(high) < confidence:
        if high >= MOST_PEOPLE:
            raise InvalidInput(
                f"Not even {MOST_PEOPLE:,} people are enough. A cell is too rare, or too few remain. Widen its group, "
                "or lower its number."
            )
        high = min(MOST_PEOPLE, 2 * high)
    low = high // 2 if high > max(1, least) else least - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= confidence else (middle, high)
    return high
