"""Result type of the estimators, array types, undefined values, and validation of confidence levels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
IntArray = npt.NDArray[np.integer[Any]]
# Tolerance for rounding of coefficients that are exactly zero.
ZERO = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One statistic with its components and sample sizes; unrounded and unclipped.

    Parameters
    ----------
    estimate
        The value.
    method
        Name of the statistic, with the options that change its value.
    n_items
        Items that entered the estimate.
    n_dropped
        Items left out for having too few ratings.
    n_ratings
        Ratings that entered the estimate.
    observed, expected
        The two components of a chance-corrected coefficient; None for other statistics.
    level
        Level of measurement (nominal, ordinal, interval, ratio, custom); None if it does not apply.
    ties
        Items with a tie for the most frequent answer; None if ties do not matter.
    """

    estimate: float
    method: str
    n_items: int
    n_dropped: int
    n_ratings: int
    observed: float | None = None
    expected: float | None = None
    level: str | None = None
    ties: int | None = None

    def __float__(self) -> float:
        return self.estimate


def check_confidence(confidence: object) -> None:
    """Validate a confidence level.

    Examples
    --------
    >>> check_confidence(95)
    Traceback (most recent call last):
    dissensus.errors.InvalidInput: confidence is 95; give a confidence level between 0 and 1, such as 0.95.
    """
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise InvalidInput(f"confidence is {confidence!r}; give a confidence level between 0 and 1, such as 0.95.")


def none_if_nan(value: float) -> float | None:
    """Return None for NaN."""
    return None if np.isnan(value) else float(value)


def none_if_not_finite(value: float | None) -> float | None:
    """Return None for NaN and infinite numbers."""
    return float(value) if value is not None and np.isfinite(value) else None


def divide_or_nan(total: npt.NDArray[Any], n: npt.NDArray[Any]) -> FloatArray:
    """Return quotients, NaN where the divisor is 0 or less."""
    quotients = np.full(np.broadcast_shapes(total.shape, n.shape), np.nan)
    return np.asarray(np.divide(total, n, out=quotients, where=n > 0))


def nan_mean(values: FloatArray, axis: int) -> FloatArray:
    """Return the means over an axis of the values that are not NaN; NaN without any."""
    known = ~np.isnan(values)
    return divide_or_nan(np.where(known, values, 0.0).sum(axis=axis), known.sum(axis=axis))
