"""Fit of a model of ordered answers: effects of texts on each group, of raters, and of what the texts do not tell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import Floats
from dissensus.stats.jury.effects import (
    EffectPosterior,
    EffectTerm,
    EffectUpdate,
    EffectVariances,
    estimate_variances,
)
from dissensus.stats.jury.uncertainty import UnitKind, UnitUncertainty
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.prediction import RaterVariation, predict_shares

SWEEPS: Final = 3
"""Updates of each term between updates of weights and variances."""

WINDOW: Final = 5
"""Updates over which variances must not change."""

SMALL_DEVIATION: Final = 0.1
"""Standard deviation below which changes count as those of this one."""

_START = 0.2
_TAILS = np.frompyfunc(math.erfc, 1, 1)


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
    n_iterations
        Number of updates of the variances.
    converged
        False if the limit of updates ended the fit.
    """

    thresholds: Floats
    posteriors: tuple[EffectPosterior, ...]
    variances: dict[str, EffectVariances]
    n_iterations: int
    converged: bool


def fit_effects(
    answers: npt.NDArray[np.integer],
    n_answers: int,
    terms: Sequence[EffectTerm],
    *,
    known_thresholds: Floats | None = None,
    max_iterations: int = 200,
    tolerance: float = 0.02,
) -> EffectFit:
    r"""Fit ordered answers to the sum of the effects of all terms, with a probit link.

    .. math:: P(y_n \le k) = \Phi(\tau_k - \eta_n), \quad \eta_n = \sum_t l_{tn} h_{t, u_t(n)}, \quad
              h_{tu} = z_{tu}' w_t + \varepsilon_{tu}, \quad
              w_{tj} \sim N(0, \rho_{t, b(j)}), \; \varepsilon_{tu} \sim N(0, \sigma^2_t)

    A normal likelihood stands for that of each answer (expectation propagation, Minka 2001); effects are those of
    greatest posterior density, term by term; variances follow MacKay's update; thresholds let the mean predicted shares
    be the observed ones.

    Parameters
    ----------
    answers
        Answer of each rating, from 0, shape (N,).
    n_answers
        Number of answers, K.
    terms
        The terms.
    known_thresholds
        Thresholds, shape (K - 1,), where they are known, such as 0 for choices between two; fitted by default.
    max_iterations
        Limit of updates of the variances.
    tolerance
        Largest relative change of a standard deviation, over five updates, at which the fit ends.

    Returns
    -------
    EffectFit

    Raises
    ------
    UndefinedEstimate
        All answers are the same, and thresholds are to be fitted.

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
    codes = np.ascontiguousarray(answers, np.int8)
    counts = np.bincount(codes, minlength=n_answers)
    if (counts > 0).sum() < 2 and known_thresholds is None:
        raise UndefinedEstimate("All answers are the same, so that nothing can be learned from them.")
    below = np.cumsum(counts + 0.5)[:-1] / (len(codes) + 0.5 * n_answers)
    variances = {term.name: _start(term) for term in terms}
    values = [np.zeros(len(term.features)) for term in terms]
    kinds = {
        name: UnitKind([term for term in terms if term.kind == name])
        for name in dict.fromkeys(term.kind for term in terms)
    }
    posteriors: tuple[EffectPosterior, ...] = ()
    location, spreads = np.zeros(len(codes)), {name: np.zeros(len(codes)) for name in kinds}
    thresholds = _match_thresholds(location, location, below) if known_thresholds is None else known_thresholds
    weights, target = np.zeros(len(codes)), np.zeros(len(codes))
    history: list[Floats] = []
    converged, n_iterations = False, 0
    while not converged and n_iterations < max_iterations:
        n_iterations += 1
        if known_thresholds is None:
            thresholds = _match_thresholds(location, _add(spreads, len(codes)), below, thresholds)
        weights, target = _approximate(codes, thresholds, location, _add(spreads, len(codes)), weights, target)
        solved = _sweep([EffectUpdate(term, weights, variances[term.name]) for term in terms], values, location, target)
        uncertain = {
            name: kind.measure(_discount(weights, spreads, name), [variances[term.name] for term in kind.terms])
            for name, kind in kinds.items()
        }
        spreads = {name: part.locations for name, part in uncertain.items()}
        posteriors = _combine(terms, solved, uncertain)
        variances = {
            name: estimate_variances(
                [term for term in terms if term.name == name],
                [part for part, term in zip(posteriors, terms, strict=True) if term.name == name],
                before,
            )
            for name, before in variances.items()
        }
        history.append(np.concatenate([_deviations(term, variances[term.name]) for term in terms]))
        converged = _is_settled(history, tolerance)
    return EffectFit(
        thresholds=thresholds,
        posteriors=posteriors,
        variances=variances,
        n_iterations=n_iterations,
        converged=converged,
    )


def _start(term: EffectTerm) -> EffectVariances:
    """Return variances at which each block contributes the same to the effects."""
    square = (term.features**2).mean(axis=0)
    size = np.bincount(term.blocks, square, minlength=term.n_blocks)
    return EffectVariances(weights=_START / np.maximum(size, 1e-9), residual=_START * term.has_residuals)


def _approximate(
    codes: npt.NDArray[np.integer],
    thresholds: Floats,
    location: Floats,
    spread: Floats,
    weights: Floats,
    target: Floats,
) -> tuple[Floats, Floats]:
    """Return the weight and the target of each rating whose normal likelihood stands for that of its answer.

    Its product with what all other ratings tell of the location has the mean and the variance of the exact one
    (expectation propagation); half a step from the weights and targets before.
    """
    left = 1 / np.maximum(1 - weights * spread, 0.1)
    variance = spread * left
    mean = location + variance * weights * (location - target)
    scale = np.sqrt(1 + variance)
    bounds = np.concatenate([[-np.inf], thresholds, [np.inf]])
    low, high = (bounds[codes] - mean) / scale, (bounds[codes + 1] - mean) / scale
    slope, curvature = _differentiate(low, high)
    slope, curvature = slope / scale, np.clip(curvature, 1e-6, 1 - 1e-6) / scale**2
    after = curvature / (1 - curvature * variance)
    pull = after * (mean + slope / curvature)
    if weights.any():
        after, pull = 0.5 * (after + weights), 0.5 * (pull + weights * target)
    return after, pull / after


def _differentiate(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the derivative of log(Φ(high - m) - Φ(low - m)) at m = 0, and minus the second derivative."""
    flip = np.where(low + high > 0, -1.0, 1.0)  # The lower tail, where differences are exact
    below, above = np.where(flip < 0, -high, low), np.where(flip < 0, -low, high)
    share = np.maximum(_cumulate(above) - _cumulate(below), 1e-300)
    of_below, of_above = (np.exp(-0.5 * bound**2) / np.sqrt(2 * np.pi) / share for bound in (below, above))
    slope = of_below - of_above
    bend = np.where(np.isfinite(above), above, 0) * of_above - np.where(np.isfinite(below), below, 0) * of_below
    return flip * slope, slope**2 + bend


