"""Consistency of the residual of a multilevel model: the share of it that repeated answers have in common."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.kernels import PROBIT
from dissensus.stats.multilevel.posterior import ChainSample, NormalApproximation, PosteriorDraws
from dissensus.stats.multilevel.replication import locate_ratings, rating_order
from dissensus.stats.result import FloatArray, IntArray

SHARES: Final = np.linspace(0, 0.96, 49)
NODES: Final = np.linspace(-4.5, 4.5, 33)
"""Values of the common part of the residual, in standard deviations, over which answers are summed."""
FEWEST_DRAWS: Final = 4
MOST_DRAWS: Final = 20
SUMMED_REPEATS: Final = 10_000
"""Repeats, over all draws, beyond which there are fewer draws."""
SMALLEST_TAIL: Final = 1e-15
TAILS: Final = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualConsistency:
    """Share of the residual that repeats, with its interval and the number of repeated answers."""

    estimate: float
    ci_low: float
    ci_high: float
    n_repeats: int


def estimate_residual_consistency(
    approximation: NormalApproximation | ChainSample,
    draws: PosteriorDraws,
    rows: IntArray,
    second: IntArray,
    *,
    confidence: float = 0.95,
) -> ResidualConsistency:
    r"""Estimate the share of the residual that is the same when a rater answers an item again.

    .. math::

        P(x_1 = k, x_2 = l) = \int \phi(z) \prod_t P\bigl(a_t < \sqrt\rho\,z + \sqrt{1 - \rho}\,e_t \le b_t\bigr) \, dz

    with the distances :math:`a_t, b_t` of the thresholds beside answer t from the location of the rater on the item,
    and independent standard normal :math:`z, e_1, e_2`: :math:`\rho` is the correlation of both residuals, as a
    tetrachoric or polychoric correlation is. With the logit link :math:`a_t` and :math:`b_t` are the normal quantiles
    of logistic probabilities.

    The likelihood of a share is the product over pairs of their probabilities, each averaged over draws of effects and
    parameters given all first answers. The estimate is the posterior mean under a flat prior, with the shortest
    interval.

    Parameters
    ----------
    approximation
        Approximation or sample of the fitted model, from which `draws` come.
    draws
        Draws of parameters and effects.
    rows
        Ratings of the design that were repeated, shape (N,).
    second
        Category of the second answer of each, numbers from 0, shape (N,).
    confidence
        Confidence level.

    Returns
    -------
    ResidualConsistency
        From 0 to .96, the largest share that is considered.

    Raises
    ------
    UndefinedEstimate
        No answer was repeated.

    Notes
    -----
    The second answer is assumed to have the thresholds and effects of the first one. A rater who remembers an answer
    is consistent. Pairs of answers count as independent, although those of one rater share the error of its effect:
    where raters differ in consistency the interval is too narrow.
    """
    n = len(rows)
    if not n:
        raise UndefinedEstimate("Consistency is undefined: no item was answered twice by one rater.")
    n_draws = min(len(draws.thresholds), MOST_DRAWS, max(FEWEST_DRAWS, SUMMED_REPEATS // n))
    both = np.stack([approximation.likelihood.design.answers[rows], second], axis=1).astype(np.int64)
    weights = np.exp(-0.5 * NODES**2)
    sums = np.zeros((n, len(SHARES)))
    for number in np.linspace(0, len(draws.thresholds) - 1, n_draws).astype(int).tolist():
        edges = _standardize_thresholds(approximation, draws, rows, number)
        low, high = (np.take_along_axis(edges, both + place, axis=1) for place in (0, 1))
        kernels.add_repeat_probabilities(low, high, SHARES, NODES, weights / weights.sum(), sums)
    log_likelihood = np.log(np.maximum(sums, SMALLEST_TAIL)).sum(0)
    density = np.exp(log_likelihood - log_likelihood.max())
    density /= density.sum()
    ci_low, ci_high = _shortest_interval(density, confidence)
    return ResidualConsistency(estimate=float(density @ SHARES), ci_low=ci_low, ci_high=ci_high, n_repeats=n)


def _shortest_interval(density: FloatArray, confidence: float) -> tuple[float, float]:
    """Return the shortest interval with a probability, given those of `SHARES`."""
    below = np.concatenate([[0.0], np.cumsum(density)])
    ends = np.concatenate([SHARES[:1], 0.5 * (SHARES[1:] + SHARES[:-1]), SHARES[-1:]])
    lower_tails = np.linspace(0, 1 - confidence, TAILS)
    low, high = (np.interp(tails, below, ends) for tails in (lower_tails, lower_tails + confidence))
    shortest = int(np.argmin(high - low))
    return float(low[shortest]), float(high[shortest])


def _standardize_thresholds(
    approximation: NormalApproximation | ChainSample, draws: PosteriorDraws, rows: IntArray, number: int
) -> FloatArray:
    """Return the thresholds at some ratings as quantiles of their standard normal residual, between infinite ones."""
    likelihood = approximation.likelihood
    place = np.argsort(rating_order(likelihood))[rows]
    location, width = locate_ratings(likelihood, draws, number)
    thresholds = draws.thresholds[number]
    centre = 0.5 * (thresholds[0] + thresholds[-1])
    scale = np.exp(width[place]) if len(width) else np.ones(len(rows))
    edges = centre + (thresholds - centre) * scale[:, None] - location[place, None]
    if likelihood.link != PROBIT:
        shares = np.clip(1 / (1 + np.exp(-edges)), SMALLEST_TAIL, 1 - SMALLEST_TAIL)
        edges = np.vectorize(NormalDist().inv_cdf, otypes=[float])(shares)
    infinite = np.full((len(rows), 1), np.inf)
    return np.hstack([-infinite, edges, infinite])
