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
    """A maximum, its value, its gradient, and the number of iterations that led there."""

    parameters: FloatArray
    value: float
    gradient: FloatArray
    n_iterations: int


def maximize(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    information: FloatArray,
    longest: FloatArray,
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
    inverse = np.linalg.inv(information)
    stalled = 0
    for iteration in range(MAX_ITERATIONS):
        step = inverse @ gradient
        gain = float(gradient @ step)
        if gain < TOLERANCE or stalled == MOST_STALLED:
            return Maximum(parameters=x, value=value, gradient=gradient, n_iterations=iteration)
        size = min(1.0, float(1 / np.max(np.abs(step) / longest)))
        new, (new_value, new_gradient) = x, (-np.inf, gradient)
        while size > SHORTEST:
            new = x + size * step
            new_value, new_gradient = function(new)
            if new_value >= value + SUFFICIENT * size * gain - TOLERANCE:
                break
            size /= 2
        else:
            if gain > NEGLIGIBLE:
                break
            return Maximum(parameters=x, value=value, gradient=gradient, n_iterations=iteration)
        stalled = stalled + 1 if new_value - value < ROUNDING * abs(value) else 0
        moved, change = new - x, gradient - new_gradient
        curvature = float(moved @ change)
        if curvature > 1e-12:
            left = np.eye(len(x)) - np.outer(moved, change) / curvature
            inverse = left @ inverse @ left.T + np.outer(moved, moved) / curvature
        x, value, gradient = new, new_value, new_gradient
    raise UndefinedEstimate(
        "The likelihood has no maximum that can be reached: a coefficient or a variance grows without bound. "
        "Look for groups whose answers are all the same, or leave out a term."
    )
