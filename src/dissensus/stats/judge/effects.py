"""Effects of the presentation of an item on the answers of a judge, from pairs of answers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import ClusteredEstimate, Mean, clustered_mean, clustered_share
from dissensus.stats.judge.answers import spread_of_counts
from dissensus.stats.result import FloatArray, Int64Array


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentationEffect:
    """Effect of a change of presentation on the answers of a judge.

    Parameters
    ----------
    shift
        Mean change of the position on the scale, from 0 for its first answer to 1 for its last.
    changed
        Share of answers that the change of presentation turned into another one.
    """

    shift: Mean
    changed: ClusteredEstimate


def estimate_effect(
    items: Int64Array,
    before: Int64Array,
    after: Int64Array,
    n_categories: int,
    *,
    signs: npt.ArrayLike = 1.0,
    confidence: float,
) -> PresentationEffect:
    r"""Estimate the effect of a change of presentation from pairs of answers to the same item.

    Parameters
    ----------
    items
        Item of each pair, shape (N,); pairs of one item are a cluster.
    before, after
        Answers before and after the change, as steps on the scale from 0, shape (N,).
    n_categories
        Number of answers of the scale.
    signs
        1, or -1 for pairs in which the change was made in the other direction, shape (N,).
    confidence
        Confidence level.

    Returns
    -------
    PresentationEffect
        Intervals are for other items.

    Raises
    ------
    UndefinedEstimate
        There are no pairs.

    Examples
    --------
    >>> effect = estimate_effect(np.arange(4), np.array([0, 0, 1, 0]), np.array([1, 1, 1, 0]), 2, confidence=0.95)
    >>> effect.shift.estimate, effect.changed.estimate
    (0.5, 0.5)
    """
    if not len(items):
        raise UndefinedEstimate("The effect is undefined: no item was answered in both presentations.")
    shift = np.asarray(signs) * (after - before) / max(n_categories - 1, 1)
    return PresentationEffect(
        shift=clustered_mean(shift, items, confidence=confidence),
        changed=clustered_share(before != after, items, confidence=confidence),
    )


def estimate_consistency(counts: FloatArray, distance: FloatArray, *, confidence: float) -> Mean:
    """Estimate how near two answers of a judge to one item are: one less their mean distance, over items.

    Parameters
    ----------
    counts
        Number of the judge's answers of each category to each item, shape (I, K). Items with one are left out.
    distance
        Distances of answers, shape (K, K).
    confidence
        Confidence level.

    Returns
    -------
    Mean
        From 0 to 1; with equality the probability that two answers are the same. The interval is for other items.

    Raises
    ------
    UndefinedEstimate
        No item has two answers.

    Examples
    --------
    >>> equality = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(estimate_consistency(np.array([[3.0, 0.0], [2.0, 1.0]]), equality, confidence=0.95).estimate, 3)
    0.667
    """
    spread = spread_of_counts(counts, distance)
    known = np.flatnonzero(np.isfinite(spread))
    if not len(known):
        raise UndefinedEstimate("Consistency is undefined: no item has two answers.")
    return clustered_mean(1 - spread[known], known, confidence=confidence)
