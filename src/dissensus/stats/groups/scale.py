"""Numbers of the answers of an ordered scale, and the likeness of any two of them."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.distance import check_values
from dissensus.stats.result import FloatArray

OrderedLevel = Literal["ordinal", "interval"]


@dataclass(frozen=True, slots=True, eq=False)
class OrderedScale:
    """Answers that are ordered: their level of measurement, numbers and likeness; see `build_ordered_scale`.

    Parameters
    ----------
    level
        Level of measurement.
    values
        Number of each answer, increasing, shape (K,).
    likeness
        One less the distance between each two answers, the largest distance being 1, shape (K, K).
    """

    level: OrderedLevel
    values: FloatArray
    likeness: FloatArray

    @property
    def shares(self) -> FloatArray:
        """Positions of the numbers between the lowest and the highest, from 0 to 1, shape (K,)."""
        return np.asarray((self.values - self.values[0]) / self.span)

    @property
    def span(self) -> float:
        """The highest number less the lowest; 1 for a single answer."""
        return float(self.values[-1] - self.values[0]) or 1.0


def build_ordered_scale(
    level: OrderedLevel, values: npt.ArrayLike | None, marginals: npt.NDArray[np.integer[Any]]
) -> OrderedScale:
    r"""Return the scale of ordered answers.

    Two answers are alike by

    .. math:: A_{ck} = 1 - \frac{|u_c - u_k|}{\max u - \min u}

    where :math:`u` are the numbers of the answers at the interval level, and at the ordinal level their mid-ranks among
    all answers of the pool: the share of raters who lie between two answers is their distance.

    Parameters
    ----------
    level
        "ordinal" or "interval".
    values
        Number of each answer, increasing, shape (K,); 0, 1, … by default.
    marginals
        Times that each answer was given in the whole pool, shape (K,).

    Returns
    -------
    OrderedScale
        At the ordinal level the largest distance is that between the lowest and the highest answer that were given.

    Raises
    ------
    InvalidInput
        The level is not ordered, or the numbers do not increase.

    Examples
    --------
    >>> build_ordered_scale("interval", [1, 2, 5], np.array([9, 9, 9])).likeness[0].tolist()
    [1.0, 0.75, 0.0]
    >>> build_ordered_scale("ordinal", [1, 2, 5], np.array([2, 4, 2])).likeness[0].tolist()
    [1.0, 0.5, 0.0]
    """
    numbers = check_values(values, len(marginals))
    if level not in ("ordinal", "interval"):
        raise InvalidInput(f"level is {level!r}; an ordered scale is ordinal or interval.")
    if np.any(np.diff(numbers) <= 0):
        raise InvalidInput("Ordered answers need strictly increasing values.")
    points = numbers
    if level == "ordinal":
        ranks = mid_ranks(marginals)
        used = ranks[marginals > 0]
        points = np.clip(ranks, used.min(), used.max()) if used.size else ranks
    span = np.ptp(points)
    distance = np.abs(points[:, None] - points[None, :])
    return OrderedScale(level, numbers, 1 - distance / (span if span > 0 else 1.0))


def mid_ranks(marginals: npt.NDArray[Any]) -> FloatArray:
    """Return the mid-rank of each answer from the times that answers were given, on the last axis.

    Examples
    --------
    >>> mid_ranks(np.array([2, 4, 2])).tolist()
    [1.0, 4.0, 7.0]
    """
    return np.asarray(np.cumsum(marginals, axis=-1) - marginals / 2)
