"""Statistics of groups by pairs of ratings, one at a time."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from tests.oracles.agreement import Counts

Rating = tuple[int, int, int]
"""Item, rater and answer; a rater may occur several times with one item, as copies of a resampled rater."""


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def expand(counts: Counts) -> list[list[int]]:
    """Return the answers to each item, one for each rater."""
    return [[k for k, n in enumerate(item) for _ in range(n)] for item in counts]


def within(answers: Sequence[int]) -> Fraction:
    """Share of the pairs of raters of an item who agree."""
    pairs = list(combinations(answers, 2))
    return Fraction(sum(a == b for a, b in pairs), len(pairs))


def across(x: Sequence[int], y: Sequence[int]) -> Fraction:
    """Share of the pairs of raters, one of each group, who agree."""
    return Fraction(sum(a == b for a in x for b in y), len(x) * len(y))


def pairwise_agreement(counts: Counts) -> Fraction:
    """Mean over items with two raters of the share of pairs that agree."""
    return _mean([within(item) for item in expand(counts) if len(item) > 1])


def group_distance(counts_x: Counts, counts_y: Counts) -> Fraction:
    """Mean over items with two raters of each group of agreement within less agreement across."""
    items = [(x, y) for x, y in zip(expand(counts_x), expand(counts_y), strict=True) if min(len(x), len(y)) > 1]
    return _mean([(within(x) + within(y)) / 2 - across(x, y) for x, y in items])


def between_share(counts: Sequence[Counts]) -> Fraction:
    """Mean distance over pairs of groups, over their mean disagreement; both over items with two raters of each."""
    distances, disagreements = [], []
    for x, y in combinations(counts, 2):
        items = [(a, b) for a, b in zip(expand(x), expand(y), strict=True) if min(len(a), len(b)) > 1]
        if items:
            distances.append(group_distance(x, y))
            disagreements.append(1 - _mean([across(a, b) for a, b in items]))
    return _mean(distances) / _mean(disagreements)


def distinct_alpha(ratings: Sequence[Rating]) -> Fraction:
    """One less the disagreement on an item over that of any two ratings, both of distinct raters."""
    items = {item: [(r, k) for i, r, k in ratings if i == item] for item, _, _ in ratings}
    pairable = {item for item, answers in items.items() if len({r for r, _ in answers}) > 1}
    n = sum(len(items[item]) for item in pairable)
    observed = Fraction(0)
    for item in pairable:
        pairs = [(a, b) for (r, a), (s, b) in combinations(items[item], 2) if r != s]
        observed += Fraction(len(items[item]) * sum(a != b for a, b in pairs), len(pairs))
    chance = [(a, b) for (i, r, a), (j, s, b) in combinations(ratings, 2) if r != s and i in pairable and j in pairable]
    return 1 - observed / n / Fraction(sum(a != b for a, b in chance), len(chance))
