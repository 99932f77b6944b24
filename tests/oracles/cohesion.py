"""Cohesion of one group, item by item."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import fsum, log

from tests.oracles.agreement import Counts, ratings


def _mean(terms: Sequence[float]) -> float:
    return fsum(terms) / len(terms)


def entropy(item: Sequence[int]) -> float:
    """Plug-in entropy of the answers to one item, in nats."""
    total = sum(item)
    return -fsum(count / total * log(count / total) for count in item if count > 0)


def negentropy(counts: Counts) -> float:
    """Mean over rated items of ln K - H."""
    return _mean([log(len(item)) - entropy(item) for item in counts if sum(item) > 0])


def miller_madow(counts: Counts) -> float:
    """Negentropy with Miller's (1955) correction: H + (categories seen - 1) / (2 ratings)."""
    terms = []
    for item in counts:
        if sum(item) > 0:
            n_observed = sum(count > 0 for count in item)
            terms.append(log(len(item)) - entropy(item) - (n_observed - 1) / (2 * sum(item)))
    return _mean(terms)


def rarefied(counts: Counts, size: int) -> float:
    """Mean negentropy over every set of `size` raters of each item with enough raters."""
    terms = []
    for item in counts:
        if sum(item) >= size:
            subsets = [[subset.count(k) for k in range(len(item))] for subset in combinations(ratings(item), size)]
            terms.append(_mean([log(len(item)) - entropy(subset) for subset in subsets]))
    return _mean(terms)


def plurality_size(counts: Counts) -> Fraction:
    """Mean over rated items of the share of the most frequent answer."""
    shares = [Fraction(max(item), sum(item)) for item in counts if sum(item) > 0]
    return sum(shares, Fraction(0)) / len(shares)
