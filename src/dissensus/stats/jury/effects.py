"""Effects of units, such as items and raters, as a regression on their features with residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.cluster_robust import Floats

SMALLEST: Final = 1e-6
"""Smallest variance; smaller ones are raised to it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectTerm:
    """Effects of units on the location of some ratings.

    Parameters
    ----------
    name
        Name; terms of one name have the same variances.
    ratings
        Numbers of the ratings with the effect, shape (n,).
    units
        Unit of each of them, shape (n,).
    features
        Features of the units, shape (U, P).
    blocks
        Block of each feature, from 0: the weights of a block have one variance, shape (P,).
    has_residuals
        False if effects are exactly linear in the features, as where a unit has a single rating.
    """

    name: str
    ratings: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]
    features: Floats
    blocks: npt.NDArray[np.int64]
    has_residuals: bool = True

    @property
    def n_blocks(self) -> int:
        """Number of blocks of features."""
        return int(self.blocks.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectVariances:
    """Variances of the weights of each block, shape (blocks,), and of residuals."""

    weights: Floats
    residual: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectPosterior:
    """Weights of features with their covariance, residuals of units, and the variances of their effects."""

    weights: Floats  # Shape (P,)
    covariance: Floats  # Shape (P, P)
    residuals: Floats  # Shape (U,)
    variances: Floats  # Of the effects of units, shape (U,)

    def predict(self, features: Floats) -> tuple[Floats, Floats]:
        """Return the expected effects of new units, and the variances of these expectations."""
        return features @ self.weights, quadratic_forms(features, self.covariance)


def quadratic_forms(rows: Floats, matrix: Floats) -> Floats:
    """Return x' M x of each row x."""
    return np.asarray(np.einsum("up,up->u", rows @ matrix, rows))


class EffectUpdate:
    """Update of the effects of a term, given weights of ratings and variances of effects."""

    __slots__ = ("covariance", "marginal", "mass", "ratings", "term", "variances")

    def __init__(self, term: EffectTerm, ratings: Floats, variances: EffectVariances) -> None:
        """Factor the normal equations; `ratings` are the weights of all ratings."""
        self.term, self.variances = term, variances
        self.ratings = ratings[term.ratings]
        self.mass = np.bincount(term.units, self.ratings, minlength=len(term.features))
        self.marginal = self.mass / (1 + variances.residual * self.mass)
        penalty = 1 / variances.weights[term.blocks]
        information = (term.features * self.marginal[:, None]).T @ term.features
        self.covariance: Floats = np.linalg.inv(information + np.diag(penalty)).astype(np.float64)

    def solve(self, targets: Floats) -> tuple[Floats, Floats]:
        """Return weights and residuals, given a target for each rating of the term."""
        term, variance = self.term, self.variances.residual
        total = np.bincount(term.units, self.ratings * targets, minlength=len(term.features))
        weights = self.covariance @ (term.features.T @ (total / (1 + variance * self.mass)))
        linear = term.features @ weights
        return weights, variance * (total - self.mass * linear) / (1 + variance * self.mass)

    def posterior(self, weights: Floats, residuals: Floats) -> EffectPosterior:
        """Return the posterior of the effects."""
        shrinkage = 1 / (1 + self.variances.residual * self.mass)
        of_line = quadratic_forms(self.term.features, self.covariance)
        own = self.variances.residual * shrinkage
        return EffectPosterior(
            weights=weights, covariance=self.covariance, residuals=residuals, variances=own + shrinkage**2 * of_line
        )


def estimate_variances(
    updates: Sequence[EffectUpdate], posteriors: Sequence[EffectPosterior], before: EffectVariances
) -> EffectVariances:
    r"""Estimate the variances that terms of one name share (MacKay 1992, eq. 4.6).

    .. math:: \rho = \sum_j w_j^2 / \sum_j (1 - V_{jj} / \rho)

    The sum of squares over the number of effects that the ratings determine; the same for residuals, whose posterior
    variance includes that of the weights.
    """
    term = updates[0].term
    squares, known = np.zeros(term.n_blocks), np.zeros(term.n_blocks)
    residual_square, n_residuals = 0.0, 0.0
    for update, posterior in zip(updates, posteriors, strict=True):
        prior = before.weights[term.blocks]
        squares += np.bincount(term.blocks, posterior.weights**2, minlength=term.n_blocks)
        known += np.bincount(term.blocks, 1 - np.diag(posterior.covariance) / prior, minlength=term.n_blocks)
        rated = update.mass > 0
        of_line = quadratic_forms(update.term.features[rated], posterior.covariance)
        share = before.residual * update.marginal[rated]
        residual_square += float((posterior.residuals[rated] ** 2).sum())
        n_residuals += float((share - share * update.marginal[rated] * of_line).sum())
    weights = np.clip(squares / np.maximum(known, SMALLEST), SMALLEST, 1 / SMALLEST)
    residual = residual_square / max(n_residuals, SMALLEST) if term.has_residuals else 0.0
    return EffectVariances(weights=weights, residual=float(np.clip(residual, SMALLEST, 1e3)) * term.has_residuals)
