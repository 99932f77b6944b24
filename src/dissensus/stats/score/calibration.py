"""Calibration of a score against the shares of a group, and its expected calibration error beside that by chance."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.stats.cluster_robust import ClusteredEstimate, Floats, Mean, estimate_clustered_variance
from dissensus.stats.score.pseudo_values import GroupRatings, PseudoValues, average_ratings, estimate_interval

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


def estimate_calibration(ratings: GroupRatings, scores: Floats, *, confidence: float = 0.95) -> Calibration:
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
    >>> calibration = estimate_calibration(ratings, np.full(20, 0.25))
    >>> calibration.error, calibration.bins[0].n_items
    (0.25, 10)
    """
    number = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    bins, errors, chances = [], [], []
    for k in np.unique(number).tolist():
        part, of_bin = ratings.select(number == k), scores[number == k]
        gap = average_ratings(part, of_bin - part.unsafe)
        bins.append(
            CalibrationBin(
                low=k / BINS,
                high=(k + 1) / BINS,
                score=average_ratings(part, of_bin).estimate,
                share=estimate_interval(average_ratings(part, part.unsafe, is_share=True), confidence=confidence),
                n_items=part.n_items,
            )
        )
        errors.append(abs(gap.estimate))
        chances.append(_expected_deviation(gap))
    weights = [part.n_items for part in bins]
    return Calibration(
        error=float(np.average(errors, weights=weights)),
        by_chance=float(np.average(chances, weights=weights)),
        bins=tuple(bins),
    )


def _expected_deviation(gap: PseudoValues) -> float:
    """Return the mean absolute deviation of a mean by chance; 0 if one item of one rater tells nothing of it."""
    clusters = np.stack([np.unique(codes, return_inverse=True)[1] for codes in (gap.items, gap.raters)])
    spread = estimate_clustered_variance(gap.residuals, clusters, gap.weights)
    return 0.0 if spread is None else math.sqrt(2 / math.pi * spread.variance)
