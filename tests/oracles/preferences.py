"""Preference models by their formulas: dense arrays, a loop over pairs, and a general optimiser."""

import math

import numpy as np
from scipy.optimize import minimize


def cross_entropy(odds: float, share: float) -> float:
    """Return the cross-entropy of predicting a share of people by log odds."""
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
    """Return the weights of both heads that minimise the loss from a start."""
    fit = minimize(mean_variance_loss, start, (answers, choices, penalties), tol=1e-9)
    return np.asarray(fit.x)


def group_effects(
    pairs: np.ndarray, groups: list[str | None], weight: np.ndarray, penalty: float, multiple: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the shared weights and the effect of each group, which is 0 on average over choices."""
    names = sorted({group for group in groups if group is not None})
    width = pairs.shape[1]

    def unpack(at: np.ndarray) -> tuple[np.ndarray, dict[str | None, np.ndarray]]:
        shared, *parts = np.split(at, 1 + len(names))
        return shared, {**dict(zip(names, parts, strict=True)), None: np.zeros(width)}

    def loss(at: np.ndarray) -> float:
        shared, by_group = unpack(at)
        total = penalty / 2 * float(shared @ shared)
        total += penalty * multiple / 2 * sum(float(by_group[name] @ by_group[name]) for name in names)
        for row, group, count in zip(pairs, groups, weight, strict=True):
            total += count * cross_entropy(float(row @ (shared + by_group[group])), 1.0)
        return total

    shared, by_group = unpack(np.asarray(minimize(loss, np.zeros(width * (1 + len(names))), tol=1e-9).x))
    terms = [(count, by_group[group]) for group, count in zip(groups, weight, strict=True) if group is not None]
    mean = sum(count * effect for count, effect in terms) / sum(count for count, _ in terms)
    return shared + mean, {name: by_group[name] - mean for name in names}


Vote = tuple[str, bool, float]
"""A comparison, the choice of its first answer, and the log odds of that answer under a model."""


def soft_label_scores(votes: list[Vote]) -> tuple[float, float, float]:
    """Return distance, cross-entropy and error rate over comparisons, each of several votes."""
    scores = []
    for comparison_id in sorted({vote[0] for vote in votes}):
        of = [(first, odds) for comparison, first, odds in votes if comparison == comparison_id]
        target = [sum(first for first, _ in of) / len(of), sum(not first for first, _ in of) / len(of)]
        probabilities = [sum(1 / (1 + math.exp(-odds * sign)) for _, odds in of) / len(of) for sign in (1, -1)]
        distance = sum(abs(p - t) for p, t in zip(probabilities, target, strict=True))
        cross = -sum(t * math.log(p) for p, t in zip(probabilities, target, strict=True))
        error = sum((odds > 0) != first if odds else 0.5 for first, odds in of) / len(of)
        scores.append((distance, cross, error))
    distances, crosses, errors = zip(*scores, strict=True)
    return tuple(sum(values) / len(scores) for values in (distances, crosses, errors))
