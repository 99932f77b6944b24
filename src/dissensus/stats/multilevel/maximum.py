"""Maximum of a smooth function by the BFGS method."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import FloatArray

MAX_ITERATIONS = 200
# Expected gain below which the maximum is reached.
TOLERANCE = 1e-9
# Least share of the expected gain that a step must bring (Armijo).
SUFFICIENT = 1e-4
SHORTEST = 1e-10
# Share of the value that is rounding, steps in a row that bring no more, and a gain that rounding may hide. Where a
# parameter goes to infinity, the value has its limit while the expected gain never vanishes.
ROUNDING = 1e-10
MOST_STALLED = 3
NEGLIGIBLE = 1e-2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Maximum:
    """A maximum, its value and its gradient.

    `inverse` approximates the inverse of minus the second derivatives.
    """

    parameters: FloatArray
    value: float
    gradient: FloatArray
    inverse: FloatArray


def maximize(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    information: FloatArray,
    longest: FloatArray,
    *,
    tolerance: float = TOLERANCE,
) -> Maximum:
    """Maximize a function by BFGS (Nocedal & Wright 2006, chapter 6).

    Parameters
    ----------
    function
        Value and gradient at a vector of parameters; the value is -inf where the function is not defined.
    start
        First parameters.
    information
        Approximation of minus the second derivatives at the start, positive definite.
    longest
        Largest change of each parameter in one step.
    tolerance
        Expected gain below which the maximum is reached.

    Raises
    ------
    UndefinedEstimate
        The function has no maximum, or the steps do not reach it.

    Examples
    --------
    >>> import numpy as np
    >>> curve = lambda x: (float(-((x[0] - 3) ** 2)), -2 * (x - 3))
    >>> round(float(maximize(curve, np.zeros(1), np.eye(1), np.ones(1)).parameters[0]), 6)
    3.0
    """
    x, (value, gradient) = start, function(start)
    inverse: FloatArray = np.linalg.inv(information).astype(np.float64)
    stalled = 0
    for _ in range(MAX_ITERATIONS):
        step = inverse @ gradient
        gain = float(gradient @ step)
        if gain < tolerance or stalled == MOST_STALLED:
            return Maximum(parameters=x, value=value, gradient=gradient, inverse=inverse)
        size = min(1.0, float(1 / np.max(np.abs(step) / longest)))
        new, (new_value, new_gradient) = x, (-np.inf, gradient)
        while size > SHORTEST:
            new = x + size * step
            new_value, new_gradient = function(new)
            if new_value >= value + SUFFICIENT * size * gain - ROUNDING * abs(value) - TOLERANCE:
                break
            size /= 2
        else:
            if gain > NEGLIGIBLE:
                break
            return Maximum(parameters=x, value=value, gradient=gradient, inverse=inverse)
        stalled = stalled + 1 if new_value - value < ROUNDING * abs(value) else 0
        inverse = update_inverse(inverse, new - x, gradient - new_gradient)
        x, value, gradient = new, new_value, new_gradient
    raise UndefinedEstimate(
        "The likelihood has no maximum that can be reached: a coefficient or a variance grows without bound. "
        "Look for groups whose answers are all the same, or leave out a term."
    )


def update_inverse(inverse: FloatArray, moved: FloatArray, change: FloatArray) -> FloatArray:
    """Update the inverse of minus the second derivatives, given a step and the change of minus the gradient (BFGS)."""
    curvature = float(moved @ change)
    if curvature <= 1e-12:
        return inverse
    left = np.eye(len(moved)) - np.outer(moved, change) / curvature
    return np.asarray(left @ inverse @ left.T + np.outer(moved, moved) / curvature, float)
