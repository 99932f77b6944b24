"""Fit of a model of ordered answers: effects of texts on each group, of raters, and of what the texts do not tell."""

from collections.abc import Sequence
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
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.prediction import RaterVariation, predict_shares

SWEEPS: Final = 3
"""Updates of each term between updates of weights and variances."""

LARGEST_STEP: Final = 3.0
"""Largest step of a rating's location."""

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
    max_iterations: int = 60,
    tolerance: float = 0.01,
) -> EffectFit:
    r"""Fit ordered answers to the sum of the effects of all terms, with a probit link.

    .. math:: P(y_n \le k) = \Phi(\tau_k - \eta_n), \quad \eta_n = \sum_t h_{t, u_t(n)}, \quad
              h_{tu} = z_{tu}' w_t + \varepsilon_{tu}, \quad
              w_{tj} \sim N(0, \rho_{t, b(j)}), \; \varepsilon_{tu} \sim N(0, \sigma^2_t)

    Effects are those of greatest posterior density, found by penalised quasi-likelihood (Breslow and Clayton 1993) term
    by term; variances follow MacKay's update; thresholds let the mean predicted shares be the observed ones.

    Parameters
    ----------
    answers
        Answer of each rating, from 0, shape (N,).
    n_answers
        Number of answers, K.
    terms
        The terms.
    max_iterations
        Limit of updates of the variances.
    tolerance
        Largest change of a standard deviation, of the effects of a term, at which the fit ends.

    Returns
    -------
    EffectFit

    Raises
    ------
    UndefinedEstimate
        All answers are the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> items = np.repeat(np.arange(200), 20)
    >>> harm = rng.normal(size=200)
    >>> answers = np.digitize(harm[items] + rng.normal(size=4000), [0.0, 0.5])
    >>> term = EffectTerm(
    ...     name="item", ratings=np.arange(4000), units=items, features=harm[:, None], blocks=np.zeros(1, np.int64)
    ... )
    >>> fit = fit_effects(answers, 3, [term])
    >>> fit.posteriors[0].weights.round(1).tolist(), fit.thresholds.round(1).tolist()
    ([1.0], [0.0, 0.5])
    """
    codes = np.ascontiguousarray(answers, np.int8)
    counts = np.bincount(codes, minlength=n_answers)
    if (counts > 0).sum() < 2:
        raise UndefinedEstimate("All answers are the same, so that nothing can be learned from them.")
    below = np.clip(np.cumsum(counts)[:-1] / len(codes), 0.5 / len(codes), 1 - 0.5 / len(codes))
    variances = {term.name: _start(term) for term in terms}
    values = [np.zeros(len(term.features)) for term in terms]
    posteriors: tuple[EffectPosterior, ...] = ()
    location, spread = np.zeros(len(codes)), np.zeros(len(codes))
    thresholds = _match_thresholds(location, spread, below)
    converged, n_iterations = False, 0
    while not converged and n_iterations < max_iterations:
        n_iterations += 1
        thresholds = _match_thresholds(location, spread, below, thresholds)
        slopes, weights = _differentiate(codes, location, thresholds)
        target = location + np.clip(slopes / weights, -LARGEST_STEP, LARGEST_STEP)
        updates = [EffectUpdate(term, weights, variances[term.name]) for term in terms]
        posteriors = _sweep(updates, values, location, target)
        spread = _add_variances(terms, posteriors, len(codes))
        before = variances
        variances = {
            name: estimate_variances(
                [update for update in updates if update.term.name == name],
                [part for part, term in zip(posteriors, terms, strict=True) if term.name == name],
                before[name],
            )
            for name in before
        }
        converged = max(_change(variances[term.name], before[term.name], term) for term in terms) < tolerance
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


def _differentiate(codes: npt.NDArray[np.int8], location: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return the derivative of each log-likelihood by its location, and minus the second derivative."""
    centre = 0.5 * float(thresholds[0] + thresholds[-1])
    point = kernels.Predictors(location, np.empty(0), centre, thresholds - centre, kernels.PROBIT)
    slopes, weights = np.empty(len(codes)), np.empty(len(codes))
    kernels.fill_slopes(codes, point, slopes, weights)
    return slopes, np.maximum(weights, 1e-6)


def _sweep(
    updates: Sequence[EffectUpdate], values: list[Floats], location: Floats, target: Floats
) -> tuple[EffectPosterior, ...]:
    """Update the effects of each term in turn; `values` and `location` change in place."""
    solved: list[tuple[Floats, Floats]] = []
    for _ in range(SWEEPS):
        solved = []
        for number, update in enumerate(updates):
            term = update.term
            own = values[number][term.units]
            weights, residuals = update.solve(target[term.ratings] - location[term.ratings] + own)
            values[number] = term.features @ weights + residuals
            location[term.ratings] += values[number][term.units] - own
            solved.append((weights, residuals))
    return tuple(update.posterior(*parts) for update, parts in zip(updates, solved, strict=True))


def _add_variances(terms: Sequence[EffectTerm], posteriors: Sequence[EffectPosterior], n: int) -> Floats:
    """Return the posterior variance of each rating's location, with terms taken as independent."""
    total = np.zeros(n)
    for term, posterior in zip(terms, posteriors, strict=True):
        total[term.ratings] += posterior.variances[term.units]
    return total


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


def _change(after: EffectVariances, before: EffectVariances, term: EffectTerm) -> float:
    """Return the largest change of a standard deviation of the term's effects."""
    size = np.sqrt(np.bincount(term.blocks, (term.features**2).mean(axis=0), minlength=term.n_blocks))
    of_blocks = np.abs(np.sqrt(after.weights) - np.sqrt(before.weights)) * size
    return float(max(of_blocks.max(initial=0), abs(after.residual**0.5 - before.residual**0.5)))
