"""Two groups that rated the same items: every rating of one against every rating of the other."""

from contextlib import suppress
from fractions import Fraction
from math import fsum, log

from tests.oracles.agreement import Coefficient, Counts, Distance, alpha, nominal, ratings


def shared(counts_x: Counts, counts_y: Counts) -> list[tuple[list[int], list[int]]]:
    """The counts of both groups for each item that both have rated."""
    return [(list(x), list(y)) for x, y in zip(counts_x, counts_y, strict=True) if sum(x) > 0 and sum(y) > 0]


def xrr(counts_x: Counts, counts_y: Counts, distance: Distance = nominal) -> Coefficient:
    """Wong, Paritosh and Aroyo (2021), equations 9 and 10."""
    items = [(ratings(x), ratings(y)) for x, y in shared(counts_x, counts_y)]
    n_x = sum(len(x) for x, _ in items)
    n_y = sum(len(y) for _, y in items)
    observed = Fraction(0)
    for x, y in items:
        weight = Fraction(len(x) + len(y), len(x) * len(y))
        for a in x:
            for b in y:
                observed += weight * distance(a, b)
    expected = Fraction(0)
    for x, _ in items:
        for _, y in items:
            for a in x:
                for b in y:
                    expected += distance(a, b)
    observed /= n_x + n_y
    expected /= n_x * n_y
    return Coefficient(1 - observed / expected, observed, expected)


def normalised_xrr_squared(counts_x: Counts, counts_y: Counts) -> tuple[Fraction, Fraction]:
    """Equation 13 without its square root: kappa_x, and the product of the two alphas under the root."""
    product = alpha(counts_x).value * alpha(counts_y).value
    return xrr(counts_x, counts_y).value, product


def cross_negentropy(counts_x: Counts, counts_y: Counts, smoothing: float = 0.0) -> float:
    """Mean over shared items of ln K + sum of p ln q; without smoothing, terms with q = 0 are left out."""
    terms = []
    for x, y in shared(counts_x, counts_y):
        term = log(len(x))
        for n_x, n_y in zip(x, y, strict=True):
            q = (n_y + smoothing) / (sum(y) + len(y) * smoothing)
            if n_x > 0 and q > 0:
                term += n_x / sum(x) * log(q)
        terms.append(term)
    return fsum(terms) / len(terms)


def voting_agreement(counts_x: Counts, counts_y: Counts) -> Coefficient:
    """Nominal alpha of two voters, each giving its group's most frequent answer (ties: the first)."""
    ballots = []
    for x, y in shared(counts_x, counts_y):
        ballot = [0] * len(x)
        ballot[x.index(max(x))] += 1
        ballot[y.index(max(y))] += 1
        ballots.append(ballot)
    return alpha(ballots)


def gai(counts_x: Counts, counts_y: Counts) -> Fraction:
    """Group association index (Prabhakaran et al. 2024): agreement inside over agreement across.

    It is undefined where agreement across is zero or negative.
    """
    across = xrr(counts_x, counts_y).value
    if across <= 0:
        raise ZeroDivisionError
    return alpha(counts_x).value / across


def dsi(counts_by_group: list[Counts]) -> Fraction:
    """The largest defined GAI of a group against the sum of all the others."""
    indices = []
    for g, inside in enumerate(counts_by_group):
        other_counts = [counts for h, counts in enumerate(counts_by_group) if h != g]
        outside = [
            [sum(counts[i][k] for counts in other_counts) for k in range(len(item))] for i, item in enumerate(inside)
        ]
        with suppress(ZeroDivisionError):
            indices.append(gai(inside, outside))
    if not indices:
        raise ZeroDivisionError
    return max(indices)
