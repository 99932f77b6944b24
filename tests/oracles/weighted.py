"""The statistics of resampled ratings, by enumerating weighted pairs of ratings of distinct raters.

A rating is (item, rater, answer); raters and items have whole weights, the numbers of times they were drawn.
Where a statistic is undefined these functions raise ZeroDivisionError.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import fsum, log
from typing import NamedTuple


class Rated(NamedTuple):
    """One item: its weight, and rater, weight and answer of each of its ratings."""

    weight: int
    ratings: list[tuple[int, int, int]]

    @property
    def total(self) -> int:
        return sum(weight for _, weight, _ in self.ratings)

    def share(self, answer: int) -> Fraction:
        return Fraction(sum(weight for _, weight, given in self.ratings if given == answer), self.total)


class Sample(NamedTuple):
    """Ratings as codes, the group of each rater (negative for none), and the weights."""

    ratings: Sequence[tuple[int, int, int]]
    group: Sequence[int]
    rater_weight: Sequence[int]
    item_weight: Sequence[int]
    n_categories: int

    def rated_by(self, belongs: Callable[[int], bool]) -> list[Rated]:
        """Return the drawn ratings of each item by raters of the matching groups."""
        return [
            Rated(
                weight,
                [
                    (rater, self.rater_weight[rater], answer)
                    for i, rater, answer in self.ratings
                    if i == item and self.rater_weight[rater] > 0 and belongs(self.group[rater])
                ],
            )
            for item, weight in enumerate(self.item_weight)
        ]


def alpha(items: Sequence[Rated]) -> Fraction:
    """Krippendorff's alpha of ordered pairs of ratings by distinct raters, each pair with the product of weights."""
    observed, pooled = Fraction(0), []
    for number, item in enumerate(items):
        pairs = [(w * v, a != b) for one, w, a in item.ratings for other, v, b in item.ratings if one != other]
        weight = sum(product for product, _ in pairs)
        if weight == 0:
            continue
        observed += item.weight * item.total * Fraction(sum(product for product, differ in pairs if differ), weight)
        pooled += [((number, rater), w * item.weight, answer) for rater, w, answer in item.ratings]
    expected = [
        (w * v, a != b) for one, w, a in pooled for other, v, b in pooled if one != other
    ]  # a rating is not paired with its copies
    disagreeing = Fraction(
        sum(product for product, differ in expected if differ), sum(product for product, _ in expected)
    )
    return 1 - observed / sum(weight for _, weight, _ in pooled) / disagreeing


def negentropy(items: Sequence[Rated], n_categories: int) -> float:
    rated = [item for item in items if item.ratings]
    terms = []
    for item in rated:
        shares = [float(item.share(k)) for k in range(n_categories)]
        terms.append(item.weight * (log(n_categories) + fsum(p * log(p) for p in shares if p > 0)))
    return fsum(terms) / sum(item.weight for item in rated)


def plurality_size(items: Sequence[Rated], n_categories: int) -> Fraction:
    rated = [item for item in items if item.ratings]
    largest = [item.weight * max(item.share(k) for k in range(n_categories)) for item in rated]
    return sum(largest, Fraction(0)) / sum(item.weight for item in rated)


def shared(inside: Sequence[Rated], outside: Sequence[Rated]) -> list[tuple[Rated, Rated]]:
    return [(x, y) for x, y in zip(inside, outside, strict=True) if x.ratings and y.ratings]


def xrr(inside: Sequence[Rated], outside: Sequence[Rated]) -> Fraction:
    items = shared(inside, outside)
    observed = Fraction(0)
    for x, y in items:
        differing = sum(w * v for _, w, a in x.ratings for _, v, b in y.ratings if a != b)
        observed += x.weight * Fraction(x.total + y.total, x.total * y.total) * differing
    n_x, n_y = sum(x.weight * x.total for x, _ in items), sum(y.weight * y.total for _, y in items)
    expected = sum(
        x.weight * y.weight * w * v
        for x, _ in items
        for _, y in items
        for _, w, a in x.ratings
        for _, v, b in y.ratings
        if a != b
    )
    return 1 - observed / (n_x + n_y) / Fraction(expected, n_x * n_y)


def cross_negentropy(inside: Sequence[Rated], outside: Sequence[Rated], n_categories: int) -> float:
    terms = []
    items = shared(inside, outside)
    for x, y in items:
        logs = [float(x.share(k)) * log(y.share(k)) for k in range(n_categories) if y.share(k) > 0]
        terms.append(x.weight * (log(n_categories) + fsum(logs)))
    return fsum(terms) / sum(x.weight for x, _ in items)


def voting_agreement(inside: Sequence[Rated], outside: Sequence[Rated], n_categories: int) -> Fraction:
    """Alpha of two voters who rate each shared item once, a tie going to the first answer."""

    def vote(item: Rated) -> int:
        return max(range(n_categories), key=item.share)  # the first of the largest

    return alpha([Rated(x.weight, [(0, 1, vote(x)), (1, 1, vote(y))]) for x, y in shared(inside, outside)])


def statistics(sample: Sample, inside: int, outside: int) -> Mapping[str, float | None]:
    """All statistics of a group against another, or for a negative `outside` against everybody else in a group."""
    inside_sample = sample.rated_by(lambda g: g == inside)
    outside_sample = sample.rated_by(lambda g: g == outside if outside >= 0 else g >= 0 and g != inside)
    k = sample.n_categories

    def gai() -> Fraction:
        across = xrr(inside_sample, outside_sample)
        return alpha(inside_sample) / (across if across > 0 else 0)

    return {
        "irr": _attempt(lambda: alpha(inside_sample)),
        "xrr": _attempt(lambda: xrr(inside_sample, outside_sample)),
        "negentropy": _attempt(lambda: negentropy(inside_sample, k)),
        "cross_negentropy": _attempt(lambda: cross_negentropy(inside_sample, outside_sample, k)),
        "plurality_size": _attempt(lambda: plurality_size(inside_sample, k)),
        "voting_agreement": _attempt(lambda: voting_agreement(inside_sample, outside_sample, k)),
        "gai": _attempt(gai),
    }


def _attempt(statistic: Callable[[], Fraction | float]) -> float | None:
    try:
        return float(statistic())
    except ZeroDivisionError:
        return None
