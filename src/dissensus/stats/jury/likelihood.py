"""Likelihood of ordered answers and of choices between two texts, and its normal sites (expectation propagation)."""

import math
from typing import Final, NamedTuple, Self

import numpy as np

from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.prediction import RaterVariation, predict_shares
from dissensus.stats.result import BoolArray, FloatArray, Int64Array, IntArray

SCALE_PRECISION: Final = 0.25
"""Prior precision of the logarithm of the choice scale, whose standard deviation is 2."""

LARGEST_STEP: Final = 0.5
"""Largest step of the logarithm of the choice scale."""

_ERFC = np.frompyfunc(math.erfc, 1, 1)


class NormalSites(NamedTuple):
    """Precision (weight) and mean (target) of the normal site of each answer, shape (N,)."""

    weights: FloatArray
    targets: FloatArray

    @classmethod
    def empty(cls, n: int) -> Self:
        """Return sites without information."""
        return cls(np.zeros(n), np.zeros(n))

    def rescale(self, factor: FloatArray) -> "NormalSites":
        """Return the same sites for locations that are multiplied by a factor."""
        return NormalSites(self.weights / factor**2, self.targets * factor)


class Cavity(NamedTuple):
    """Cavity distribution: mean and variance of each location given all other answers, shape (N,)."""

    mean: FloatArray
    variance: FloatArray

    @classmethod
    def leave_out(cls, location: FloatArray, spread: FloatArray, sites: NormalSites) -> Self:
        """Take the site of each answer from the mean and the variance of its location."""
        factor = 1 / np.maximum(1 - sites.weights * spread, 0.1)
        variance = spread * factor
        return cls(location + variance * sites.weights * (location - sites.targets), variance)

    def rescale(self, factor: FloatArray | float) -> "Cavity":
        """Return mean and variance of locations that are multiplied by a factor."""
        return Cavity(self.mean * factor, self.variance * factor**2)


