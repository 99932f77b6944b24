"""Squared distances between answers, by level of measurement."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.counts import as_floats
from dissensus.stats.result import FloatArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Distance = Callable[[FloatArray, FloatArray], FloatArray]


def squared_distances(
    level: Level | Distance, values: npt.ArrayLike | None, marginals: npt.NDArray[np.integer[Any]]
) -> FloatArray:
    """Return the K × K squared distances between categories.

    Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section E. The ordinal distance is the interval
    distance between the mid-ranks of the pooled answers, which follow from `marginals`.
    """
    points = check_values(values, marginals.size)
    if level == "ordinal":
        if np.any(np.diff(points) <= 0):
            raise InvalidInput("Ordinal answers need strictly increasing values.")
        points = np.cumsum(marginals) - marginals / 2
    return pairwise(level, points[:, None], points[None, :])


def pairwise(level: Level | Distance, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the squared distance between `a` and `b`, elementwise; ordinal answers are given as mid-ranks."""
    if callable(level):
        return _measure(level, a, b)
    if level == "nominal":
        return np.not_equal(a, b).astype(np.float64)
    if level in ("ordinal", "interval"):
        return np.square(a - b)
    if level == "ratio":
        if (a < 0).any() or (b < 0).any():
            raise InvalidInput("Ratio answers cannot be negative; choose the interval level.")
        total = a + b
        return np.square(np.divide(a - b, total, out=np.zeros(np.broadcast(a, b).shape), where=total != 0))
    raise InvalidInput(f"level is {level!r}; choose one of {', '.join(get_args(Level))}, or give a function.")


def _measure(distance: Distance, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the values of a given function, and raise an error unless they are squared distances."""
    squared, reverse = (np.asarray(distance(*pair), dtype=np.float64) for pair in ((a, b), (b, a)))
    shape = np.broadcast_shapes(a.shape, b.shape)
    if squared.shape != shape or reverse.shape != shape:
        raise InvalidInput(f"The distance has shape {squared.shape} for answers of shape {shape}; compare elementwise.")
    is_distance = np.isfinite(squared) & (squared >= 0) & ((squared == 0) | (a != b))
    if not (is_distance & np.isclose(squared, reverse)).all():
        raise InvalidInput("The distance must be finite, symmetric, 0 or more, and zero between equal answers.")
    return squared


def check_values(values: npt.ArrayLike | None, n_categories: int) -> FloatArray:
    """Validate the numbers of the categories and return them; 0 … K-1 by default."""
    if values is None:
        return np.arange(n_categories, dtype=np.float64)
    points = as_floats(values, "values")
    if points.shape != (n_categories,):
        raise InvalidInput(f"values has shape {points.shape}; {n_categories} categories need ({n_categories},).")
    if not np.isfinite(points).all():
        raise InvalidInput("values must be finite numbers.")
    return points


def level_name(level: Level | Distance) -> str:
    """Return the name of a level in results."""
    return "custom" if callable(level) else level
