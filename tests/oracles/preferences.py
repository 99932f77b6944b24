"""Preference models as their formulas read: dense arrays, a loop over pairs, and a general optimiser."""

import math

import numpy as np
from scipy.optimize import minimize


def cross_entropy(odds: float, share: float) -> float:
    """Return what it costs to foretell a share of people by log odds."""
    p = 1 / (1 + math.exp(-odds))
    return -share * math.log(p) - (1 - share) * math.log(1 - p)


def mean_variance_loss(
    at: np.ndarray, answers: np.ndarray, choices: tuple[np.ndarray, ...], penalties: tuple[float, float]
) -> float:
    """Return the loss of two heads; answers has two rows a pair, with features of the mean and then of the spread."""
    beta, gamma = np.split(at, 2)
    mean, spread = answers[:, : len(beta)] @ beta, np.exp(answers[:, len(beta) :] @ gamma)
    total = penalties[0] / 2 * float(beta @ beta) + penalties[1] / 2 * float(gamma @ gamma)
    for pair, (weight, share, margin) in enumerate(zip(*choices, strict=True)):
        a, b = 2 * pair, 2 * pair + 1
        odds = math.sqrt(2) * (mean[a] - mean[b] - margin) / math.sqrt(spread[a] ** 2 + spread[b] ** 2)
        total += weight * cross_entropy(odds, share)
    return total


def mean_variance(
    answers: np.ndarray, choices: tuple[np.ndarray, ...], penalties: tuple[float, float], start: np.ndarray
) -> np.ndarray:
    """Return the weights of both heads that are found from a start."""
    found = minimize(mean_variance_loss, start, (answers, choices, penalties), tol=1e-9)
    return np.asarray(found.x)


def group_effects(
    pairs: np.ndarray, groups: list[str | None], weight: np.ndarray, penalty: float, multiple: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the weights of all and what each group adds to them, which is 0 on average over what was chosen."""
    names = sorted({group for group in groups if group is not None})
    width = pairs.shape[1]

    def unpacked(at: np.ndarray) -> tuple[np.ndarray, dict[str | None, np.ndarray]]:
        every, *others = np.split(at, 1 + len(names))
        return every, {**dict(zip(names, others, strict=True)), None: np.zeros(width)}

    def loss(at: np.ndarray) -> float:
        every, added = unpacked(at)
        total = penalty / 2 * float(every @ every)
        total += penalty * multiple / 2 * sum(float(added[name] @ added[name]) for name in names)
        for row, group, count in zip(pairs, groups, weight, strict=True):
            total += count * cross_entropy(float(row @ (every + added[group])), 1.0)
        return total

    every, added = unpacked(np.asarray(minimize(loss, np.zeros(width * (1 + len(names))), tol=1e-9).x))
    known = [(count, added[group]) for group, count in zip(groups, weight, strict=True) if group is not None]
    mean = sum(count * effect for count, effect in known) / sum(count for count, _ in known)
    return every + mean, {name: added[name] - mean for name in names}


Vote = tuple[str, bool, float]
"""A comparison, whether its first answer was chosen, and the log odds that a model gives that answer."""


def soft_label_scores(votes: list[Vote]) -> tuple[float, float, float]:
    """Return distance, cross-entropy and error rate over comparisons, each of several votes."""
    found = []
    for one in sorted({vote[0] for vote in votes}):
        of = [(first, odds) for comparison, first, odds in votes if comparison == one]
        target = [sum(first for first, _ in of) / len(of), sum(not first for first, _ in of) / len(of)]
        said = [sum(1 / (1 + math.exp(-odds * sign)) for _, odds in of) / len(of) for sign in (1, -1)]
        distance = sum(abs(p - t) for p, t in zip(said, target, strict=True))
        cross = -sum(t * math.log(p) for p, t in zip(said, target, strict=True))
        wrong = sum((odds > 0) != first if odds else 0.5 for first, odds in of) / len(of)
        found.append((distance, cross, wrong))
    distances, crosses, errors = zip(*found, strict=True)
    return tuple(sum(values) / len(found) for values in (distances, crosses, errors))
