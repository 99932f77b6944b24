"""Divergences of two distributions, term by term, and of every two groups, item by item."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import fsum, inf, log
from typing import TypeAlias

Distribution: TypeAlias = Sequence[float]


def smooth(p: Distribution, smoothing: float) -> list[float]:
    return [(share + smoothing / len(p)) / (1 + smoothing) for share in p]


def total_variation(p: Distribution, q: Distribution) -> float:
    """The largest difference of probability of any event: the sum of what p has more than q."""
    return fsum(a - b for a, b in zip(p, q, strict=True) if a > b)


def kullback_leibler(p: Distribution, q: Distribution) -> float:
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0:
            if b == 0:
                return inf
            total += a * log(a / b)
    return total


def cross_entropy(p: Distribution, q: Distribution) -> float:
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0:
            if b == 0:
                return inf
            total -= a * log(b)
    return total


def jensen_shannon(p: Distribution, q: Distribution) -> float:
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (kullback_leibler(p, middle) + kullback_leibler(q, middle)) / 2


def wasserstein(p: Distribution, q: Distribution, values: Sequence[float]) -> float:
    """Work to carry the mass of p to q along the line, from the smallest value up."""
    work = 0.0
    carried = 0.0
    for k in range(len(p) - 1):
        carried += p[k] - q[k]
        work += abs(carried) * (values[k + 1] - values[k])
    return work


def mean_pairwise(
    rated: Iterable[tuple[int, int, int]],
    group: Sequence[int],
    n_categories: int,
    distance: Callable[[Distribution, Distribution], float],
) -> list[tuple[float | None, int]]:
    """Mean distance of every two groups over the items that both rated, and the number of those items."""
    counts: dict[int, dict[int, list[int]]] = {g: {} for g in sorted(set(group)) if g >= 0}
    for item, rater, answer in rated:
        if group[rater] >= 0:
            counts[group[rater]].setdefault(item, [0] * n_categories)[answer] += 1
    shares = {g: {i: [n / sum(row) for n in row] for i, row in of.items()} for g, of in counts.items()}
    distances: list[tuple[float | None, int]] = []
    for first, second in combinations(shares.values(), 2):
        shared = sorted(first.keys() & second.keys())
        mean = fsum(distance(first[i], second[i]) for i in shared) / len(shared) if shared else None
        distances.append((mean, len(shared)))
    return distances
