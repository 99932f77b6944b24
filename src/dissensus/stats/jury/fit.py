"""Ordered probit fit by expectation propagation: effects of text features by group, of raters, and residuals."""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.jury.effects import (
    EffectPosterior,
    EffectTerm,
    EffectUpdate,
    EffectVariances,
    estimate_variances,
)
from dissensus.stats.jury.likelihood import SCALE_PRECISION, AnswerLikelihood, Cavity, NormalSites
from dissensus.stats.jury.uncertainty import UnitKind, UnitUncertainty
from dissensus.stats.result import BoolArray, FloatArray, IntArray

SWEEPS: Final = 3
"""Updates of each term between updates of weights and variances."""

WINDOW: Final = 5
"""Updates over which variances must not change."""

SMALL_DEVIATION: Final = 0.1
"""Floor of a standard deviation in the relative criterion of convergence."""

SCALE_STEP: Final = 0.2
"""Step of the logarithm of the choice scale in finite differences."""

SCALE_UPDATES: Final = 15
"""Updates of the effects after each such step."""

_START = 0.2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectFit:
    """Fitted thresholds and effects.

    Parameters
    ----------
    thresholds
        Thresholds between answers, increasing, shape (K - 1,).
    posteriors
        Effects of each term.
    variances
        Variances by the name of terms.
    choice_scale
        Multiple of the effects in choices beside ordered answers; 1 without them.
    converged
        False if the limit of updates ended the fit.
    """

    thresholds: FloatArray
    posteriors: tuple[EffectPosterior, ...]
    variances: dict[str, EffectVariances]
    choice_scale: float
    converged: bool


def fit_effects(
    answers: IntArray,
    n_answers: int,
    terms: Sequence[EffectTerm],
    *,
    choices: BoolArray | None = None,
    max_iterations: int = 200,
    tolerance: float = 0.02,
) -> EffectFit:
    r"""Fit ordered answers to the sum of the effects of all terms, with a probit link.

    .. math:: P(y_n \le k) = \Phi(\tau_k - \eta_n), \quad \eta_n = \sum_t l_{tn} h_{t, u_t(n)}, \quad
              h_{tu} = z_{tu}' w_t + \varepsilon_{tu}, \quad
              w_{tj} \sim N(0, \rho_{t, b(j)}), \; \varepsilon_{tu} \sim N(0, \sigma^2_t)

    The likelihood of each answer is approximated by a normal site (expectation propagation, Minka 2001). Effects are
    the posterior mode, found by coordinate ascent over the terms. Variances are updated by MacKay's rule (1992, eq.
    4.6). Thresholds are those at which the mean predicted shares equal the observed ones, smoothed by half a count for
    each answer.

    Choices between two texts are answered 0 or 1, with the threshold 0. If there are ordered answers too, the effects
    in choices are multiplied by a scale. Its logarithm has a normal prior with mean 0 and standard deviation 2, and its
    mode is found by Fisher scoring on the evidence of each choice given all other answers (Seeger 2005).

    Parameters
    ----------
    answers
        Answer of each rating, from 0, shape (N,). Ratings without an answer must be left out.
    n_answers
        Number of answers, K.
    terms
        Terms of the linear predictor.
    choices
        True for choices between two texts, shape (N,); none by default.
    max_iterations
        Limit of updates of the variances.
    tolerance
        Largest relative change of the standard deviations and of the choice scale over `WINDOW` updates at which the
        fit ends. Changes of values below `SMALL_DEVIATION` are relative to it.

    Returns
    -------
    EffectFit
        `converged` is False if `max_iterations` ended the fit.

    Raises
    ------
    UndefinedEstimate
        All ordered answers are the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> items = np.repeat(np.arange(200), 20)
    >>> harm = rng.normal(size=200)
    >>> answers = np.digitize(harm[items] + rng.normal(size=4000), [0.0, 0.5])
    >>> term = EffectTerm(
    ...     name="item", kind="item", units=items, loadings=np.ones(4000), features=harm[:, None],
    ...     blocks=np.zeros(1, np.int64),
    ... )
    >>> fit = fit_effects(answers, 3, [term])
    >>> fit.posteriors[0].weights.round(1).tolist(), fit.thresholds.round(1).tolist()
    ([1.0], [0.0, 0.5])
    """
    likelihood = AnswerLikelihood(answers, n_answers, choices)
    if (likelihood.counts > 0).sum() < 2 and not likelihood.is_choice.all():
        raise UndefinedEstimate("All answers are the same, so that nothing can be learned from them.")
    state = _FitState(likelihood, terms)
    history: list[FloatArray] = []
    converged = False
    while not converged and len(history) < max_iterations:
        state.update_sites()
        state.update_effects()
        state.update_variances()
        deviations = (_deviations(term, state.variances[term.name]) for term in state.terms)
        history.append(np.concatenate([*deviations, [state.scale]]))
        converged = _is_settled(history, tolerance)
    return EffectFit(
        thresholds=state.thresholds,
        posteriors=_spread_scale(state) if likelihood.is_scaled else state.posteriors,
        variances=state.variances,
        choice_scale=state.scale,
        converged=converged,
    )