class AnswerLikelihood:
    """Likelihood of ordered answers, and of choices between two texts beside them or alone.

    A choice is 0 or 1, with a threshold of 0; its scale is 1 if there are no other answers.
    """

    __slots__ = ("_below", "_signs", "codes", "is_choice", "is_scaled", "n_answers")

    def __init__(self, answers: IntArray, n_answers: int, choices: BoolArray | None = None) -> None:
        """Count the answers; all of them are ordered answers by default."""
        self.codes = np.ascontiguousarray(answers, np.int8)
        self.n_answers = n_answers
        self.is_choice = np.zeros(len(answers), np.bool_) if choices is None else choices
        self.is_scaled = bool(self.is_choice.any() and not self.is_choice.all())
        counts = self.counts
        self._below = np.cumsum(counts + 0.5)[:-1] / (counts.sum() + 0.5 * n_answers)
        self._signs = np.where(self.codes[self.is_choice] > 0, 1.0, -1.0)

    @property
    def counts(self) -> Int64Array:
        """Number of ordered answers by answer."""
        return np.bincount(self.codes[~self.is_choice], minlength=self.n_answers)

    def match_thresholds(self, location: FloatArray, spread: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """Return the thresholds at which the mean predicted shares are the observed ones; 0 if all are choices."""
        if self.is_choice.all():
            return np.zeros(self.n_answers - 1)
        return _match_thresholds(location[~self.is_choice], spread[~self.is_choice], self._below, start)

    def approximate(self, thresholds: FloatArray, cavity: Cavity, sites: NormalSites) -> NormalSites:
        """Return the site of each answer.

        Its product with the cavity has the mean and the variance of the product of the cavity and the exact likelihood
        (expectation propagation). Updates are damped: half a step from the previous sites.
        """
        scale = np.sqrt(1 + cavity.variance)
        low, high = self._bounds(thresholds)
        slope, curvature = differentiate((low - cavity.mean) / scale, (high - cavity.mean) / scale)
        slope, curvature = slope / scale, np.clip(curvature, 1e-6, 1 - 1e-6) / scale**2
        after = curvature / (1 - curvature * cavity.variance)
        pull = after * (cavity.mean + slope / curvature)
        if sites.weights.any():
            after, pull = 0.5 * (after + sites.weights), 0.5 * (pull + sites.weights * sites.targets)
        return NormalSites(after, pull / after)

    def rescale_choices(self, cavity: Cavity, scale: float) -> float:
        """Return the factor of one step of the choice scale towards its mode, given all other answers.

        The logarithm of the scale has a normal prior around 0.
        """
        if not self.is_scaled:
            return 1.0
        z, slopes = _scaled_distances(cavity, self.is_choice, self._signs)
        ratio = density_ratio(z)
        information = (slopes**2 * ratio * density_ratio(-z)).sum() + SCALE_PRECISION
        step = (float((slopes * ratio).sum()) - SCALE_PRECISION * math.log(scale)) / information
        return math.exp(min(max(step, -LARGEST_STEP), LARGEST_STEP))

    def choice_evidence(self, cavity: Cavity, factor: float = 1.0) -> tuple[float, float]:
        """Return the log-likelihood of choices whose scale is multiplied by a factor, and its derivative by the log."""
        z, slopes = _scaled_distances(cavity.rescale(factor), self.is_choice, self._signs)
        return float(np.log(np.maximum(cumulate(z), 1e-300)).sum()), float((slopes * density_ratio(z)).sum())

    def _bounds(self, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the thresholds below and above each answer."""
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        if not self.is_scaled:
            return ends[self.codes], ends[self.codes + 1]
        of_choices = np.array([-np.inf, 0.0, np.inf])
        low, high = np.empty(len(self.codes)), np.empty(len(self.codes))
        for rows, values in ((~self.is_choice, ends), (self.is_choice, of_choices)):
            low[rows], high[rows] = values[self.codes[rows]], values[self.codes[rows] + 1]
        return low, high


def _scaled_distances(cavity: Cavity, rows: BoolArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return z of the probability Φ(z) of each choice, and its derivative by the logarithm of the scale."""
    mean, total = cavity.mean[rows], 1 + cavity.variance[rows]
    return signs * mean / np.sqrt(total), signs * mean / total**1.5


def differentiate(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivative of log(Φ(high - m) - Φ(low - m)) at m = 0, and minus the second derivative."""
    flip = np.where(low + high > 0, -1.0, 1.0)  # The lower tail, where differences are exact
    below, above = np.where(flip < 0, -high, low), np.where(flip < 0, -low, high)
    share = np.maximum(cumulate(above) - cumulate(below), 1e-300)
    of_below, of_above = (np.exp(-0.5 * bound**2) / np.sqrt(2 * np.pi) / share for bound in (below, above))
    slope = of_below - of_above
    bend = np.where(np.isfinite(above), above, 0) * of_above - np.where(np.isfinite(below), below, 0) * of_below
    return flip * slope, slope**2 + bend


def cumulate(bounds: FloatArray) -> FloatArray:
    """Return the normal distribution function."""
    return np.asarray(_ERFC(bounds * -math.sqrt(0.5)), np.float64) / 2


def density_ratio(z: FloatArray) -> FloatArray:
    """Return φ(z) / Φ(z), the derivative of log Φ(z)."""
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) / np.maximum(cumulate(z), 1e-300))


def _match_thresholds(
    location: FloatArray, spread: FloatArray, below: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    """Return the thresholds at which the mean predicted shares are the observed ones, by Newton's method."""
    scale = np.sqrt(1 + spread)
    thresholds = np.zeros(len(below)) if start is None else start
    variation = RaterVariation(variance=np.repeat(spread[None], 1, axis=0))
    for _ in range(20):
        shares = predict_shares(location[None], thresholds[None], variation, link=kernels.PROBIT)[0]
        mean = np.cumsum(shares.mean(axis=0))[:-1]
        distance = (thresholds[:, None] - location) / scale
        density = (np.exp(-0.5 * distance**2) / scale).mean(axis=1) / np.sqrt(2 * np.pi)
        step = np.clip((below - mean) / np.maximum(density, 1e-6), -1, 1)
        thresholds = thresholds + step
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(np.maximum.accumulate(thresholds + 1e-9 * np.arange(len(thresholds))))
