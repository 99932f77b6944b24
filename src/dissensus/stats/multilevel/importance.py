"""Pareto-smoothed importance sampling, and with it the certificate of a Laplace approximation."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.laplace import LaplaceLikelihood, Mode
from dissensus.stats.result import FloatArray

FEWEST_DRAWS: Final = 25
FEWEST_IN_TAIL: Final = 5
TINY: Final = float(np.finfo(np.float64).tiny)
# Draws in memory at a time: two threads compute their results, and wait for each other after so many.
BATCH_SIZE: Final = 16

Sample = TypeVar("Sample")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportanceWeights:
    """Normalized importance weights, with what they say about their own reliability.

    Parameters
    ----------
    weights
        Smoothed weights, shape (S,), with sum one.
    pareto_k
        Shape of the generalized Pareto distribution that fits the largest weights.
    log_mean
        Logarithm of the mean smoothed weight before normalization.
    """

    weights: FloatArray
    pareto_k: float
    log_mean: float

    @classmethod
    def equal(cls, n: int) -> "ImportanceWeights":
        """Return equal weights of draws from the target itself."""
        return cls(weights=np.full(n, 1 / n), pareto_k=-np.inf, log_mean=0.0)

    @property
    def is_exact(self) -> bool:
        """True if all weights are equal, as those of draws from the target itself."""
        return self.pareto_k == -np.inf

    @property
    def effective_draws(self) -> float:
        """Number of independent draws of the target that are worth as much."""
        return float(1 / (self.weights**2).sum())

    @property
    def is_reliable(self) -> bool:
        """True if `pareto_k` is at most min(1 - 1 / log10(S), 0.7), Vehtari et al.'s limit."""
        return self.is_exact or self.pareto_k <= min(1 - 1 / math.log10(len(self.weights)), 0.7)


def smooth_weights(log_ratios: FloatArray) -> ImportanceWeights:
    """Smooth importance weights by a generalized Pareto distribution of the largest ones.

    Vehtari, Simpson, Gelman, Yao & Gabry 2024, https://arxiv.org/abs/1507.02646; the distribution is fitted as in Zhang
    & Stephens 2009, https://doi.org/10.1198/tech.2009.08017, with the weak prior of the former.

    Parameters
    ----------
    log_ratios
        Logarithm of target over proposal density at each draw, up to a constant, shape (S,), S at least 25.

    Raises
    ------
    InvalidInput
        There are fewer than 25 draws.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_t(5, 2000)
    >>> log_ratios = -0.5 * draws**2 + 3 * np.log1p(draws**2 / 5)
    >>> weights = smooth_weights(log_ratios)
    >>> weights.is_reliable, round(float(weights.weights @ draws**2), 1)
    (True, 1.0)
    """
    n = len(log_ratios)
    if n < FEWEST_DRAWS:
        raise InvalidInput(f"There are {n} draws; smoothed weights need at least {FEWEST_DRAWS}.")
    largest = log_ratios.max()
    weights = np.exp(log_ratios - largest)
    n_tail = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    order = np.argsort(weights, kind="stable")
    cutoff = max(weights[order[-n_tail - 1]], TINY)
    tail = order[-n_tail:][weights[order[-n_tail:]] > cutoff]
    shape = np.inf if tail.size else -np.inf  # Few weights that count, or equal ones
    if tail.size >= FEWEST_IN_TAIL:
        shape, scale = _fit_pareto(weights[tail] - cutoff)
        exponential = -np.log1p(-(np.arange(tail.size) + 0.5) / tail.size)
        # Beyond the largest weight a quantile does not count.
        with np.errstate(over="ignore"):
            quantiles = exponential if abs(shape) < 1e-9 else np.expm1(shape * exponential) / shape
        weights[tail] = np.minimum(cutoff + scale * quantiles, 1.0)
    total = weights.sum()
    return ImportanceWeights(
        weights=weights / total, pareto_k=float(shape), log_mean=float(largest + np.log(total / n))
    )


def _fit_pareto(excess: FloatArray) -> tuple[float, float]:
    """Return shape and scale of a generalized Pareto distribution, given sorted values above zero."""
    n = len(excess)
    n_points = 30 + int(np.sqrt(n))
    quarter = excess[int(n / 4 + 0.5) - 1]
    quarter = max(quarter, TINY)
    points = 1 / excess[-1] + (1 - np.sqrt(n_points / (np.arange(1, n_points + 1) - 0.5))) / (3 * quarter)
    shapes = np.log1p(-points[:, None] * excess).mean(1)
    profile = n * (np.log(-points / shapes) - shapes - 1)
    shares = np.exp(profile - profile.max())
    point = float(points @ shares / shares.sum())
    shape = float(np.log1p(-point * excess).mean())
    scale = -shape / point
    return (shape * n + 5) / (n + 10), scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """Check of a Laplace approximation by importance sampling.

    Parameters
    ----------
    importance
        Weights of draws of the random effects.
    correction
        Log-likelihood less its Laplace approximation.
    correction_error
        Standard error of the correction.
    """

    importance: ImportanceWeights
    correction: float
    correction_error: float


def certify_laplace(
    likelihood: LaplaceLikelihood, mode: Mode, *, n_draws: int, rng: np.random.Generator
) -> Certificate:
    """Compare the Laplace approximation with the exact likelihood at the parameters of a mode.

    Random effects are drawn from the normal approximation, in opposite pairs, and weighted by the exact density. The
    mean weight estimates the ratio of the exact to the approximate likelihood without bias.
    """
    pairs = -(-n_draws // 2)
    noise = ((rng.standard_normal(mode.u.shape), rng.standard_normal(mode.v.shape)) for _ in range(pairs))
    ratios = np.array(list(map_in_threads(lambda drawn: _log_ratios(likelihood, mode, *drawn), noise)))
    importance = smooth_weights(ratios.ravel())
    by_pair = np.exp(ratios - ratios.max()).mean(1)
    return Certificate(
        importance=importance,
        correction=importance.log_mean,
        correction_error=float(by_pair.std(ddof=1) / by_pair.mean() / np.sqrt(pairs)),
    )


def map_in_threads(function: Callable[[Sample], Result], draws: Iterator[Sample]) -> Iterator[Result]:
    """Yield the result of each draw in their order; two threads compute a batch at a time."""
    with ThreadPoolExecutor(2) as pool:
        while batch := list(islice(draws, BATCH_SIZE)):
            yield from pool.map(function, batch)


def _log_ratios(likelihood: LaplaceLikelihood, mode: Mode, z: FloatArray, w: FloatArray) -> list[float]:
    """Return the log ratios of the random effects of a draw of the normal approximation, and of their opposites."""
    u, v = likelihood.transform_noise(mode, z, w)
    half = 0.5 * (float(z @ z) + float((w * w).sum()))
    return [likelihood.log_joint(mode.state, mode.u + s * u, mode.v + s * v) - mode.log_joint + half for s in (1, -1)]
