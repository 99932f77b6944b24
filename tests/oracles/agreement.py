"""Agreement inside one group, by enumerating every pair of ratings with exact fractions.

A table of counts is a list of items, each a list of how many raters gave each category.
Where a statistic is undefined these functions raise ZeroDivisionError.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

Counts: TypeAlias = Sequence[Sequence[int]]
Distance: TypeAlias = Callable[[int, int], Fraction]


class Coefficient(NamedTuple):
    """A chance-corrected coefficient and its two parts."""

    value: Fraction
    observed: Fraction
    expected: Fraction


def ratings(item: Sequence[int]) -> list[int]:
    """[2, 0, 1] -> [0, 0, 2]: one entry per rating."""
    return [category for category, count in enumerate(item) for _ in range(count)]


def pairable(counts: Counts) -> list[list[int]]:
    """The ratings of each item that has two or more."""
    return [ratings(item) for item in counts if sum(item) >= 2]


def nominal(a: int, b: int) -> Fraction:
    return Fraction(a != b)


def interval(values: Sequence[Fraction | int]) -> Distance:
    return lambda a, b: Fraction(values[a] - values[b]) ** 2


def ratio(values: Sequence[Fraction | int]) -> Distance:
    def distance(a: int, b: int) -> Fraction:
        if values[a] == values[b]:
            return Fraction(0)  # also 0 against 0, where the quotient is 0/0
        return (Fraction(values[a] - values[b]) / Fraction(values[a] + values[b])) ** 2

    return distance


def ordinal(counts: Counts) -> Distance:
    """(sum of n_g for g from c to k, less half of n_c and n_k) squared; n over pairable ratings."""
    pooled = [rating for item in pairable(counts) for rating in item]

    def distance(a: int, b: int) -> Fraction:
        between = sum(pooled.count(g) for g in range(min(a, b), max(a, b) + 1))
        return (between - Fraction(pooled.count(a) + pooled.count(b), 2)) ** 2

    return distance


def alpha(counts: Counts, distance: Distance = nominal) -> Coefficient:
    """Krippendorff (2011): 1 - D_o/D_e, each a mean over ordered pairs of different ratings."""
    items = pairable(counts)
    pooled = [rating for item in items for rating in item]
    n = len(pooled)
    observed = Fraction(0)
    for item in items:
        for r, a in enumerate(item):
            for s, b in enumerate(item):
                if r != s:
                    observed += distance(a, b) / (len(item) - 1)
    expected = Fraction(0)
    for r, a in enumerate(pooled):
        for s, b in enumerate(pooled):
            if r != s:
                expected += distance(a, b)
    observed /= n
    expected /= n * (n - 1)
    return Coefficient(1 - observed / expected, observed, expected)


def observed_agreement(counts: Counts) -> Fraction:
    """Mean over pairable items of the share of ordered pairs of raters who agree."""
    shares = []
    for item in pairable(counts):
        pairs = [(a, b) for r, a in enumerate(item) for s, b in enumerate(item) if r != s]
        shares.append(Fraction(sum(a == b for a, b in pairs), len(pairs)))
    return sum(shares, Fraction(0)) / len(shares)


def fleiss(counts: Counts) -> Coefficient:
    """Fleiss (1971): every item has the same number of raters."""
    total = sum(sum(item) for item in counts)
    shares = [Fraction(sum(item[k] for item in counts), total) for k in range(len(counts[0]))]
    observed = observed_agreement(counts)
    expected = sum((share**2 for share in shares), Fraction(0))
    return Coefficient((observed - expected) / (1 - expected), observed, expected)


def ac1(counts: Counts) -> Coefficient:
    """Gwet (2008). Agreement over items with two ratings or more; shares over items with at least one."""
    rated = [item for item in counts if sum(item) > 0]
    n_categories = len(counts[0])
    expected = Fraction(0)
    for k in range(n_categories):
        share = sum((Fraction(item[k], sum(item)) for item in rated), Fraction(0)) / len(rated)
        expected += share * (1 - share) / (n_categories - 1)
    observed = observed_agreement(counts)
    return Coefficient((observed - expected) / (1 - expected), observed, expected)
