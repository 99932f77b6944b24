"""Laplace approximation of the marginal likelihood of a multilevel model, and its exact gradient.

Random effects z = (u, v) are integrated out by a normal approximation at their mode ẑ:

    log L(θ) = ℓ(ẑ) + log p(ẑ | θ) − log |H| ⁄ 2,   H = −∇∇(ℓ + log p) at ẑ,

up to a constant that cancels (Tierney & Kadane 1986, https://doi.org/10.1080/01621459.1986.10478240). The block of H
for the inner effects v is block diagonal, so v is eliminated group by group, and only the Schur complement onto the
outer effects u is a dense matrix. The gradient follows from the implicit derivative of the mode: one solution of H for
the derivatives of log |H| replaces a solution for each parameter (the adjoint method).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.covariance import (
    cholesky_factor,
    count_parameters,
    invert_covariance,
    parameter_gradient,
)
from dissensus.stats.multilevel.design import ModelDesign, ModelLayout
from dissensus.stats.multilevel.kernels import Predictors
from dissensus.stats.result import FloatArray

MAX_STEPS = 100
# Newton's decrement below which the mode is reached, and above which steps are shortened.
MODE_TOLERANCE = 1e-17
LARGE_DECREMENT = 0.5
SHORTEST_STEP = 1e-6
# Elements of a dense matrix that cost as much as an element of a sparse one.
SPARSE_FACTOR = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factorization:
    """The Hessian of the random effects: factors of the inner blocks and Schur complement onto the outer effects.

    Shapes: `factors` (inner groups, D, D); `cross` (N, slots, D); `complement` (outer effects, outer effects).
    """

    factors: FloatArray
    cross: FloatArray
    complement: FloatArray
    log_determinant: float


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
        definite = layout.has_width
        for _ in range(MAX_STEPS):
            point = self._predictors(state, u, v)
            blocks = np.empty((*v.shape, v.shape[1]))
            value = kernels.fill_gradients(ratings, point, definite, gradient_u, gradient_v, blocks, weights)
            value += prior.log_density(u, v)
            hessian = self._factor(blocks, weights, prior)
            if hessian is None and definite:
                break
            if hessian is None:
                definite = True
                continue
            right_u, right_v = gradient_u - prior.multiply_outer(u), gradient_v - v @ prior.inner
            step_u, step_v = self.solve(hessian, right_u, right_v)
            decrement = float(right_u @ step_u + (right_v * step_v).sum())
            if decrement < LARGE_DECREMENT and definite:
                definite = False
                continue
            if decrement < MODE_TOLERANCE * len(ratings.answers):
                self._u, self._v = u, v
                return Mode(state=state, u=u, v=v, predictors=point, log_joint=value, hessian=hessian)
            size = 1.0
            while decrement > LARGE_DECREMENT and size > SHORTEST_STEP:
                if self.log_joint(state, u + size * step_u, v + size * step_v) > value:
                    break
                size /= 2
            u, v = u + size * step_u, v + size * step_v
        raise UndefinedEstimate(
            "The random effects have no mode at these parameters; the answers may not determine the model."
        )

    def gradient(self, parameters: FloatArray, mode: Mode) -> FloatArray:
        """Gradient of the log-likelihood at the parameters whose mode is given, shape (parameters,)."""
        layout, point, hessian = self.layout, mode.predictors, mode.hessian
        ratings = layout.ratings
        inverse = np.linalg.inv(hessian.complement)
        variances = np.empty((len(ratings.answers), 3 if layout.has_width else 1))
        inner_variances = np.empty_like(hessian.factors)
        products = np.empty_like(hessian.cross)
        if self._is_dense:
            dense = (self._spread(hessian.cross) @ inverse).reshape(*mode.v.shape, layout.n_outer)
            kernels.gather_products(ratings.start, ratings.places, dense, products)
        else:
            kernels.fill_products(ratings.start, ratings.places, hessian.cross, inverse, products)
        kernels.fill_variances(ratings, hessian.factors, hessian.cross, inverse, products, variances, inner_variances)
        outer_traces, inner_traces = np.empty(layout.n_outer), np.empty_like(mode.v)
        kernels.fill_traces(ratings, point, variances, outer_traces, inner_traces)
        adjoint_u, adjoint_v = self.solve(hessian, outer_traces, inner_traces)
        by_profile, by_distance = np.empty(len(layout.covariates)), np.empty(self.n_thresholds)
        kernels.fill_scores(ratings, point, variances, adjoint_u, adjoint_v, by_profile, by_distance)
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
        for j, offset in zip(layout.outer, layout.offsets, strict=True):
            term = self.design.random[j]
            shape = (term.n_groups, term.size)
            part = slice(offset, offset + term.n_groups * term.size)
            index = np.arange(part.start, part.stop).reshape(shape)
            variance = inverse[index[:, :, None], index[:, None, :]].sum(0)
            self._fill_covariance_gradient(
                gradient, parameters, j, mode.u[part].reshape(shape), adjoint_u[part].reshape(shape), variance
            )
        return gradient

    def effects(self, u: FloatArray, v: FloatArray) -> tuple[FloatArray, ...]:
        """Effects of each term, shape (groups, effects of a group) each, in the order of the design."""
        terms, layout = self.design.random, self.layout
        effects: dict[int, FloatArray] = {}
        place = 0
        for j in layout.inner:
            effects[j] = v[:, place : place + terms[j].size]
            place += terms[j].size
        for j, offset in zip(layout.outer, layout.offsets, strict=True):
            end = offset + terms[j].n_groups * terms[j].size
            effects[j] = u[offset:end].reshape(-1, terms[j].size)
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
        u = np.linalg.solve(np.linalg.cholesky(mode.hessian.complement).T, z)
        v = w.copy()
        ratings = self.layout.ratings
        kernels.substitute_inner(ratings.start, ratings.places, mode.hessian.factors, mode.hessian.cross, u, v)
        return u, v

    def solve(self, hessian: Factorization, outer: FloatArray, inner: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve the Hessian for a right side, in outer and inner effects."""
        start, places = self.layout.ratings.start, self.layout.ratings.places
        u, v = outer.copy(), inner.copy()
        kernels.eliminate_inner(start, places, hessian.factors, hessian.cross, v, u)
        u[:] = np.linalg.solve(hessian.complement, u)
        kernels.substitute_inner(start, places, hessian.factors, hessian.cross, u, v)
        return u, v

    def information(self, parameters: FloatArray, mode: Mode) -> FloatArray:
        """Approximate information about the parameters: that of the joint mode, and of effects seen without error."""
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
        for j in range(n_mean):
            u, v = self.solve(mode.hessian, outer_cross[:, j], np.ascontiguousarray(inner_cross[:, :, j]))
            information[j, :n_mean] -= u @ outer_cross + np.tensordot(v, inner_cross, axes=2)
        for term, part in zip(self.design.random, self.covariance_slices, strict=True):
            factor = cholesky_factor(term, parameters[part])
            size = term.size
            diagonal = np.full(
                part.stop - part.start, 2.0 * term.n_groups * (size if term.structure == "identity" else 1)
            )
            if term.structure == "full":
                rows = np.tril_indices(size, -1)[0]
                diagonal[size:] = term.n_groups / np.diag(factor)[rows] ** 2
            information[part, part] = np.diag(diagonal)
        return 0.5 * (information + information.T)

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
                sum(term.n_groups * np.log(np.diag(factor)).sum() for term, factor in zip(terms, factors, strict=True))
            ),
        )

    def _factor(self, blocks: FloatArray, weights: FloatArray, prior: EffectPrior) -> Factorization | None:
        """Factor the Hessian; None if it is not positive definite."""
        ratings, n_outer = self.layout.ratings, self.layout.n_outer
        determinant = kernels.factor_inner_blocks(blocks, prior.inner)
        if np.isnan(determinant):
            return None
        cross = np.empty((*ratings.places.shape, blocks.shape[1]))
        half = np.zeros((n_outer, n_outer))
        kernels.fill_cross(ratings, weights, blocks, cross, half)
        if self._is_dense:
            dense = self._spread(cross)
            half -= 0.5 * dense.T @ dense
        else:
            kernels.subtract_squares(ratings.start, ratings.places, cross, half)
        complement = half + half.T
        start = 0
        for n_groups, precision in prior.outer:
            index = start + np.arange(n_groups * len(precision)).reshape(n_groups, -1)
            complement[index[:, :, None], index[:, None, :]] += precision
            start += index.size
        try:
            diagonal = np.diag(np.linalg.cholesky(complement))
        except np.linalg.LinAlgError:
            return None
        return Factorization(
            factors=blocks,
            cross=cross,
            complement=complement,
            log_determinant=determinant + 2 * float(np.log(diagonal).sum()),
        )

    @property
    def _is_dense(self) -> bool:
        """True if the block between outer and inner effects is a dense matrix of moderate size."""
        return self._v.size * len(self._u) <= SPARSE_FACTOR * self.layout.ratings.places.size * self._v.shape[1]

    def _spread(self, cross: FloatArray) -> FloatArray:
        """Block between inner and outer effects as a dense matrix, shape (inner effects, outer effects)."""
        dense = np.zeros((*self._v.shape, len(self._u)))
        kernels.spread_cross(self.layout.ratings.start, self.layout.ratings.places, cross, dense)
        return dense.reshape(self._v.size, len(self._u))

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
