"""Labels of items by enumeration of draws and explicit loops."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import exp, prod
from typing import NamedTuple

from scipy.special import digamma

Rating = tuple[int, int, int]
Table = list[list[float]]


class DrawDistribution(NamedTuple):
    """Expected values of `subsample_labels` for one item."""

    variance: list[Fraction]
    low: list[Fraction]
    high: list[Fraction]
    unique_mode: list[Fraction]
    tied_mode: Fraction
    same_modes: Fraction
    distance: Fraction


def winners(counts: Sequence[int]) -> set[int]:
    return {k for k, count in enumerate(counts) if count == max(counts)}


def enumerate_draws(counts: Sequence[int], n_drawn: int, confidence: Fraction) -> DrawDistribution:
    """Enumerate the equally likely sets of `n_drawn` raters of one item."""
    answers = [k for k, count in enumerate(counts) for _ in range(count)]
    draws = [[draw.count(k) for k in range(len(counts))] for draw in combinations(answers, n_drawn)]
    probability = Fraction(1, len(draws))
    full = [Fraction(count, len(answers)) for count in counts]
    shares = [[Fraction(count, n_drawn) for count in draw] for draw in draws]

    def quantile(k: int, tail: Fraction) -> Fraction:
        values = sorted(share[k] for share in shares)
        return next(value for i, value in enumerate(values) if (i + 1) * probability >= tail)

    return DrawDistribution(
        variance=[sum((probability * (s[k] - p) ** 2 for s in shares), Fraction(0)) for k, p in enumerate(full)],
        low=[quantile(k, (1 - confidence) / 2) for k in range(len(counts))],
        high=[quantile(k, (1 + confidence) / 2) for k in range(len(counts))],
        unique_mode=[probability * sum(winners(draw) == {k} for draw in draws) for k in range(len(counts))],
        tied_mode=probability * sum(len(winners(draw)) > 1 for draw in draws),
        same_modes=probability * sum(winners(draw) == winners(counts) for draw in draws),
        distance=sum((probability * abs(a - p) / 2 for s in shares for a, p in zip(s, full, strict=True)), Fraction(0)),
    )


def dawid_skene(ratings: Sequence[Rating], sizes: tuple[int, int, int], iterations: int) -> tuple[Table, list[Table]]:
    """Dawid and Skene (1979), equations 2.3 to 2.5: probabilities of each item, confusion matrix of each rater.

    Starts from the shares of the answers; ends after a last maximisation, as crowd-kit does.
    """
    n_items, n_raters, n_answers = sizes
    rows = [[answer for i, _, answer in ratings if i == item] for item in range(n_items)]
    truth: Table = [[row.count(k) / len(row) for k in range(n_answers)] for row in rows]
    confusion: list[Table] = []
    for step in range(iterations + 1):
        prior = [sum(item[t] for item in truth) / n_items for t in range(n_answers)]
        confusion = []
        for rater in range(n_raters):
            rater_answers = [(i, a) for i, r, a in ratings if r == rater]
            matrix = [
                [sum(truth[i][t] for i, a in rater_answers if a == k) for k in range(n_answers)]
                for t in range(n_answers)
            ]
            confusion.append([[max(x, 1e-10) / sum(max(y, 1e-10) for y in row) for x in row] for row in matrix])
        if step < iterations:
            for item in range(n_items):
                rater_answers = [(r, a) for i, r, a in ratings if i == item]
                joint = [prior[t] * prod(confusion[r][t][a] for r, a in rater_answers) for t in range(n_answers)]
                truth[item] = [x / sum(joint) for x in joint]
    return truth, confusion


def mace(ratings: Sequence[Rating], sizes: tuple[int, int, int], iterations: int) -> tuple[Table, list[float]]:
    """Hovy et al. (2013), variational: probabilities of each item, and how often each rater knows.

    Priors Beta(½, ½) on knowing and Dirichlet(10, …) on the habit, as crowd-kit has them; everybody starts alike.
    """
    n_items, n_raters, n_answers = sizes
    knows, habit = [0.5] * n_raters, [[1 / n_answers] * n_answers for _ in range(n_raters)]
    guesses = [0.5] * n_raters
    truth: Table = []
    for _ in range(iterations):
        truth = []
        for item in range(n_items):
            item_answers = [(r, a) for i, r, a in ratings if i == item]
            joint = [
                prod(guesses[r] * habit[r][a] + knows[r] * (a == t) for r, a in item_answers) for t in range(n_answers)
            ]
            truth.append([x / sum(joint) for x in joint])
        knew, guessed = [0.0] * n_raters, [[0.0] * n_answers for _ in range(n_raters)]
        for i, r, a in ratings:
            by_habit = guesses[r] * habit[r][a]
            knowing = truth[i][a] * knows[r] / (by_habit + knows[r])
            knew[r] += knowing
            guessed[r][a] += 1 - knowing
        for r in range(n_raters):
            total = exp(digamma(knew[r] + sum(guessed[r]) + 1))
            knows[r], guesses[r] = (exp(digamma(x + 0.5)) / total for x in (knew[r], sum(guessed[r])))
            total = exp(digamma(sum(guessed[r]) + 10 * n_answers))
            habit[r] = [exp(digamma(x + 10)) / total for x in guessed[r]]
    return truth, [knows[r] / (knows[r] + guesses[r]) for r in range(n_raters)]


def against_gold(answers: dict[str, list[str]], gold: dict[str, str], unsafe: set[str]) -> dict[tuple[str, str], int]:
    """Count the items by the labels of crowd and gold; a tie of a safe and an unsafe answer is separate."""
    n_pairs: dict[tuple[str, str], int] = {}
    for item, item_answers in answers.items():
        n_most = max(item_answers.count(answer) for answer in item_answers)
        top = {answer for answer in item_answers if item_answers.count(answer) == n_most}
        crowd = "unsafe" if top <= unsafe else "tied" if top & unsafe else "safe"
        pair = (crowd, "unsafe" if gold[item] in unsafe else "safe")
        n_pairs[pair] = n_pairs.get(pair, 0) + 1
    return n_pairs
