"""Permutation p-values and their adjustment for many tests, by counting."""

from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean, median, pstdev


def two_sided_p(observed: float, replicates: Sequence[float]) -> Fraction:
    low = Fraction(1 + sum(s <= observed for s in replicates), len(replicates) + 1)
    high = Fraction(1 + sum(s >= observed for s in replicates), len(replicates) + 1)
    return min(Fraction(1), 2 * min(low, high))


def grasp_p(observed: float, replicates: Sequence[float]) -> Fraction:
    """Prabhakaran et al. (2024): only the side on which the observed value lies, ties not counted; 1 if all tie."""
    if all(s == observed for s in replicates):
        return Fraction(1)
    if observed < median(replicates):
        return Fraction(sum(s < observed for s in replicates), len(replicates))
    return Fraction(sum(s > observed for s in replicates), len(replicates))


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """The smallest false discovery rate at which each test is still rejected."""
    adjusted = []
    for p_value in p:
        rates = [len(p) * other / sum(each <= other for each in p) for other in p if other >= p_value]
        adjusted.append(min(1.0, *rates))
    return adjusted


def holm(p: Sequence[float]) -> list[float]:
    """The smallest level at which each test is rejected: tests in order of p, each with those not yet rejected."""
    adjusted = []
    for p_value in p:
        levels = [other * sum(each >= other for each in p) for other in p if other <= p_value]
        adjusted.append(min(1.0, max(levels)))
    return adjusted


def max_t(observed: Sequence[float], replicates: Sequence[Sequence[float]]) -> list[float]:
    """Westfall and Young (1993), step-down: each test against the maximum over itself and all weaker ones."""
    columns = list(zip(*replicates, strict=True))
    centres = [fmean(column) for column in columns]
    spreads = [pstdev(column) for column in columns]

    def statistic(row: Sequence[float], m: int) -> float:
        return float(abs(row[m] - centres[m]) / spreads[m])

    order = sorted(range(len(observed)), key=lambda m: -statistic(observed, m))
    adjusted = [0.0] * len(observed)
    previous = 0.0
    for step, m in enumerate(order):
        rivals = order[step:]
        exceeding = sum(max(statistic(row, rival) for rival in rivals) >= statistic(observed, m) for row in replicates)
        previous = max(previous, (1 + exceeding) / (len(replicates) + 1))
        adjusted[m] = previous
    return adjusted
