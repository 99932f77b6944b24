"""Statistics of groups by pairs of ratings, one at a time, and their errors by scores of raters."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import fmean

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


Side = list[tuple[int, int]]
"""Rater and answer of each rating of an item by a group."""
Likeness = Sequence[Sequence[float]]
Scores = Mapping[int, float]


def split_items(
    ratings: Sequence[Rating], group: Sequence[int], g: int, h: int, *, least: int = 1
) -> list[tuple[Side, Side]]:
    """Return both sides of each item with `least` ratings by each; all other groups are the second if h is negative."""
    items: dict[int, tuple[Side, Side]] = defaultdict(lambda: ([], []))
    for item, rater, answer in ratings:
        if group[rater] == g:
            items[item][0].append((rater, answer))
        elif group[rater] >= 0 and (h < 0 or group[rater] == h):
            items[item][1].append((rater, answer))
    return [sides for sides in items.values() if min(map(len, sides)) >= least]


def alike_within(side: Side, likeness: Likeness) -> float:
    """Mean likeness of the answers of two raters of a side."""
    return fmean(likeness[a][b] for (_, a), (_, b) in combinations(side, 2))


def alike_with(rater: int, answer: int, side: Side, likeness: Likeness) -> float:
    """Mean likeness of an answer to those of the other raters of a side."""
    return fmean(likeness[answer][k] for r, k in side if r != rater)


def studentise(total: float, scores: Scores, weights: Sequence[float]) -> float:
    """Return a total over the root of the sum of squared scores of raters, with the weight of each rater."""
    squares = sum(weights[rater] * score**2 for rater, score in scores.items())
    return (0.0 if abs(total) < 1e-9 else total) / math.sqrt(max(squares, 1e-12))


def weigh_raters(group: Sequence[int], g: int, h: int) -> list[float]:
    """Return n / (n - 1) for each rater of a side of n raters."""
    sides = [0 if q == g else 1 if q >= 0 and (h < 0 or q == h) else -1 for q in group]
    return [sides.count(side) / max(sides.count(side) - 1, 1) for side in sides]


def difference_t(items: Sequence[Sequence[Sequence[tuple[int, float]]]], weights: Sequence[float]) -> float:
    """Coefficient of the group over its clustered error, in a regression with an intercept for each item.

    The items have the raters and values of each side.
    """
    rows = []
    for sides in items:
        everybody = [(s, rater, value) for s, side in enumerate(sides) for rater, value in side]
        share, mean = len(sides[0]) / len(everybody), fmean(value for _, _, value in everybody)
        rows += [(rater, (1 - s) - share, value - mean) for s, rater, value in everybody]
    if not rows:
        return float("nan")
    total = sum(x * y for _, x, y in rows)
    coefficient, scores = total / sum(x * x for _, x, _ in rows), defaultdict[int, float](float)
    for rater, x, y in rows:
        scores[rater] += x * (y - coefficient * x)
    return studentise(total, scores, weights)


def agreement_t(items: Sequence[tuple[Side, Side]], likeness: Likeness, weights: Sequence[float]) -> float:
    """Difference of the agreements within both sides over its clustered error."""
    if not items:
        return float("nan")
    of_all = [alike_within(x + y, likeness) for x, y in items]
    within = [[alike_within(side, likeness) for side in sides] for sides in items]
    excess = [fmean(own[s] - both for own, both in zip(within, of_all, strict=True)) for s in (0, 1)]
    scores = defaultdict[int, float](float)
    for sides, both in zip(items, of_all, strict=True):
        for s, side in enumerate(sides):
            for rater, answer in side:
                scores[rater] += 2 / len(side) * (alike_with(rater, answer, side, likeness) - both - excess[s])
    return studentise(sum(x - y for x, y in within), scores, weights)


def measure_distance(items: Sequence[tuple[Side, Side]], likeness: Likeness) -> tuple[float, Scores]:
    """Sum over items of the distance of both sides, and the scores of raters."""
    total, scores = 0.0, defaultdict[int, float](float)
    for x, y in items:
        total += (alike_within(x, likeness) + alike_within(y, likeness)) / 2
        total -= fmean(likeness[a][b] for _, a in x for _, b in y)
        for own, other in ((x, y), (y, x)):
            for rater, answer in own:
                nearer = alike_with(rater, answer, own, likeness) - alike_with(rater, answer, other, likeness)
                scores[rater] += nearer / len(own)
    return total, scores


def distance_t(items: Sequence[tuple[Side, Side]], likeness: Likeness) -> float:
    """Distance of both sides over its clustered error."""
    total, scores = measure_distance(items, likeness)
    return studentise(total, scores, [1.0] * (max(scores) + 1)) if items else float("nan")


def between_t(ratings: Sequence[Rating], group: Sequence[int], likeness: Likeness) -> float:
    """Sum of the mean distances of all pairs of groups over its clustered error."""
    total, disagreement, scores = 0.0, 0.0, defaultdict[int, float](float)
    for g, h in combinations(range(max(group) + 1), 2):
        if items := split_items(ratings, group, g, h, least=2):
            distance, by_rater = measure_distance(items, likeness)
            total += distance / len(items)
            disagreement += fmean(1 - fmean(likeness[a][b] for _, a in x for _, b in y) for x, y in items)
            for rater, score in by_rater.items():
                scores[rater] += score / len(items)
    return studentise(total, scores, [1.0] * len(group)) if disagreement > 1e-12 else float("nan")


def ridits(sides: tuple[Side, Side]) -> list[list[tuple[int, float]]]:
    """Return raters and ridits of their answers: shares of both sides with a lower answer, and half of the same one."""
    pool = [k for side in sides for _, k in side]
    below = {k: sum((b < k) + (b == k) / 2 for b in pool) / len(pool) for k in pool}
    return [[(rater, below[k]) for rater, k in side] for side in sides]
