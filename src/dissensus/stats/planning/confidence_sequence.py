"""Confidence sequences of means of bounded observations, valid at every look."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray, check_confidence

BLOCK: Final = 100
"""Means of the grid that are tried at once by `latest_interval`, which bounds its memory."""
GRID: Final = 1000
"""Steps of the grid of means, of which the interval is rounded outwards."""
TRUNCATION: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceSequence:
    """Interval after each observation, shape (T,).

    Parameters
    ----------
    estimate
        Mean so far.
    low, high
        Interval after each observation: the intersection of all intervals until then; NaN if it is empty.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


def confidence_sequence(values: npt.ArrayLike, *, confidence: float) -> ConfidenceSequence:
    r"""Return intervals of a mean that hold together at all numbers of observations, by hedged betting.

    For each possible mean m, two capitals bet that the mean is higher or lower,

    .. math:: K^\pm_t(m) = \prod_{i \le t} \bigl(1 \pm \lambda^\pm_i(m) (x_i - m)\bigr)

    Where m is the mean they are martingales, which exceed :math:`2 / \alpha` at *any* time with probability
    :math:`\alpha / 2` at most (Ville 1939). The interval has all m whose capitals have not. Bets are

    .. math:: \lambda_t = \sqrt{\frac{2 \ln(2 / \alpha)}{\hat\sigma^2_{t-1} \, t \ln(t + 1)}}, \qquad
              \lambda^+_t = \min\Bigl(\lambda_t, \frac{1}{2 m}\Bigr), \quad
              \lambda^-_t = \min\Bigl(\lambda_t, \frac{1}{2 (1 - m)}\Bigr)

    with a regularised variance of the observations so far (Waudby-Smith and Ramdas 2024, theorem 3 and equation 26).

    Parameters
    ----------
    values
        Observations from 0 to 1 in the order in which they came, shape (T,): independent, with one mean given those
        before, such as the shares of raters who finished.
    confidence
        Probability that all intervals hold the mean.

    Returns
    -------
    ConfidenceSequence

    Raises
    ------
    InvalidInput
        There are no values, or some are not from 0 to 1.

    Notes
    -----
    No distribution is assumed. At a fixed number of observations the interval is wider than one for that number alone:
    that is the price of looking as often as one likes, and of stopping because of what was seen.

    References
    ----------
    Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of the
    Royal Statistical Society B 86.
    Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars.

    Examples
    --------
    >>> sequence = confidence_sequence(np.tile([0.2, 0.4], 50), confidence=0.95)
    >>> [round(float(end), 3) for end in (sequence.estimate[-1], sequence.low[-1], sequence.high[-1])]
    [0.3, 0.268, 0.352]
    """
    x = _check_observations(values, confidence)
    means = np.linspace(0, 1, GRID + 1)
    excluded = np.maximum.accumulate(log_capital(x, means, confidence) >= np.log(2 / (1 - confidence)), axis=0)
    inside = ~excluded
    first, last = inside.argmax(axis=1), GRID - inside[:, ::-1].argmax(axis=1)
    is_empty = excluded.all(axis=1)
    low = np.where(is_empty, np.nan, means[np.maximum(first - 1, 0)])
    high = np.where(is_empty, np.nan, means[np.minimum(last + 1, GRID)])
    return ConfidenceSequence(estimate=np.cumsum(x) / np.arange(1, x.size + 1), low=low, high=high)


def latest_interval(values: npt.ArrayLike, *, confidence: float) -> tuple[float, float]:
    """Return the last interval of `confidence_sequence`, in memory for one block of the grid; (nan, nan) if empty.

    Examples
    --------
    >>> [round(end, 3) for end in latest_interval(np.tile([0.2, 0.4], 50), confidence=0.95)]
    [0.268, 0.352]
    """
    x = _check_observations(values, confidence)
    means = np.linspace(0, 1, GRID + 1)
    excluded = np.concatenate(
        [
            (log_capital(x, block, confidence) >= np.log(2 / (1 - confidence))).any(axis=0)
            for block in np.array_split(means, -(-means.size // BLOCK))
        ]
    )
    inside = np.flatnonzero(~excluded)
    if not inside.size:
        return np.nan, np.nan
    return float(means[max(inside[0] - 1, 0)]), float(means[min(inside[-1] + 1, GRID)])


def _check_observations(values: npt.ArrayLike, confidence: float) -> FloatArray:
    check_confidence(confidence)
    x = np.asarray(values, np.float64)
    if x.ndim != 1:
        raise InvalidInput(f"The observations have shape {x.shape}. Give one after the other.")
    if not x.size:
        raise InvalidInput("There are no observations. A confidence sequence needs at least one.")
    if not ((x >= 0) & (x <= 1)).all():
        raise InvalidInput("Some observations are not from 0 to 1. Give shares.")
    return x


def log_capital(x: FloatArray, means: FloatArray, confidence: float) -> FloatArray:
    """Return the larger log capital of the two bets against each mean after each observation, shape (T, means)."""
    t = np.arange(1, x.size + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    bets = np.sqrt(2 * np.log(2 / (1 - confidence)) / (before * t * np.log(t + 1)))[:, None]
    with np.errstate(divide="ignore"):
        up, down = np.minimum(bets, TRUNCATION / means), np.minimum(bets, TRUNCATION / (1 - means))
    gap = x[:, None] - means
    return np.asarray(np.maximum(np.log1p(up * gap).cumsum(axis=0), np.log1p(-down * gap).cumsum(axis=0)))
