"""Effects and counts with an exact rather than average spread."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from dissensus.pipeline.simulate.latent import Codes, Floats


def normal_scores(n: int) -> Floats:
    """Return n quantiles of the normal distribution in order, scaled to a standard deviation of 1 (0 for n = 1)."""
    scores = np.array([NormalDist().inv_cdf((rank + 0.5) / n) for rank in range(n)])
    return scores / scores.std() if n > 1 else scores


def shuffled_scores(rng: np.random.Generator, n: int) -> Floats:
    """Draw n normal effects of mean 0 and standard deviation 1, exactly."""
    return rng.permutation(normal_scores(n))


def related_scores(rng: np.random.Generator, scores: Floats, correlation: float) -> Floats:
    """Draw normal scores that correlate with given ones about as asked."""
    mixed = correlation * scores + np.sqrt(1 - correlation**2) * rng.normal(size=scores.size)
    found = np.empty_like(scores)
    found[np.argsort(mixed, kind="stable")] = normal_scores(scores.size)
    return found


def allot_counts(weights: Sequence[float], n: int) -> Codes:
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


def deal_values(rng: np.random.Generator, weights: Sequence[float], n: int) -> Codes:
    """Draw n categories in random order, each as often as its weight allots."""
    return rng.permutation(np.repeat(np.arange(len(weights)), allot_counts(weights, n)))


def slice_values(scores: Floats, weights: Sequence[float]) -> Codes:
    """Cut scores into ordered categories, each as large as its weight allots."""
    categories = np.empty(scores.size, dtype=np.int64)
    categories[np.argsort(scores, kind="stable")] = np.repeat(
        np.arange(len(weights)), allot_counts(weights, scores.size)
    )
    return categories
