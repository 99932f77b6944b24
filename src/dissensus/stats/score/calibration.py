"""Calibration of a score against the shares of a group, and its expected calibration error beside that by chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.stats.cluster_robust import ClusteredEstimate, Mean
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.score.pseudo_values import (
    GroupRatings,
    PseudoValues,
    Statistic,
    average_ratings,
    estimate_interval,
)

BINS: Final = 10
"""Bins of the score from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Items of similar score, with the share of unsafe answers of a group.

    Parameters
    ----------
    low, high
        Ends of the bin.
    score
        Mean score of its items.
    share
        Mean share of unsafe answers, with its interval.
    n_items
        Number of items.
    """

    low: float
    high: float
    score: float
    share: ClusteredEstimate | Mean
    n_items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration of a score against a group.

    Parameters
    ----------
    error
        Expected calibration error: mean absolute difference of score and share over bins, weighted by their items.
    by_chance
        Its expectation for a calibrated score on so many items and raters: chance alone makes it positive.
    bins
        Bins with items.
    """

    error: float
    by_chance: float
    bins: tuple[CalibrationBin, ...]


def estimate_calibration(ratings: GroupRatings, scores: FloatArray, *, confidence: float) -> Calibration:
    r"""Compare scores with the shares of a group in ten bins of the score.

    .. math:: \mathrm{ECE} = \sum_b \frac{I_b}{I} \lvert g_b \rvert, \qquad
              \mathrm{E}_0 = \sum_b \frac{I_b}{I} \, \hat\sigma_b \sqrt{2 / \pi}

    with the mean :math:`g_b` of score less share over the items of a bin, and its standard error over other items and
    raters: the second is the mean absolute value of a normal deviation.

    Parameters
    ----------
    ratings
        Ratings of a group.
    scores
        Score of the item of each rating, shape (N,).
    confidence
        Confidence level of the shares.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> ratings = GroupRatings(items=np.arange(20) // 2, raters=np.arange(20) % 2, unsafe=np.tile([1.0, 0], 10))
    >>> calibration = estimate_calibration(ratings, np.full(20, 0.25), confidence=0.95)
    >>> calibration.error, calibration.bins[0].n_items
    (0.25, 10)
    """
    number, parts = number_bins(scores), []
    for k in np.unique(number).tolist():
        part, of_bin = ratings.select(number == k), scores[number == k]
        score = average_ratings(part, of_bin).estimate
        parts.append((k, score, gap_in_bin(ratings, scores, k), share_in_bin(ratings, scores, k)))
    return calibrate(parts, confidence)


def number_bins(scores: FloatArray) -> Int64Array:
    """Return the bin of each score."""
    return np.minimum((scores * BINS).astype(np.int64), BINS - 1)


def gap_in_bin(ratings: GroupRatings, scores: FloatArray, k: int) -> PseudoValues:
    """Return the mean of score less share over the items of a bin."""
    in_bin = number_bins(scores) == k
    part = ratings.select(in_bin)
    return average_ratings(part, scores[in_bin] - part.unsafe)


def share_in_bin(ratings: GroupRatings, scores: FloatArray, k: int) -> PseudoValues:
    """Return the mean share of unsafe answers over the items of a bin."""
    part = ratings.select(number_bins(scores) == k)
    return average_ratings(part, part.unsafe, is_share=True)


def calibrate(parts: Sequence[tuple[int, float, Statistic, Statistic]], confidence: float) -> Calibration:
    """Return the calibration by the number of each bin with items, its mean score, its gap and its share."""
    bins, errors, chances = [], [], []
    for k, score, gap, share in parts:
        interval = estimate_interval(share, confidence=confidence)
        low, high = k / BINS, (k + 1) / BINS
        bins.append(CalibrationBin(low=low, high=high, score=score, share=interval, n_items=share.n_items))
        errors.append(abs(gap.estimate))
        chances.append(_expected_deviation(gap))
    weights = [each.n_items for each in bins]
    return Calibration(
        error=float(np.average(errors, weights=weights)),
        by_chance=float(np.average(chances, weights=weights)),
        bins=tuple(bins),
    )


def _expected_deviation(gap: Statistic) -> float:
    """Return the mean absolute deviation of a mean by chance; 0 if one item of one rater tells nothing of it."""
    spread = gap.spread
    return 0.0 if spread is None else math.sqrt(2 / math.pi * spread.variance)
