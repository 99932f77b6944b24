"""Latent model of all simulations: cumulative probit with crossed rater, item and group effects."""

from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dissensus.stats.result import FloatArray, Int64Array, IntArray

SCALE = ("No", "Unsure", "Yes")


def compute_latent(
    of_rater: FloatArray,
    of_item: FloatArray,
    of_groups: Iterable[tuple[IntArray, FloatArray]],
    rater: IntArray,
    item: IntArray,
) -> FloatArray:
    """Return the latent value without noise, in the broadcast shape of `rater` and `item`.

    Each of `of_groups` is the group of every rater on one axis, shape (R,), and the group × item effects, (G, I).
    """
    total: FloatArray = of_rater[rater] + of_item[item]
    for group, effect in of_groups:
        total = total + effect[group[rater], item]
    return total


def code_answers(latent: FloatArray, cuts: FloatArray) -> NDArray[np.int16]:
    """Return the number of cuts, on the last axis, below each latent value."""
    return np.asarray((latent[..., None] > cuts).sum(axis=-1), dtype=np.int16)


def find_cuts(latent: FloatArray, width: FloatArray, unsure: float, yes: float) -> tuple[float, float]:
    """Return the cut and the width that give these shares of Unsure and Yes.

    Yes lies above the cut, and Unsure below it by up to the width times the factor of the rating in `width`.
    """
    cut = float(np.quantile(latent, 1 - yes))
    below = latent <= cut
    distance = (cut - latent[below]) / width[below]
    return cut, float(np.quantile(distance, unsure / (1 - yes)))


def normal_quantiles(n: int) -> FloatArray:
    """Return n quantiles of the normal distribution in order."""
    return np.array([NormalDist().inv_cdf((rank + 0.5) / n) for rank in range(n)])


def normal_scores(n: int) -> FloatArray:
    """Return normal quantiles scaled to a standard deviation of 1 (0 for n = 1)."""
    scores = normal_quantiles(n)
    return scores / scores.std() if n > 1 else scores


def shuffled_scores(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw n normal effects of mean 0 and standard deviation 1, exactly."""
    return rng.permutation(normal_scores(n))


def related_scores(rng: np.random.Generator, scores: FloatArray, correlation: float) -> FloatArray:
    """Draw normal scores with about this correlation with the given ones."""
    mixed = correlation * scores + np.sqrt(1 - correlation**2) * rng.normal(size=scores.size)
    related = np.empty_like(scores)
    related[np.argsort(mixed, kind="stable")] = normal_scores(scores.size)
    return related


def allot_counts(weights: Sequence[float], n: int) -> Int64Array:
    """Share n among weights by largest remainders.

    Examples
    --------
    >>> allot_counts([31, 22, 98, 199], 35)
    array([ 3,  2, 10, 20])
    """
    ideal = np.array(weights, dtype=np.float64) / sum(weights) * n
    counts = np.floor(ideal).astype(np.int64)
    first = np.argsort(counts - ideal, kind="stable")[: n - counts.sum()]
    counts[first] += 1
    return counts


def deal_values(rng: np.random.Generator, weights: Sequence[float], n: int) -> Int64Array:
    """Draw n categories in random order, each as often as its weight allots."""
    return rng.permutation(np.repeat(np.arange(len(weights)), allot_counts(weights, n)))


def slice_values(scores: FloatArray, weights: Sequence[float]) -> Int64Array:
    """Cut scores into ordered categories, each as large as its weight allots."""
    categories = np.empty(scores.size, dtype=np.int64)
    categories[np.argsort(scores, kind="stable")] = np.repeat(
        np.arange(len(weights)), allot_counts(weights, scores.size)
    )
    return categories
