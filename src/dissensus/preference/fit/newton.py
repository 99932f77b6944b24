"""Truncated Newton method for smooth losses, with steps by conjugate gradients."""

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np

from dissensus.stats.result import FloatArray

GRADIENT: Final = 1e-4
"""Norm of the gradient at the minimum, relative to that of a reference gradient."""

MAX_STEPS: Final = 50
"""Limit on the Newton steps."""

MAX_CG_STEPS: Final = 100
"""Limit on the steps of conjugate gradients within a Newton step."""

HessianProduct = Callable[[FloatArray], FloatArray]
"""Product of the Hessian, or of its approximation, with a vector."""


class SmoothLoss(Protocol):
    """Smooth loss with its gradient and Hessian product."""

    def loss(self, weights: FloatArray) -> tuple[float, Any]:
        """Return the loss at these weights, and intermediate values for `differentiate`."""
        ...

    def differentiate(self, weights: FloatArray, intermediate: Any, /) -> tuple[FloatArray, HessianProduct]:
        """Return the gradient, and the product with a positive definite Hessian or its approximation."""
        ...


def minimise(problem: SmoothLoss, start: FloatArray, tolerance: float) -> FloatArray:
    """Return the weights at which the gradient norm is within the tolerance, or those after `MAX_STEPS` steps."""
    weights = start
    loss, intermediate = problem.loss(weights)
    for _ in range(MAX_STEPS):
        gradient, hessian_product = problem.differentiate(weights, intermediate)
        if norm(gradient) <= tolerance:
            break
        step = _solve(hessian_product, -gradient)
        weights, loss, intermediate = _line_search(problem, (weights, loss), (step, dot(gradient, step)))
    return weights


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product."""
    # einsum runs in this thread; the synchronisation of BLAS threads would take longer than the sum
    return float(np.einsum("i,i", a, b))


def norm(vector: FloatArray) -> float:
    """Return the Euclidean norm."""
    return float(np.sqrt(dot(vector, vector)))


def _line_search(
    problem: SmoothLoss, start: tuple[FloatArray, float], step: tuple[FloatArray, float]
) -> tuple[FloatArray, float, Any]:
    """Backtrack along a step, given with its slope, until the loss decreases sufficiently (Armijo's rule)."""
    (weights, before), (direction, slope) = start, step
    step_size = 1.0
    while True:
        new = weights + step_size * direction
        loss, intermediate = problem.loss(new)
        # Rounding may hide the decrease of very small steps
        if loss <= before + 1e-4 * step_size * slope or step_size < 1e-6:
            return new, loss, intermediate
        step_size /= 2


def _solve(hessian_product: HessianProduct, target: FloatArray) -> FloatArray:
    """Solve a positive definite system by conjugate gradients, to a residual of a tenth of the target's norm."""
    solution, residual = np.zeros_like(target), target.copy()
    direction, square = residual.copy(), dot(residual, residual)
    tolerance = 0.01 * square
    for _ in range(MAX_CG_STEPS):
        if square <= tolerance:
            break
        image = hessian_product(direction)
        step_size = square / dot(direction, image)
        image *= step_size
        residual -= image
        np.multiply(direction, step_size, out=image)
        solution += image
        before, square = square, dot(residual, residual)
        direction *= square / before
        direction += residual
    return solution
