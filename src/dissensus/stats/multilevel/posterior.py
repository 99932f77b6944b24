"""Draws of parameters and random effects of a fitted multilevel model."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, Protocol

import numpy as np

from dissensus.stats.multilevel.convergence import ChainConvergence, diagnose_chains
from dissensus.stats.multilevel.covariance import cholesky_factor
from dissensus.stats.multilevel.importance import (
    ImportanceWeights,
    certify_laplace,
    map_in_threads,
    smooth_weights,
)
from dissensus.stats.multilevel.laplace import LaplaceLikelihood, Mode
from dissensus.stats.multilevel.priors import PriorPenalty
from dissensus.stats.result import FloatArray, IntArray

# Degrees of freedom of the t distribution of parameters.
DEGREES: Final = 10
# Pairs of draws that smoothed weights need.
FEWEST_PAIRS: Final = 13
# Draws times ratings whose density is taken, beyond which there should be fewer draws, and ratings beyond which no
# mode is found at each draw.
MOST_DENSITIES: Final = 200_000_000
MOST_RENEWED: Final = 200_000
# Draws of effects at the estimates, and the share of them that independent draws must be worth.
CHECK_DRAWS: Final = 100
NORMAL_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curvature:
    """Covariance of the estimated parameters, and derivatives of the modes of the random effects by them.

    Shapes: `covariance` (parameters, parameters), NaN for terms whose effects have vanished; `by_u` (parameters, outer
    effects); `by_v` (parameters, inner groups, effects of each).
    """

    covariance: FloatArray
    by_u: FloatArray
    by_v: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PosteriorDraws:
    """Draws from the joint distribution of parameters and random effects, given the answers.

    Parameters
    ----------
    thresholds
        Thresholds, shape (S, K - 1).
    coefficients
        Coefficients of the fixed covariates, shape (S, P).
    factors
        Lower triangular factor of each term's covariance, shape (S, D, D) each.
    effects
        Random effects of each term, shape (S, G, D) each.
    importance
        Weights of the draws, with their diagnostics. The draws are of a normal approximation; with these weights they
        are of the exact distribution under the priors, flat ones of thresholds, coefficients, standard deviations and
        correlations by default. Draws of a sampler have equal weights.
    """

    thresholds: FloatArray
    coefficients: FloatArray
    factors: tuple[FloatArray, ...]
    effects: tuple[FloatArray, ...]
    importance: ImportanceWeights

    def resample(self, rng: np.random.Generator) -> "PosteriorDraws":
        """Repeat draws, or leave them out, by their weights, so that all count the same (systematic resampling)."""
        n = len(self.coefficients)
        ends = self.importance.weights.cumsum()
        return self.select(np.searchsorted(ends, ends[-1] * (np.arange(n) + rng.random()) / n))

    def select(self, index: IntArray) -> "PosteriorDraws":
        """Return some of the draws, with the weights of all."""
        return replace(
            self,
            thresholds=self.thresholds[index],
            coefficients=self.coefficients[index],
            factors=tuple(factor[index] for factor in self.factors),
            effects=tuple(effects[index] for effects in self.effects),
        )


class PosteriorDistribution(Protocol):
    """Distribution of parameters and random effects, from which to draw: an approximation, or a sampler's chains."""

    @property
    def likelihood(self) -> LaplaceLikelihood:
        """Likelihood of the model."""
        ...

    @property
    def most_draws(self) -> int:
        """Largest number of draws that it gives."""
        ...

    def draw(self, n_draws: int, rng: np.random.Generator) -> PosteriorDraws:
        """Draw parameters and effects."""
        ...


class Draw(NamedTuple):
    """Parameters, outer and inner effects, and the logarithm of their exact density over that of the proposal."""

    parameters: FloatArray
    u: FloatArray
    v: FloatArray
    log_ratio: float


class Noise(NamedTuple):
    """Noise of parameters, outer and inner effects, and half the sum of squares of the latter two."""

    parameters: FloatArray
    u: FloatArray
    v: FloatArray
    half: float