def _cumulate(bounds: Floats) -> Floats:
    """Return the normal distribution function."""
    return np.asarray(_TAILS(bounds * -math.sqrt(0.5)), np.float64) / 2


def _sweep(
    updates: Sequence[EffectUpdate], values: list[Floats], location: Floats, target: Floats
) -> list[tuple[Floats, Floats]]:
    """Update the weights and residuals of each term in turn; `values` and `location` change in place."""
    solved: list[tuple[Floats, Floats]] = []
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
    terms: Sequence[EffectTerm], solved: Sequence[tuple[Floats, Floats]], uncertain: Mapping[str, UnitUncertainty]
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


def _add(spreads: Mapping[str, Floats], n: int) -> Floats:
    """Return the posterior variance of each rating's location, with kinds of units taken as independent."""
    return np.asarray(sum(spreads.values(), np.zeros(n)))


def _discount(weights: Floats, spreads: Mapping[str, Floats], kind: str) -> Floats:
    """Return the weights of ratings for one kind of units, less what is uncertain about the units of other kinds."""
    discounted = weights
    for name, spread in spreads.items():
        if name != kind:
            discounted = discounted * np.clip(1 - weights * spread, 0.01, 1)
    return discounted


def _match_thresholds(location: Floats, spread: Floats, below: Floats, start: Floats | None = None) -> Floats:
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


def _deviations(term: EffectTerm, variances: EffectVariances) -> Floats:
    """Return the standard deviations of the term's effects by each block of features, and of its residuals."""
    size = np.bincount(term.blocks, (term.features**2).mean(axis=0), minlength=term.n_blocks)
    return np.asarray(np.sqrt([*(variances.weights * size), variances.residual]))


def _is_settled(history: Sequence[Floats], tolerance: float) -> bool:
    """Return whether no standard deviation changed over some updates, beside its size or a small one."""
    if len(history) <= WINDOW:
        return False
    before, after = history[-1 - WINDOW], history[-1]
    return bool((np.abs(after - before) <= tolerance * np.maximum(after, SMALL_DEVIATION)).all())
