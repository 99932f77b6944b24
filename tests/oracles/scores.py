"""Scores against ratings, by loops over raters: losses, area under the curve, two-way clustered variance."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

Rating = tuple[int, int, float]  # Item, rater, 1 for unsafe


def by_item(ratings: Sequence[Rating]) -> Mapping[int, list[float]]:
    answers = defaultdict(list)
    for item, _, unsafe in ratings:
        answers[item].append(unsafe)
    return answers


def brier(ratings: Sequence[Rating], score: Sequence[float]) -> float:
    items = by_item(ratings)
    return sum(sum((score[i] - y) ** 2 for y in ys) / len(ys) for i, ys in items.items()) / len(items)


def squared_distance(ratings: Sequence[Rating], score: Sequence[float]) -> float:
    """Mean over items of the mean product of errors over ordered pairs of raters."""
    items = {i: ys for i, ys in by_item(ratings).items() if len(ys) > 1}
    of_item = [
        sum((score[i] - a) * (score[i] - b) for a, b in permutations(ys, 2)) / (len(ys) * (len(ys) - 1))
        for i, ys in items.items()
    ]
    return sum(of_item) / len(of_item)


def disagreement(ratings: Sequence[Rating]) -> float:
    items = [ys for ys in by_item(ratings).values() if len(ys) > 1]
    shares = [sum(a != b for a, b in combinations(ys, 2)) / (len(ys) * (len(ys) - 1) / 2) for ys in items]
    return sum(shares) / len(shares) / 2


def rest_brier(ratings: Sequence[Rating]) -> float:
    items = [ys for ys in by_item(ratings).values() if len(ys) > 1]
    total = 0.0
    for ys in items:
        total += sum(((sum(ys) - y) / (len(ys) - 1) - y) ** 2 for y in ys) / len(ys)
    return total / len(items)


def auc(ratings: Sequence[Rating], score: Sequence[float]) -> float:
    """Weighted share of pairs of ratings of two items, one unsafe and one safe, that the score orders."""
    size = {item: len(ys) for item, ys in by_item(ratings).items()}
    won = total = 0.0
    for i, _, y in ratings:
        for j, _, z in ratings:
            if i != j and y == 1 and z == 0:
                weight = 1 / size[i] / size[j]
                total += weight
                won += weight * ((score[i] > score[j]) + (score[i] == score[j]) / 2)
    return won / total


def rest_auc(ratings: Sequence[Rating]) -> float:
    """Area of the share of the item's other ratings, over pairs of ratings of two items."""
    items = {item: ys for item, ys in by_item(ratings).items() if len(ys) > 1}
    cases = [(i, y, (sum(ys) - y) / (len(ys) - 1), 1 / len(ys)) for i, ys in items.items() for y in ys]
    won = total = 0.0
    for i, y, score, weight in cases:
        for j, z, other, weight_of_other in cases:
            if i != j and y == 1 and z == 0:
                total += weight * weight_of_other
                won += weight * weight_of_other * ((score > other) + (score == other) / 2)
    return won / total


def jackknife_auc(ratings: Sequence[Rating], score: Sequence[float]) -> float:
    """Variance over items of the area, by leaving out each item."""
    items = sorted(by_item(ratings))
    values = [auc([rating for rating in ratings if rating[0] != left], score) for left in items]
    mean = sum(values) / len(values)
    return (len(items) - 1) / len(items) * sum((value - mean) ** 2 for value in values)