class Spread(NamedTuple):
    """Eigenvectors of the covariance of the parameters, and the square roots of its eigenvalues."""

    directions: FloatArray
    scales: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NormalApproximation:
    """Normal approximation of the joint distribution of parameters and random effects, from which to draw."""

    likelihood: LaplaceLikelihood
    penalty: PriorPenalty
    parameters: FloatArray
    mode: Mode
    curvature: Curvature

    def draw(self, n_draws: int, rng: np.random.Generator) -> PosteriorDraws:
        """Draw parameters and effects, in opposite pairs, and weight them by the exact density.

        First, effects are drawn around a mode that follows the parameters linearly, with the Hessian at the estimates.
        If the weights of these draws are not reliable although effects are almost normal given the parameters, then
        parameters are drawn from a t distribution, and effects around their mode at each draw with the Hessian there,
        which takes about ten times as long; not with more than 200,000 ratings.

        Parameters
        ----------
        n_draws
            Number of draws, rounded up to an even number of at least 26.
        rng
            Source of the draws.
        """
        pairs = max(-(-n_draws // 2), FEWEST_PAIRS)
        spread = self._spread()
        noise = (self._draw_noise(spread, rng) for _ in range(pairs))
        draws = self._collect(
            [draw for pair in map_in_threads(partial(self._move_linearly, spread), noise) for draw in pair]
        )
        is_large = len(self.likelihood.design.answers) > MOST_RENEWED
        if draws.importance.is_reliable or is_large or not self._is_normal_given_parameters(rng):
            return draws
        return self._collect([draw for _ in range(pairs) for draw in self._draw_renewed(spread, rng)])

    @property
    def most_draws(self) -> int:
        """Largest number of draws that does not take long, even and at least 26."""
        return 2 * max(MOST_DENSITIES // len(self.likelihood.design.answers) // 2, FEWEST_PAIRS)

    def _is_normal_given_parameters(self, rng: np.random.Generator) -> bool:
        """Return True if draws of effects at the estimates have almost equal weights."""
        certificate = certify_laplace(self.likelihood, self.mode, n_draws=CHECK_DRAWS, rng=rng)
        return certificate.importance.effective_draws > NORMAL_SHARE * CHECK_DRAWS

    def _move_linearly(self, spread: Spread, drawn: Noise) -> list[Draw]:
        """Return a pair of opposites around the estimates, by their noise."""
        change = spread.directions @ (spread.scales * drawn.parameters)
        u, v = self.likelihood.transform_noise(self.mode, drawn.u, drawn.v)
        u += self.curvature.by_u.T @ change
        v += np.tensordot(change, self.curvature.by_v, axes=1)
        log_density = -drawn.half - 0.5 * float(drawn.parameters @ drawn.parameters)
        return [
            self._weigh(self.parameters + s * change, self.mode.u + s * u, self.mode.v + s * v, log_density)
            for s in (1, -1)
        ]

    def _draw_renewed(self, spread: Spread, rng: np.random.Generator) -> list[Draw]:
        """Draw opposite parameters from a t distribution, and effects around their mode at each."""
        noise, z, w, half = self._draw_noise(spread, rng)
        noise /= np.sqrt(rng.chisquare(DEGREES) / DEGREES)
        change = spread.directions @ (spread.scales * noise)
        log_density = -0.5 * (DEGREES + noise.size) * float(np.log1p(noise @ noise / DEGREES)) - half
        draws = []
        for s in (1, -1):
            parameters = self.parameters + s * change
            if not self.likelihood.is_allowed(parameters):
                draws.append(self._replace_impossible())
                continue
            mode = self.likelihood.mode(parameters)
            u, v = self.likelihood.transform_noise(mode, s * z, s * w)
            determinant = 0.5 * mode.hessian.log_determinant
            draws.append(self._weigh(parameters, mode.u + u, mode.v + v, log_density + determinant))
        return draws

    def _draw_noise(self, spread: Spread, rng: np.random.Generator) -> Noise:
        z, w = rng.standard_normal(self.mode.u.shape), rng.standard_normal(self.mode.v.shape)
        half = 0.5 * (float(z @ z) + float((w * w).sum()))
        # Signs of eigenvectors depend on the processor. Noise is drawn by parameter, so that they do not matter.
        noise = np.asarray(rng.standard_normal(len(spread.directions)) @ spread.directions)
        return Noise(noise, z, w, half)

    def _weigh(self, parameters: FloatArray, u: FloatArray, v: FloatArray, log_density: float) -> Draw:
        """Return a draw with its log ratio, given the log density with which it was drawn."""
        if not self.likelihood.is_allowed(parameters):
            return self._replace_impossible()
        log_prior = self.penalty.value(parameters) + self.penalty.log_volume(parameters)
        return Draw(parameters, u, v, self.likelihood.log_joint_at(parameters, u, v) + log_prior - log_density)

    def _replace_impossible(self) -> Draw:
        """Return the estimates without weight, in place of a draw whose thresholds cross.

        Where weights are not reliable every draw counts, and crossed thresholds have no probabilities of answers.
        """
        return Draw(self.parameters, self.mode.u, self.mode.v, -np.inf)

    def _spread(self) -> Spread:
        """Return the directions in which the parameters vary; those of zero variance are left out."""
        values, vectors = np.linalg.eigh(np.nan_to_num(self.curvature.covariance))
        positive = values > 1e-12 * values.max()
        return Spread(np.asarray(vectors[:, positive], float), np.sqrt(values[positive]))

    def _collect(self, draws: list[Draw]) -> PosteriorDraws:
        likelihood = self.likelihood
        parameters = np.array([draw.parameters for draw in draws])
        effects = [likelihood.effects(draw.u, draw.v) for draw in draws]
        first = likelihood.n_thresholds
        terms = likelihood.design.random
        return PosteriorDraws(
            thresholds=parameters[:, :first],
            coefficients=parameters[:, first : first + likelihood.n_coefficients],
            factors=tuple(
                np.array([cholesky_factor(term, row[part]) for row in parameters])
                for term, part in zip(terms, likelihood.covariance_slices, strict=True)
            ),
            effects=tuple(np.array([draw[j] for draw in effects]) for j in range(len(terms))),
            importance=smooth_weights(np.array([draw.log_ratio for draw in draws])),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChainSample:
    """Draws of several Markov chains.

    Parameters
    ----------
    likelihood
        Likelihood of the model.
    draws
        Draws of all chains, one chain after the other, with equal weights.
    n_chains
        Number of chains.
    """

    likelihood: LaplaceLikelihood
    draws: PosteriorDraws
    n_chains: int

    @property
    def most_draws(self) -> int:
        """Number of draws of all chains."""
        return len(self.draws.thresholds)

    def draw(self, n_draws: int, rng: np.random.Generator) -> PosteriorDraws:
        """Return draws at equal distances in the chains, all if fewer than `n_draws`; `rng` chooses the first."""
        n = self.most_draws
        if n_draws >= n:
            return self.draws
        index = ((np.arange(n_draws) + rng.random()) * n / n_draws).astype(int)
        return replace(self.draws.select(index), importance=ImportanceWeights.equal(n_draws))

    def diagnose(self, values: FloatArray) -> ChainConvergence:
        """Diagnose the convergence of quantities of each draw, shape (draws, …)."""
        return diagnose_chains(values.reshape(self.n_chains, len(values) // self.n_chains, -1))
