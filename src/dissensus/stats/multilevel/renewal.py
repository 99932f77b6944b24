"""Renewed draws of random effects whose distribution is far from normal, such as widths."""

from dataclasses import replace
from typing import Final

import numpy as np

from dissensus.stats.multilevel.group_likelihood import GroupLikelihood
from dissensus.stats.multilevel.posterior import NormalApproximation, PosteriorDraws
from dissensus.stats.multilevel.replication import locate_ratings
from dissensus.stats.result import FloatArray

CANDIDATES: Final = 256
# Standard deviations of candidates, in those of normal draws.
INFLATION: Final = 1.5


def renew_widths(approximation: NormalApproximation, draws: PosteriorDraws, rng: np.random.Generator) -> PosteriorDraws:
    """Draw the effects of the term with widths anew, each group's from its exact conditional distribution.

    The width of a rater who never gives a middle answer is bounded on one side only, so that normal draws of it are too
    narrow. For each group, candidates are weighted by the exact density of its effects and answers (sampling-importance
    resampling, Rubin 1988), given the covariance in the draw, the estimates of other parameters and the modes of other
    effects. The result is moved by as much as the mean location of the group's ratings and the distance of the
    thresholds are in the draw.

    Parameters
    ----------
    approximation
        Approximation of the fitted model.
    draws
        Draws from it, of which each counts the same.
    rng
        Source of candidates.

    Returns
    -------
    PosteriorDraws
        The same draws with other effects of this term; unchanged if no term has widths.
    """
    likelihood, mode = approximation.likelihood, approximation.mode
    terms = likelihood.design.random
    number = next((j for j, term in enumerate(terms) if term.width), None)
    if number is None:
        return draws
    groups = GroupLikelihood.from_likelihood(likelihood, number)
    thresholds = approximation.parameters[: likelihood.n_thresholds]
    modes = likelihood.effects(mode.u, mode.v)[number]
    rest = groups.remove_effects(mode.predictors.location, mode.predictors.width, modes, thresholds)
    factors = draws.factors[number]
    candidates, log_proposal = _propose(draws.effects[number], float((factors[:, -1] ** 2).sum(1).mean()), rng)
    log_ratios = groups.evaluate(rest, candidates) - log_proposal
    effects = np.empty_like(draws.effects[number])
    for s, factor in enumerate(factors):
        scaled = candidates @ np.linalg.inv(factor).T
        weights = log_ratios - 0.5 * (scaled * scaled).sum(2)
        weights = np.exp(weights - weights.max(1, keepdims=True)).cumsum(1)
        index = (weights < rng.random((len(weights), 1)) * weights[:, -1:]).sum(1)
        effects[s] = candidates[np.arange(len(index)), index]
    counts = np.diff(groups.start)
    for s in range(len(effects)):
        location, width = locate_ratings(likelihood, draws, s)
        moved = groups.remove_effects(location, width, draws.effects[number][s], draws.thresholds[s])
        change = (moved.location - moved.centre) - (rest.location - rest.centre)
        effects[s, :, 0] -= np.bincount(groups.groups, change, len(counts)) / np.maximum(counts, 1)
        effects[s, :, -1] -= np.log(
            (moved.distances[-1] - moved.distances[0]) / (rest.distances[-1] - rest.distances[0])
        )
    return replace(draws, effects=(*draws.effects[:number], effects, *draws.effects[number + 1 :]))


def _propose(effects: FloatArray, width_variance: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return candidates of each group, and the logarithm of their density: wide, and half of the widths a priori."""
    mean, sd = effects.mean(0), INFLATION * effects.std(0)
    noise = rng.standard_normal((mean.shape[0], CANDIDATES, mean.shape[1]))
    candidates = mean[:, None] + sd[:, None] * noise
    candidates[:, ::2, -1] = np.sqrt(width_variance) * noise[:, ::2, -1]
    density = -0.5 * ((candidates - mean[:, None]) / sd[:, None]) ** 2 - np.log(sd)[:, None]
    width = np.logaddexp(
        density[:, :, -1], -0.5 * candidates[:, :, -1] ** 2 / width_variance - 0.5 * np.log(width_variance)
    )
    return candidates, density[:, :, :-1].sum(2) + width
