"""Tables of groups × two outcomes, enumerated in exact fractions."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb, prod


def freeman_halton(table: Sequence[Sequence[int]]) -> Fraction:
    """Return the probability of all tables with these margins that are at most as likely as this one."""
    sizes = [sum(row) for row in table]
    observed = [row[0] for row in table]
    observed_weight = weight(sizes, observed)
    extreme = sum(w for x in enumerate_splits(sizes, sum(observed)) if (w := weight(sizes, x)) <= observed_weight)
    return Fraction(extreme, comb(sum(sizes), sum(observed)))


def enumerate_splits(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Enumerate the ways to choose a number of raters from groups of given sizes."""
    return (x for x in product(*(range(n + 1) for n in sizes)) if sum(x) == total)


def weight(sizes: Sequence[int], x: Sequence[int]) -> int:
    return prod(comb(n, k) for n, k in zip(sizes, x, strict=True))


def first_cells(table: Sequence[Sequence[int]], psi: Fraction) -> dict[int, Fraction]:
    """Fisher's noncentral hypergeometric distribution of the first cell of a 2 × 2 table."""
    (a, b), (c, d) = table
    cells = range(max(0, a - d), min(a + b, a + c) + 1)
    weights = {x: comb(a + b, x) * comb(c + d, a + c - x) * psi**x for x in cells}
    return {x: Fraction(w, 1) / sum(weights.values()) for x, w in weights.items()}
