"""Consistency of the residual of a multilevel model: the share of it that repeated answers have in common."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.kernels import PROBIT
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.replication import locate_ratings, rating_order
from dissensus.stats.result import ZERO, FloatArray, IntArray

SHARES: Final = np.linspace(0, 0.96, 49)
NODES: Final = np.linspace(-4.5, 4.5, 33)
"""Values of the common part of the residual, in standard deviations, over which answers are summed."""
FEWEST_DRAWS: Final = 4
MOST_DRAWS: Final = 20
SUMMED_REPEATS: Final = 10_000
"""Repeats, over all draws, beyond which there are fewer draws."""
SMALLEST_TAIL: Final = 1e-15
TAILS: Final = 101


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResidualConsistency:
    """Share of the residual that repeats, with its interval and the number of repeated answers.

    `expected` is the probability of each second answer to equal the first at the estimate, shape (N,).
    """

    estimate: float
    ci_low: float
    ci_high: float
    n_repeats: int
    expected: FloatArray


def estimate_residual_consistency(
    likelihood: LaplaceLikelihood,
    draws: PosteriorDraws,
    rows: IntArray,
    second: IntArray,
    *,
    confidence: float,
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
    likelihood
        Likelihood of the fitted model.
    draws
        Draws of its parameters and effects.
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
    where raters differ in consistency, which `compare_consistency` tests, the interval is too narrow.
    """
    n = len(rows)
    if not n:
        raise UndefinedEstimate("Consistency is undefined: no item was answered twice by one rater.")
    n_draws = min(len(draws.thresholds), MOST_DRAWS, max(FEWEST_DRAWS, SUMMED_REPEATS // n))
    numbers = np.linspace(0, len(draws.thresholds) - 1, n_draws).astype(int).tolist()
    edges = [_standardize_thresholds(likelihood, draws, rows, number) for number in numbers]
    first = likelihood.design.answers[rows].astype(np.int64)
    probabilities = _average_probabilities(edges, first, second, SHARES)
    log_likelihood = np.log(np.maximum(probabilities, SMALLEST_TAIL)).sum(0)
    density = np.exp(log_likelihood - log_likelihood.max())
    density /= density.sum()
    estimate = float(density @ SHARES)
    ci_low, ci_high = _shortest_interval(density, confidence)
    return ResidualConsistency(
        estimate=estimate,
        ci_low=ci_low,
        ci_high=ci_high,
        n_repeats=n,
        expected=_average_probabilities(edges, first, first, np.array([estimate]))[:, 0],
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsistencyComparison:
    """Test that all raters repeat their answers as often as one consistency for all expects.

    Parameters
    ----------
    p
        P-value.
    deviations
        Equal answers of each rater less those expected, in standard deviations, shape (R,); NaN without repeats.
    """

    p: float
    deviations: FloatArray


def compare_consistency(
    raters: IntArray, equal: npt.NDArray[np.bool_], expected: FloatArray, *, n_raters: int
) -> ConsistencyComparison:
    r"""Test whether raters differ in how often they repeat an answer.

    .. math:: Q = \sum_r \frac{\bigl(\sum_{n \in r} (e_n - p_n)\bigr)^2}{\sum_{n \in r} p_n (1 - p_n)}

    with 1 for an equal second answer :math:`e_n` and its probability :math:`p_n`. As raters have few repeats, Q is
    compared with the multiple of a chi-square variable that has its mean and variance under equal consistency
    (Satterthwaite 1946, https://doi.org/10.2307/3002019), by Wilson & Hilferty's normal approximation
    (1931, https://doi.org/10.1073/pnas.17.12.684).

    Parameters
    ----------
    raters, equal, expected
        Rater, whether the second answer equals the first, and the probability of that, for each repeat, shape (N,).
    n_raters
        Number R of raters.

    Raises
    ------
    UndefinedEstimate
        Fewer than two raters have repeats, or each has a single one that is equal with a probability of one half, so
        that Q is the same whatever they answer.
    """
    spread = expected * (1 - expected)
    variance = np.bincount(raters, spread, n_raters)
    has_repeats = variance > 0
    if has_repeats.sum() < 2:
        raise UndefinedEstimate("Consistency of raters is compared between two or more of them.")
    difference = np.bincount(raters, equal - expected, n_raters)[has_repeats]
    fourth = np.bincount(raters, spread * (1 - 6 * spread), n_raters)[has_repeats]
    squares = difference**2 / variance[has_repeats]
    mean = float(has_repeats.sum())
    spread_of_sum = float((2 + fourth / variance[has_repeats] ** 2).sum())
    if spread_of_sum < ZERO:
        raise UndefinedEstimate(
            "Consistency of raters cannot be compared: each has one repeat, equal by an even chance."
        )
    df = 2 * mean**2 / spread_of_sum
    cube_root = (float(squares.sum()) / mean) ** (1 / 3)
    z = (cube_root - (1 - 2 / (9 * df))) / math.sqrt(2 / (9 * df))
    deviations = np.full(n_raters, np.nan)
    deviations[has_repeats] = difference / np.sqrt(variance[has_repeats])
    return ConsistencyComparison(p=NormalDist().cdf(-z), deviations=deviations)


def _average_probabilities(
    edges: list[FloatArray], first: IntArray, second: IntArray, shares: FloatArray
) -> FloatArray:
    """Return the probability of each second answer given the first by share, averaged over draws of thresholds."""
    both = np.stack([first, second], axis=1)
    weights = np.exp(-0.5 * NODES**2)
    sums = np.zeros((len(first), len(shares)))
    for bounds in edges:
        low, high = (np.take_along_axis(bounds, both + place, axis=1) for place in (0, 1))
        kernels.add_repeat_probabilities(low, high, shares, NODES, weights / weights.sum(), sums)
    return sums / len(edges)


def _shortest_interval(density: FloatArray, confidence: float) -> tuple[float, float]:
    """Return the shortest interval with a probability, given those of `SHARES`."""
    below = np.concatenate([[0.0], np.cumsum(density)])
    ends = np.concatenate([SHARES[:1], 0.5 * (SHARES[1:] + SHARES[:-1]), SHARES[-1:]])
    lower_tails = np.linspace(0, 1 - confidence, TAILS)
    low, high = (np.interp(tails, below, ends) for tails in (lower_tails, lower_tails + confidence))
    shortest = int(np.argmin(high - low))
    return float(low[shortest]), float(high[shortest])


def _standardize_thresholds(
    likelihood: LaplaceLikelihood, draws: PosteriorDraws, rows: IntArray, number: int
) -> FloatArray:
    """Return the thresholds at some ratings as quantiles of their standard normal residual, between infinite ones."""
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
