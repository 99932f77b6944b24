"""Convergence of Markov chains: rank-normalized split R̂, and bulk and tail effective sample size.

Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021, https://doi.org/10.1214/20-BA1221.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray

LARGEST_R_HAT: Final = 1.01
FEWEST_EFFECTIVE: Final = 100
"""Limits of Vehtari et al.: R̂, and effective draws a chain."""
FEWEST_ITERATIONS: Final = 8
TAILS: Final = (0.05, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChainConvergence:
    """Convergence of chains for Q quantities.

    Parameters
    ----------
    r_hat
        Rank-normalized split R̂, at least about 1, shape (Q,); NaN for a quantity that never changes.
    bulk, tail
        Effective draws for the centre and for the 5 % and 95 % quantiles, shape (Q,).
    n_chains
        Number of chains.
    """

    r_hat: FloatArray
    bulk: FloatArray
    tail: FloatArray
    n_chains: int

    @property
    def is_reached(self) -> bool:
        """True if R̂ is at most 1.01, with at least 100 effective draws a chain, for all quantities that change."""
        fewest = FEWEST_EFFECTIVE * self.n_chains
        moves = ~np.isnan(self.r_hat)
        return bool(
            (self.r_hat[moves] <= LARGEST_R_HAT).all()
            and (self.bulk[moves] >= fewest).all()
            and (self.tail[moves] >= fewest).all()
        )


def diagnose_chains(draws: FloatArray) -> ChainConvergence:
    """Diagnose the convergence of several chains.

    Parameters
    ----------
    draws
        Draws of Q quantities, shape (chains, iterations, Q), at least eight iterations. Chains are split in halves, the
        middle iteration of an odd number left out. Ties have their mean rank.

    Raises
    ------
    InvalidInput
        The shape is another one, iterations are fewer, or a draw is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> convergence = diagnose_chains(rng.normal(size=(4, 500, 1)))
    >>> convergence.r_hat.round(3), convergence.bulk.round(), convergence.is_reached
    (array([1.001]), array([2003.]), True)
    >>> diagnose_chains(rng.normal(size=(4, 500, 1)) + np.arange(4)[:, None, None]).r_hat.round(2)
    array([1.56])
    """
    if draws.ndim != 3 or draws.shape[1] < FEWEST_ITERATIONS or not np.isfinite(draws).all():
        raise InvalidInput(
            f"Draws have shape {draws.shape}; give finite numbers of shape (chains, iterations, quantities) with at "
            f"least {FEWEST_ITERATIONS} iterations."
        )
    half = draws.shape[1] // 2
    split = np.concatenate([draws[:, :half], draws[:, -half:]])
    scores = _normalize_ranks(split)
    folded = _normalize_ranks(np.abs(split - np.median(split, axis=(0, 1))))
    low, high = np.quantile(draws, TAILS, axis=(0, 1))
    tail = np.minimum(_effective((split <= low).astype(float)), _effective((split <= high).astype(float)))
    return ChainConvergence(
        # Chains that stay at two values as far from the median have no R̂ of folded draws.
        r_hat=np.fmax(_r_hat(scores), _r_hat(folded)),
        bulk=_effective(scores),
        tail=tail,
        n_chains=len(draws),
    )


def _normalize_ranks(draws: FloatArray) -> FloatArray:
    """Replace draws by normal quantiles of their ranks among all chains."""
    flat = draws.reshape(-1, draws.shape[2])
    n = len(flat)
    order = np.argsort(flat, axis=0, kind="stable")
    ordered = np.take_along_axis(flat, order, axis=0)
    place = np.broadcast_to(np.arange(n)[:, None], flat.shape)
    differs = np.ones((n + 1, flat.shape[1]), bool)
    differs[1:-1] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(differs[:-1], place, 0), axis=0)
    last = np.minimum.accumulate(np.where(differs[1:], place, n)[::-1], axis=0)[::-1]
    # Twice the mean rank is a whole number.
    doubled = np.empty(flat.shape, np.int64)
    np.put_along_axis(doubled, order, first + last + 2, axis=0)
    normal = NormalDist()
    quantiles = np.array([0.0, 0.0, *(normal.inv_cdf((r / 2 - 0.375) / (n + 0.25)) for r in range(2, 2 * n + 1))])
    return np.asarray(quantiles[doubled].reshape(draws.shape))


def _r_hat(draws: FloatArray) -> FloatArray:
    """Root of the variance of all draws over that within chains; NaN if nothing changes."""
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) / n + between / within))


def _effective(draws: FloatArray) -> FloatArray:
    """Effective draws, from autocorrelations summed by pairs while these are positive and decrease (Geyer 1992)."""
    n_chains, n, _ = draws.shape
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 1 << (2 * n - 1).bit_length(), axis=1)
    covariance = np.fft.irfft((spectrum * spectrum.conj()).real, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    variance = covariance[0] + draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within - covariance) / variance
    correlation[0] = 1.0
    even = correlation[: n - n % 2 : 2]
    # The last pairs have too few products.
    pairs = (even + correlation[1::2])[: max(1, (n - 3) // 2)]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    sums = np.where(positive, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    # The correlation after the last pair, where it is positive, makes the estimate better.
    end = positive.sum(axis=0)
    rest = np.maximum(np.take_along_axis(even, end[None], axis=0)[0], 0.0)
    total = n_chains * n
    time = np.maximum(-1 + 2 * sums + rest, 1 / np.log10(total))
    return np.where(variance > 0, total / time, np.nan)