class _FitState:
    """State of the fit: effects, likelihood sites and variances, each updated given the others."""

    __slots__ = (
        *("kinds", "likelihood", "location", "posteriors", "scale", "sites", "spreads", "terms", "thresholds"),
        *("values", "variances"),
    )

    def __init__(self, likelihood: AnswerLikelihood, terms: Sequence[EffectTerm]) -> None:
        """Begin with effects of 0."""
        n = len(likelihood.codes)
        self.likelihood, self.terms, self.kinds = likelihood, list(terms), _group_kinds(terms)
        self.variances = {term.name: _start(term) for term in terms}
        self.values = [np.zeros(len(term.features)) for term in terms]
        self.location, self.spreads = np.zeros(n), {name: np.zeros(n) for name in self.kinds}
        self.thresholds = likelihood.match_thresholds(self.location, self.location)
        self.sites, self.scale = NormalSites.empty(n), 1.0
        self.posteriors: tuple[EffectPosterior, ...] = ()

    def copy(self) -> "_FitState":
        """Return an independent copy."""
        other = copy(self)
        other.values, other.location = list(self.values), self.location.copy()
        return other

    @property
    def cavity(self) -> Cavity:
        """Mean and variance of each location by all other answers."""
        return Cavity.leave_out(self.location, _sum_spreads(self.spreads, len(self.location)), self.sites)

    def multiply_scale(self, ratio: float) -> None:
        """Multiply the choice scale, with the same effects."""
        factor = np.where(self.likelihood.is_choice, ratio, 1.0)
        self.scale *= ratio
        self.terms = [replace(term, loadings=term.loadings * factor) for term in self.terms]
        self.kinds, self.sites = _group_kinds(self.terms), self.sites.rescale(factor)
        self.location = self.location * factor
        self.spreads = {name: part * factor**2 for name, part in self.spreads.items()}

    def update_sites(self, *, fix_scale: bool = False) -> None:
        """Update the thresholds, the choice scale unless it is fixed, and the likelihood sites."""
        spread = _sum_spreads(self.spreads, len(self.location))
        self.thresholds = self.likelihood.match_thresholds(self.location, spread, self.thresholds)
        if self.likelihood.is_scaled and not fix_scale:
            self.multiply_scale(self.likelihood.rescale_choices(self.cavity, self.scale))
        self.sites = self.likelihood.approximate(self.thresholds, self.cavity, self.sites)

    def update_effects(self) -> None:
        """Update the effects of each term in turn, and their uncertainty."""
        weights, targets = self.sites
        updates = [EffectUpdate(term, weights, self.variances[term.name]) for term in self.terms]
        solved = _sweep(updates, self.values, self.location, targets)
        uncertain = {
            name: kind.measure(
                _discount(weights, self.spreads, name), [self.variances[term.name] for term in kind.terms]
            )
            for name, kind in self.kinds.items()
        }
        self.spreads = {name: part.locations for name, part in uncertain.items()}
        self.posteriors = _combine(self.terms, solved, uncertain)

    def update_variances(self) -> None:
        """Update the variances that terms of one name share."""
        self.variances = {
            name: estimate_variances(
                [term for term in self.terms if term.name == name],
                [part for part, term in zip(self.posteriors, self.terms, strict=True) if term.name == name],
                before,
            )
            for name, before in self.variances.items()
        }


