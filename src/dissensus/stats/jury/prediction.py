"""Predicted answers of cells of people to texts that nobody has rated."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dissensus.stats.jury.effects import quadratic_forms
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.prediction import RaterVariation, predict_shares
from dissensus.stats.result import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PredictedLocations:
    """Locations of the answers to I texts by people of G groups, with their uncertainty.

    A cell of people is a row of Booleans, True for each of its groups, shape (G,); cells have shape (M, G). The
    location of a cell is that of the text, plus those of the contrasts of its groups, which are on one axis or several.

    Parameters
    ----------
    thresholds
        Thresholds between answers, shape (K - 1,).
    express
        Coordinates of cells in C contrasts of groups, shape (M, C), from their groups.
    text, text_variance
        Location that all people share, and its variance, shape (I,).
    contrasts, contrast_variances
        Departures in each contrast, and their variances, shape (I, C).
    levels, level_covariance
        Departures on all texts, shape (C,), and their covariance, shape (C, C).
    rater_variance
        Variance between people of one cell.
    """

    thresholds: FloatArray
    express: Callable[[FloatArray], FloatArray]
    text: FloatArray
    text_variance: FloatArray
    contrasts: FloatArray
    contrast_variances: FloatArray
    levels: FloatArray
    level_covariance: FloatArray
    rater_variance: float

    def distributions(self, cells: BoolArray) -> FloatArray:
        r"""Return the expected share of each answer in each cell, shape (I, M, K).

        .. math:: P(y \le k) = \Phi\left(\frac{\tau_k - \mu}{\sqrt{1 + \sigma^2_{rater} + v}}\right)

        with the mean and the variance of the cell's location.

        Examples
        --------
        >>> one = np.zeros(1)
        >>> locations = PredictedLocations(
        ...     thresholds=one, express=lambda cells: cells, text=one + 1, text_variance=one + 2,
        ...     contrasts=np.zeros((1, 0)), contrast_variances=np.zeros((1, 0)), levels=np.zeros(0),
        ...     level_covariance=np.zeros((0, 0)), rater_variance=1.0,
        ... )
        >>> locations.distributions(np.zeros((1, 0), bool)).round(3).tolist()
        [[[0.309, 0.691]]]
        """
        rows = self.express(cells.astype(np.float64))
        mean = self.text[:, None] + (self.contrasts + self.levels) @ rows.T
        variance = self.text_variance[:, None] + self.contrast_variances @ (rows**2).T
        variance = variance + quadratic_forms(rows, self.level_covariance) + self.rater_variance
        return _shares(mean, variance, self.thresholds)

    def draw(self, cells: BoolArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draw the share of each answer in each cell, shape (draws, I, M, K).

        Locations of cells of one draw share the location of the text, those of the contrasts, and their levels. All
        texts have the same random numbers, so that the draws of one do not depend on the others.
        """
        n, n_contrasts = self.contrasts.shape
        rows = self.express(cells.astype(np.float64))
        text = self.text + np.sqrt(self.text_variance) * rng.standard_normal((n_draws, 1))
        contrasts = self.contrasts + np.sqrt(self.contrast_variances) * rng.standard_normal((n_draws, 1, n_contrasts))
        levels = self.levels + rng.standard_normal((n_draws, n_contrasts)) @ _root(self.level_covariance).T
        location = text[:, :, None] + (contrasts + levels[:, None]) @ rows.T
        shares = _shares(
            location.reshape(n_draws, -1), np.full((n_draws, n * len(rows)), self.rater_variance), self.thresholds
        )
        return shares.reshape(n_draws, n, len(rows), -1)


def _shares(location: FloatArray, variance: FloatArray, thresholds: FloatArray) -> FloatArray:
    repeated = np.repeat(thresholds[None], len(location), axis=0)
    return predict_shares(location, repeated, RaterVariation(variance=variance), link=kernels.PROBIT)


def _root(covariance: FloatArray) -> FloatArray:
    """Return a square root of a covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
