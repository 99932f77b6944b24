"""Effects of units, such as items and raters, as a regression on their features with residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.stats.result import FloatArray, Int64Array

SMALLEST: Final = 1e-6
"""Smallest variance; smaller ones are raised to it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectTerm:
    """Effects of units on the locations of ratings.

    Parameters
    ----------
    name
        Name; terms of one name have the same variances.
    kind
        Kind of the units; terms of a kind have the same units, whose residuals are uncertain together.
    units
        Unit of each rating, shape (N,).
    loadings
        Multiple of the unit's effect in the location of each rating, shape (N,).
    features
        Features of the units, shape (U, P).
    blocks
        Block of each feature, from 0: the weights of a block have one variance, shape (P,).
    has_residuals
        False if effects are exactly linear in the features, as where a unit has a single rating.
    """

    name: str
    kind: str
    units: Int64Array
    loadings: FloatArray
    features: FloatArray
    blocks: Int64Array
    has_residuals: bool = True

    @property
    def n_blocks(self) -> int:
        """Number of blocks of features."""
        return int(self.blocks.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectVariances:
    """Variances of the weights of each block, shape (blocks,), and of residuals."""

    weights: FloatArray
    residual: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectPosterior:
    """Weights of features with their covariance, and residuals of units with their variances."""

    weights: FloatArray  # Shape (P,)
    covariance: FloatArray  # Shape (P, P)
    residuals: FloatArray  # Shape (U,)
    residual_variances: FloatArray  # Shape (U,)


def quadratic_forms(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return x' M x of each row x."""
    return np.asarray(np.einsum("up,up->u", rows @ matrix, rows))


class EffectUpdate:
    """Update of the effects of a term, given weights of ratings, variances of effects, and all other terms."""

    __slots__ = ("covariance", "mass", "ratings", "term", "variance")

    def __init__(self, term: EffectTerm, ratings: FloatArray, variances: EffectVariances) -> None:
        """Invert the normal equations; `ratings` are the weights of all ratings."""
        self.term, self.variance = term, variances.residual
        self.ratings = ratings * term.loadings
        self.mass = np.bincount(term.units, self.ratings * term.loadings, minlength=len(term.features))
        self.covariance = invert_information(term, self.mass / (1 + self.variance * self.mass), variances)

    def solve(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights and residuals, given a target of what the term adds to the location of each rating."""
        term, variance = self.term, self.variance
        total = np.bincount(term.units, self.ratings * targets, minlength=len(term.features))
        weights = self.covariance @ (term.features.T @ (total / (1 + variance * self.mass)))
        linear = term.features @ weights
        return weights, variance * (total - self.mass * linear) / (1 + variance * self.mass)


def invert_information(term: EffectTerm, information: FloatArray, variances: EffectVariances) -> FloatArray:
    """Return the covariance of a term's weights, given the information of the ratings about each unit, shape (U,)."""
    return np.asarray(np.linalg.inv(_add_penalty(term, information, variances)), np.float64)


def _add_penalty(term: EffectTerm, information: FloatArray, variances: EffectVariances) -> FloatArray:
    of_ratings = (term.features * information[:, None]).T @ term.features
    return np.asarray(of_ratings + np.diag(1 / variances.weights[term.blocks]))


def estimate_variances(
    terms: Sequence[EffectTerm], posteriors: Sequence[EffectPosterior], before: EffectVariances
) -> EffectVariances:
    r"""Estimate the variances that terms of one name share (MacKay 1992, eq. 4.6).

    .. math:: \rho = \sum_j w_j^2 / \sum_j (1 - V_{jj} / \rho)

    The sum of squares over the number of effects that the ratings determine; the same for residuals, whose posterior
    variance includes that of the weights.
    """
    term = terms[0]
    squares, known = np.zeros(term.n_blocks), np.zeros(term.n_blocks)
    residual_square, n_residuals = 0.0, 0.0
    prior = before.weights[term.blocks]
    for posterior in posteriors:
        squares += np.bincount(term.blocks, posterior.weights**2, minlength=term.n_blocks)
        known += np.bincount(term.blocks, 1 - np.diag(posterior.covariance) / prior, minlength=term.n_blocks)
        if term.has_residuals:
            residual_square += float((posterior.residuals**2).sum())
            n_residuals += float((1 - posterior.residual_variances / before.residual).sum())
    weights = np.clip(squares / np.maximum(known, SMALLEST), SMALLEST, 1 / SMALLEST)
    residual = (
        float(np.clip(residual_square / max(n_residuals, SMALLEST), SMALLEST, 1e3)) if term.has_residuals else 0.0
    )
    return EffectVariances(weights=weights, residual=residual)
