"""Laplace approximation of the marginal likelihood of a multilevel model, and its exact gradient.

Random effects z = (u, v) are integrated out by a normal approximation at their mode ẑ:

    log L(θ) = ℓ(ẑ) + log p(ẑ | θ) − log |H| ⁄ 2,   H = −∇∇(ℓ + log p) at ẑ,

up to a constant that cancels (Tierney & Kadane 1986, https://doi.org/10.1080/01621459.1986.10478240). The block of H
for the inner effects v is block diagonal, so v is eliminated group by group, and only the Schur complement onto the
outer effects u is a dense matrix. The gradient follows from the implicit derivative of the mode by the adjoint method:
one solve with H for the derivatives of log |H| replaces one solve for each parameter.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.complement import (
    SOLUTION_TOLERANCE,
    DenseComplement,
    InnerFactors,
    IterativeComplement,
)
from dissensus.stats.multilevel.covariance import (
    cholesky_factor,
    count_parameters,
    invert_covariance,
    lower_triangle,
    parameter_gradient,
)
from dissensus.stats.multilevel.design import ModelDesign, ModelLayout
from dissensus.stats.multilevel.kernels import Predictors
from dissensus.stats.result import FloatArray

MAX_STEPS = 100
# Newton's decrement, for each rating, below which the mode is reached.
MODE_TOLERANCE = 1e-17
# Steps are halved above LARGE_DECREMENT, plus LARGE_SHARE for each effect: with many effects the decrement is large
# although each contributes little.
LARGE_DECREMENT = 0.5
LARGE_SHARE = 1e-3
SHORTEST_STEP = 1e-6
# Decrement below which the Hessian of the last mode is used again (chord steps), as long as each such step reduces the
# decrement to CHORD_SHARE of the one before.
SMALL_DECREMENT = 1e-2
CHORD_SHARE = 1e-2
# Relative error of Newton's steps without a matrix.
STEP_TOLERANCE = 1e-4
# Lower bound of a diagonal element of the covariance's factor in the information about the other elements of its row.
SMALL_DIAGONAL = 0.05
# Bounds of the number of random probes for the error of an approximate inverse, and target of probes times ratings.
FEWEST_PROBES = 4
MOST_PROBES = 32
PROBED_RATINGS = 20_000_000
# Outer effects beyond which their Schur complement is not formed as a matrix.
MOST_DENSE = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factorization:
    """Hessian of the random effects: factors of the inner blocks, and Schur complement onto the outer effects.

    `error` is the standard error of the log determinant.
    """

    inner: InnerFactors
    complement: DenseComplement | IterativeComplement
    log_determinant: float
    error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EffectPrior:
    """Normal density of the random effects.

    `outer` has the number of groups and the precision of each outer term, `inner` is the precision of one inner group's
    effects.
    """

    outer: tuple[tuple[int, FloatArray], ...]
    inner: FloatArray
    half_log_determinant: float

    def multiply_outer(self, u: FloatArray) -> FloatArray:
        """Multiply the outer effects by their precision."""
        parts = []
        start = 0
        for n_groups, precision in self.outer:
            end = start + n_groups * len(precision)
            parts.append((u[start:end].reshape(n_groups, -1) @ precision).ravel())
            start = end
        return np.concatenate(parts) if parts else u

    def log_density(self, u: FloatArray, v: FloatArray) -> float:
        """Log density of the effects, without the constants that cancel against the Laplace approximation's."""
        return self.half_log_determinant - 0.5 * float(u @ self.multiply_outer(u) + (v * (v @ self.inner)).sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelState:
    """Parameters as the kernels take them: fixed locations by profile, thresholds, and the density of the effects."""

    fixed: FloatArray
    thresholds: FloatArray
    prior: EffectPrior


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mode:
    """Mode of the outer and inner random effects, `u` and `v`, at some parameters, with the Hessian there.

    `log_joint` is the log density of answers and effects, with all constants but those of the normal density that
    cancel against the Laplace approximation's.
    """

    state: ModelState
    u: FloatArray
    v: FloatArray
    predictors: Predictors
    log_joint: float
    hessian: Factorization

    @property
    def log_likelihood(self) -> float:
        """Laplace approximation of the log marginal likelihood."""
        return self.log_joint - 0.5 * self.hessian.log_determinant


class NewtonStep(NamedTuple):
    """Step of the outer and inner effects, the Hessian that it was taken with, and its decrement."""

    hessian: Factorization
    u: FloatArray
    v: FloatArray
    decrement: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuadratureCorrection:
    """Log-likelihood by quadrature over inner effects, less its Laplace approximation, with partial derivatives.

    They are by the location of each profile, the distances of the thresholds, the modes of the outer and inner effects,
    the posterior precision of each inner group, which scales the nodes, and the prior precision of its effect.
    """

    value: float
    by_profile: FloatArray
    by_distance: FloatArray
    by_u: FloatArray
    by_v: FloatArray
    by_precision: FloatArray
    by_prior: FloatArray


class LaplaceLikelihood:
    """Laplace approximation of the log marginal likelihood of a design, as a function of the parameters.

    Parameters are one vector: thresholds, coefficients of the fixed covariates, and parameters of the covariance of
    each random term (`covariance`). The mode of the random effects is kept from call to call, as a start for the next.

    Parameters
    ----------
    design
        Answers, covariates and random effects.
    link
        `kernels.PROBIT` or `kernels.LOGIT`.
    """

    def __init__(self, design: ModelDesign, link: int) -> None:
        self.design = design
        self.layout = ModelLayout.from_design(design)
        self.link = link
        self.n_thresholds = design.n_categories - 1
        self.n_coefficients = self.layout.covariates.shape[1]
        counts = [count_parameters(term) for term in design.random]
        ends = self.n_thresholds + self.n_coefficients + np.concatenate([[0], np.cumsum(counts)]).astype(int)
        self.covariance_slices = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        self.n_parameters = int(ends[-1])
        self._chord: Factorization | None = None
        self._u = np.zeros(self.layout.n_outer)
        self._v = np.zeros((self.layout.n_groups, self.layout.ratings.inner.shape[1]))

    @property
    def inner_shape(self) -> tuple[int, int]:
        """Numbers of inner groups and of effects of each."""
        return self._v.shape[0], self._v.shape[1]

    def is_allowed(self, parameters: FloatArray) -> bool:
        """Return True if thresholds ascend and all parameters are finite."""
        return bool(np.isfinite(parameters).all() and (np.diff(parameters[: self.n_thresholds]) > 0).all())

    def mode(self, parameters: FloatArray) -> Mode:
        """Find the mode of the random effects by Newton's method."""
        layout, ratings = self.layout, self.layout.ratings
        state = self._state(parameters)
        prior = state.prior
        u, v = self._u, self._v
        gradient_u, gradient_v = np.empty_like(u), np.empty_like(v)
        weights = np.empty((len(ratings.answers), 3 if layout.has_width else 1))
        tolerance = MODE_TOLERANCE * len(ratings.answers)
        chord, largest = self._chord, SMALL_DECREMENT
        definite = layout.has_width and chord is None
        for _ in range(MAX_STEPS):
            point = self._predictors(state, u, v)
            blocks = np.empty((*v.shape, v.shape[1]))
            value = kernels.fill_gradients(ratings, point, definite, gradient_u, gradient_v, blocks, weights)
            value += prior.log_density(u, v)
            right = gradient_u - prior.multiply_outer(u), gradient_v - v @ prior.inner
            step = self._chord_step(chord, right, tolerance, largest)
            if step is None:
                step = self._newton_step(blocks, weights, prior, right)
                if step is None and definite:
                    break
                if step is None or (definite and step.decrement < LARGE_DECREMENT):
                    definite = not definite
                    continue
                is_near = step.decrement < SMALL_DECREMENT and not self.is_iterative
                chord = step.hessian if is_near else None
                if step.decrement < tolerance:
                    self._u, self._v, self._chord = u, v, chord
                    return Mode(state=state, u=u, v=v, predictors=point, log_joint=value, hessian=step.hessian)
            largest = CHORD_SHARE * step.decrement
            size = self._step_size(state, u, v, step, value)
            u, v = u + size * step.u, v + size * step.v
        raise UndefinedEstimate(
            "Newton's method found no mode of the random effects at these parameters; the answers may not determine "
            "the model."
        )

    def _chord_step(
        self, hessian: Factorization | None, right: tuple[FloatArray, FloatArray], tolerance: float, largest: float
    ) -> NewtonStep | None:
        """Return a step with an earlier Hessian; None if there is none, or if the present one is needed."""
        if hessian is None:
            return None
        u, v = self.solve(hessian, *right)
        decrement = float(right[0] @ u + (right[1] * v).sum())
        return NewtonStep(hessian, u, v, decrement) if tolerance <= decrement <= largest else None

    def _newton_step(
        self, blocks: FloatArray, weights: FloatArray, prior: EffectPrior, right: tuple[FloatArray, FloatArray]
    ) -> NewtonStep | None:
        """Return a step with the present Hessian; None if it is not positive definite."""
        hessian = self._factor(blocks, weights, prior)
        if hessian is None:
            return None
        u, v = self.solve(hessian, *right, tolerance=STEP_TOLERANCE)
        return NewtonStep(hessian, u, v, float(right[0] @ u + (right[1] * v).sum()))

    def _step_size(self, state: ModelState, u: FloatArray, v: FloatArray, step: NewtonStep, value: float) -> float:
        """Halve a long step until it leads upwards."""
        size = 1.0
        while step.decrement > LARGE_DECREMENT + LARGE_SHARE * (u.size + v.size) and size > SHORTEST_STEP:
            if self.log_joint(state, u + size * step.u, v + size * step.v) > value:
                break
            size /= 2
        return size

    def gradient(
        self, parameters: FloatArray, mode: Mode, correction: QuadratureCorrection | None = None
    ) -> FloatArray:
        """Gradient of the log-likelihood at the parameters whose mode is given, shape (parameters,).

        `correction` adds the gradient of the correction of the log-likelihood by quadrature.
        """
        layout, point, hessian = self.layout, mode.predictors, mode.hessian
        ratings = layout.ratings
        variances = np.empty((len(ratings.answers), 3 if layout.has_width else 1))
        inner_variances = np.empty_like(hessian.inner.factors)
        products = np.empty_like(hessian.inner.cross)
        outer_variances = hessian.complement.fill_products(products, variances)
        kernels.add_inner_variances(
            ratings, hessian.inner.factors, hessian.inner.cross, products, variances, inner_variances
        )
        del products
        if correction is not None:
            kernels.add_group_variances(ratings, correction.by_precision, variances)
        outer_traces, inner_traces = np.empty(layout.n_outer), np.empty_like(mode.v)
        kernels.fill_traces(ratings, point, variances, outer_traces, inner_traces)
        if correction is not None:
            outer_traces -= 2 * correction.by_u
            inner_traces -= 2 * correction.by_v
            inner_variances -= 2 * (correction.by_precision + correction.by_prior)[:, None, None]
        adjoint_u, adjoint_v = self.solve(hessian, outer_traces, inner_traces)
        by_profile, by_distance = np.empty(len(layout.covariates)), np.empty(self.n_thresholds)
        kernels.fill_scores(ratings, point, variances, adjoint_u, adjoint_v, by_profile, by_distance)
        if correction is not None:
            by_profile += correction.by_profile
            by_distance += correction.by_distance
        gradient = np.empty(self.n_parameters)
        # A threshold keeps its place while the centre moves, so that its distance changes too.
        centre_weights = np.zeros(self.n_thresholds)
        centre_weights[[0, -1]] += 0.5
        centre_weights[-1] += 0.5 * (self.n_thresholds == 1)
        gradient[: self.n_thresholds] = by_distance - centre_weights * (by_profile.sum() + by_distance.sum())
        gradient[self.n_thresholds : self.n_thresholds + self.n_coefficients] = layout.covariates.T @ by_profile
        place = 0
        for j in layout.inner:
            part = slice(place, place + self.design.random[j].size)
            place = part.stop
            self._fill_covariance_gradient(
                gradient, parameters, j, mode.v[:, part], adjoint_v[:, part], inner_variances[:, part, part].sum(0)
            )
        for j, (part, size), variance in zip(layout.outer, layout.outer_parts, outer_variances, strict=True):
            self._fill_covariance_gradient(
                gradient, parameters, j, mode.u[part].reshape(-1, size), adjoint_u[part].reshape(-1, size), variance
            )
        return gradient

    def add_probes(self, mode: Mode) -> Mode:
        """Correct the gradient at a mode whose Schur complement is matrix-free.

        The probes are the same at each call, so that the error of the correction changes little with the parameters.
        """
        complement = mode.hessian.complement
        if not isinstance(complement, IterativeComplement):
            return mode
        return replace(mode, hessian=replace(mode.hessian, complement=complement.add_probes(self._probes)))

    def estimate_determinant(self, mode: Mode) -> Mode:
        """Correct the log determinant at a mode whose Schur complement is matrix-free."""
        complement = mode.hessian.complement
        if not isinstance(complement, IterativeComplement):
            return mode
        determinant, error = complement.estimate_log_determinant(self._probes)
        determinant += mode.hessian.log_determinant - complement.log_determinant
        return replace(mode, hessian=replace(mode.hessian, log_determinant=determinant, error=error))

    @property
    def _probes(self) -> FloatArray:
        """Random signs (Rademacher probes), more of them for smaller designs, whose gradients take less time."""
        n = int(np.clip(PROBED_RATINGS // len(self.design.answers), FEWEST_PROBES, MOST_PROBES))
        signs: FloatArray = np.random.default_rng(0).choice((-1.0, 1.0), (n, self.layout.n_outer))
        return signs

    def effects(self, u: FloatArray, v: FloatArray) -> tuple[FloatArray, ...]:
        """Effects of each term, shape (groups, effects of a group) each, in the order of the design."""
        terms, layout = self.design.random, self.layout
        effects: dict[int, FloatArray] = {}
        place = 0
        for j in layout.inner:
            effects[j] = v[:, place : place + terms[j].size]
            place += terms[j].size
        for j, (part, size) in zip(layout.outer, layout.outer_parts, strict=True):
            effects[j] = u[part].reshape(-1, size)
        return tuple(effects[j] for j in range(len(terms)))

    def group_log_likelihoods(self, state: ModelState, u: FloatArray, v: FloatArray) -> FloatArray:
        """Log-likelihood of the answers of each inner group, given all random effects, shape (inner groups,)."""
        by_group = np.empty(self.layout.n_groups)
        ratings = self.layout.ratings
        kernels.fill_log_likelihoods(ratings.start, ratings.answers, self._predictors(state, u, v), by_group)
        return by_group

    def log_joint_at(self, parameters: FloatArray, u: FloatArray, v: FloatArray) -> float:
        """Log density of answers and effects at parameters, with the constants of `Mode.log_joint`."""
        return self.log_joint(self._state(parameters), u, v)

    def log_joint(self, state: ModelState, u: FloatArray, v: FloatArray) -> float:
        """Log density of answers and effects, with the constants of `Mode.log_joint`."""
        return float(self.group_log_likelihoods(state, u, v).sum()) + state.prior.log_density(u, v)

    def transform_noise(self, mode: Mode, z: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn standard normal noise for outer and inner effects into noise whose precision is the Hessian's."""
        u, v = mode.hessian.complement.transform_noise(z), w.copy()
        ratings, inner = self.layout.ratings, mode.hessian.inner
        kernels.substitute_inner(ratings.start, ratings.places, inner.factors, inner.cross, u, v)
        return u, v

    def solve(
        self,
        hessian: Factorization,
        outer: FloatArray,
        inner: FloatArray,
        *,
        tolerance: float = SOLUTION_TOLERANCE,
    ) -> tuple[FloatArray, FloatArray]:
        """Solve the Hessian for a right side, in outer and inner effects."""
        start, places = self.layout.ratings.start, self.layout.ratings.places
        factors, cross = hessian.inner.factors, hessian.inner.cross
        u, v = outer.copy(), inner.copy()
        kernels.eliminate_inner(start, places, factors, cross, v, u)
        u = hessian.complement.solve(u, tolerance=tolerance)
        kernels.substitute_inner(start, places, factors, cross, u, v)
        return u, v

    def information(self, parameters: FloatArray, mode: Mode) -> FloatArray:
        """Approximate information matrix of the parameters.

        For thresholds and coefficients it is that of the joint mode; for covariances, as if effects were observed.
        """
        return self.joint_information(parameters, mode)[0]

    def joint_information(self, parameters: FloatArray, mode: Mode) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return `information`, and the derivatives of the modes of both kinds of effects by the mean's parameters."""
        layout = self.layout
        n_mean = self.n_thresholds + self.n_coefficients
        outer_cross = np.zeros((layout.n_outer, n_mean))
        inner_cross = np.zeros((*mode.v.shape, n_mean))
        sums = np.zeros((len(layout.covariates), self.n_thresholds + 1))
        thresholds = np.zeros((self.n_thresholds, self.n_thresholds))
        kernels.fill_information(
            layout.ratings, mode.predictors, layout.covariates, outer_cross, inner_cross, sums, thresholds
        )
        t = self.n_thresholds
        information = np.zeros((self.n_parameters, self.n_parameters))
        information[:t, :t] = thresholds
        information[t:n_mean, t:n_mean] = layout.covariates.T @ (sums[:, t:] * layout.covariates)
        # Fixed effects move ratings up, thresholds move them down.
        information[:t, t:n_mean] = sums[:, :t].T @ layout.covariates
        information[t:n_mean, :t] = information[:t, t:n_mean].T
        by_u, by_v = np.empty((n_mean, layout.n_outer)), np.empty((n_mean, *mode.v.shape))
        for j in range(n_mean):
            u, v = self.solve(mode.hessian, outer_cross[:, j], np.ascontiguousarray(inner_cross[:, :, j]))
            information[j, :n_mean] -= u @ outer_cross + np.tensordot(v, inner_cross, axes=2)
            # Thresholds and effects move against each other, coefficients and effects together.
            by_u[j], by_v[j] = -u, -v
        for term, part in zip(self.design.random, self.covariance_slices, strict=True):
            factor = cholesky_factor(term, parameters[part])
            size = term.size
            diagonal = np.full(
                part.stop - part.start, 2.0 * term.n_groups * (size if term.structure == "identity" else 1)
            )
            if term.structure == "full":
                rows = lower_triangle(size)[0]
                diagonal[size:] = term.n_groups / np.maximum(factor.diagonal()[rows], SMALL_DIAGONAL) ** 2
            information[part, part] = np.diag(diagonal)
        return 0.5 * (information + information.T), by_u, by_v

    def _state(self, parameters: FloatArray) -> ModelState:
        end = self.n_thresholds + self.n_coefficients
        return ModelState(
            fixed=self.layout.covariates @ parameters[self.n_thresholds : end],
            thresholds=parameters[: self.n_thresholds],
            prior=self._prior(parameters),
        )

    def _predictors(self, state: ModelState, u: FloatArray, v: FloatArray) -> Predictors:
        n = len(self.design.answers)
        location, width = np.empty(n), np.empty(n if self.layout.has_width else 0)
        kernels.fill_predictors(self.layout.ratings, state.fixed, u, v, location, width)
        centre = 0.5 * float(state.thresholds[0] + state.thresholds[-1])
        return Predictors(
            location=location, width=width, centre=centre, distances=state.thresholds - centre, link=self.link
        )

    def _prior(self, parameters: FloatArray) -> EffectPrior:
        terms = self.design.random
        factors = [
            cholesky_factor(term, parameters[part]) for term, part in zip(terms, self.covariance_slices, strict=True)
        ]
        precisions = [invert_covariance(factor) for factor in factors]
        inner = np.zeros((self._v.shape[1], self._v.shape[1]))
        place = 0
        for j in self.layout.inner:
            end = place + terms[j].size
            inner[place:end, place:end] = precisions[j]
            place = end
        return EffectPrior(
            outer=tuple((terms[j].n_groups, precisions[j]) for j in self.layout.outer),
            inner=inner,
            half_log_determinant=-float(
                sum(
                    term.n_groups * np.log(factor.diagonal()).sum() for term, factor in zip(terms, factors, strict=True)
                )
            ),
        )

    def _factor(self, blocks: FloatArray, weights: FloatArray, prior: EffectPrior) -> Factorization | None:
        """Factor the Hessian; None if it is not positive definite."""
        determinant = kernels.factor_inner_blocks(blocks, prior.inner)
        if np.isnan(determinant):
            return None
        ratings = self.layout.ratings
        inner = InnerFactors(factors=blocks, cross=np.empty((*ratings.places.shape, blocks.shape[1])))
        kernels.fill_cross(ratings, weights, blocks, inner.cross)
        form = IterativeComplement if self.is_iterative else DenseComplement
        try:
            complement = form.from_weights(self.layout, inner, weights, prior.outer)
        except np.linalg.LinAlgError:
            return None
        return Factorization(
            inner=inner, complement=complement, log_determinant=determinant + complement.log_determinant
        )

    @property
    def is_iterative(self) -> bool:
        """True if the Schur complement of the outer effects is too large for a matrix."""
        return self.layout.n_outer > MOST_DENSE

    def _fill_covariance_gradient(
        self,
        gradient: FloatArray,
        parameters: FloatArray,
        term_number: int,
        effects: FloatArray,
        adjoint: FloatArray,
        variance: FloatArray,
    ) -> None:
        """Fill the gradient by one term's covariance, given its effects, their adjoints and summed variances."""
        term, part = self.design.random[term_number], self.covariance_slices[term_number]
        factor = cholesky_factor(term, parameters[part])
        precision = invert_covariance(factor)
        mixed = adjoint.T @ effects
        by_covariance = precision @ (effects.T @ effects + variance - 0.5 * (mixed + mixed.T)) @ precision
        by_covariance -= term.n_groups * precision
        gradient[part] = parameter_gradient(term, factor, 0.5 * by_covariance)