def _spread_scale(state: _FitState) -> tuple[EffectPosterior, ...]:
    """Add the uncertainty about the choice scale to the covariances of the effects (delta method).

    Effects and the gradient of the evidence are recomputed at a smaller and at a larger scale, with fixed variances.
    """
    sides, gradients = [], []
    for step in (-SCALE_STEP, SCALE_STEP):
        side = state.copy()
        side.multiply_scale(math.exp(step))
        for _ in range(SCALE_UPDATES):
            side.update_sites(fix_scale=True)
            side.update_effects()
        sides.append(side.posteriors)
        gradients.append(side.likelihood.choice_evidence(side.cavity)[1])
    curvature = (gradients[0] - gradients[1]) / (2 * SCALE_STEP)
    variance = 1 / (SCALE_PRECISION + max(curvature, 0.0))
    slopes = [(high.weights - low.weights) / (2 * SCALE_STEP) for low, high in zip(*sides, strict=True)]
    return tuple(
        replace(posterior, covariance=posterior.covariance + variance * np.outer(slope, slope))
        for posterior, slope in zip(state.posteriors, slopes, strict=True)
    )


def _group_kinds(terms: Sequence[EffectTerm]) -> dict[str, UnitKind]:
    """Return the terms by the kind of their units."""
    names = dict.fromkeys(term.kind for term in terms)
    return {name: UnitKind([term for term in terms if term.kind == name]) for name in names}


def _start(term: EffectTerm) -> EffectVariances:
    """Return initial variances, at which all blocks contribute equally to the effects."""
    square = (term.features**2).mean(axis=0)
    size = np.bincount(term.blocks, square, minlength=term.n_blocks)
    return EffectVariances(weights=_START / np.maximum(size, 1e-9), residual=_START * term.has_residuals)


def _sweep(
    updates: Sequence[EffectUpdate], values: list[FloatArray], location: FloatArray, target: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Update the weights and residuals of each term in turn; `values` and `location` change in place."""
    solved: list[tuple[FloatArray, FloatArray]] = []
    for _ in range(SWEEPS):
        solved = []
        for number, update in enumerate(updates):
            term = update.term
            own = values[number][term.units] * term.loadings
            weights, residuals = update.solve(target - location + own)
            values[number] = term.features @ weights + residuals
            location += values[number][term.units] * term.loadings - own
            solved.append((weights, residuals))
    return solved


def _combine(
    terms: Sequence[EffectTerm],
    solved: Sequence[tuple[FloatArray, FloatArray]],
    uncertain: Mapping[str, UnitUncertainty],
) -> tuple[EffectPosterior, ...]:
    """Return the effects of each term with their uncertainty."""
    covariances = {name: iter(part.covariances) for name, part in uncertain.items()}
    variances = {name: iter(part.residuals) for name, part in uncertain.items()}
    return tuple(
        EffectPosterior(
            weights=weights,
            covariance=next(covariances[term.kind]),
            residuals=residuals,
            residual_variances=next(variances[term.kind]),
        )
        for term, (weights, residuals) in zip(terms, solved, strict=True)
    )


def _sum_spreads(spreads: Mapping[str, FloatArray], n: int) -> FloatArray:
    """Return the posterior variance of each rating's location, with kinds of units taken as independent."""
    return np.asarray(sum(spreads.values(), np.zeros(n)))


def _discount(weights: FloatArray, spreads: Mapping[str, FloatArray], kind: str) -> FloatArray:
    """Return the weights of ratings for one kind of units, reduced by the uncertainty about units of other kinds."""
    discounted = weights
    for name, spread in spreads.items():
        if name != kind:
            discounted = discounted * np.clip(1 - weights * spread, 0.01, 1)
    return discounted


def _deviations(term: EffectTerm, variances: EffectVariances) -> FloatArray:
    """Return the standard deviations of the term's effects by each block of features, and of its residuals."""
    size = np.bincount(term.blocks, (term.features**2).mean(axis=0), minlength=term.n_blocks)
    return np.asarray(np.sqrt([*(variances.weights * size), variances.residual]))


def _is_settled(history: Sequence[FloatArray], tolerance: float) -> bool:
    """Return whether the relative changes over the last `WINDOW` updates are within the tolerance."""
    if len(history) <= WINDOW:
        return False
    before, after = history[-1 - WINDOW], history[-1]
    return bool((np.abs(after - before) <= tolerance * np.maximum(after, SMALL_DEVIATION)).all())
