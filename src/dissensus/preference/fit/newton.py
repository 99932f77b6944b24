"""Truncated Newton method for smooth losses, with steps by conjugate gradients."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from dissensus.stats.result import FloatArray

GRADIENT = 1e-4
MAX_STEPS = 50
MAX_CG_STEPS = 100

Curvature = Callable[[FloatArray], FloatArray]


class SmoothLoss(Protocol):
    """Smooth loss with its gradient and Hessian product."""

    def loss(self, at: FloatArray) -> tuple[float, Any]:
        """Return the loss at these weights, and intermediate values for `slope`."""
        ...

    def slope(self, at: FloatArray, cached: Any, /) -> tuple[FloatArray, Curvature]:
        """Return the gradient, and the product with a positive definite Hessian or its approximation."""
        ...


def minimise(problem: SmoothLoss, start: FloatArray, tolerance: float) -> FloatArray:
    """Return the weights at which the gradient norm is within the tolerance, descending from a start."""
    at = start
    loss, cached = problem.loss(at)
    for _ in range(MAX_STEPS):
        gradient, curvature = problem.slope(at, cached)
        if norm(gradient) <= tolerance:
            break
        step = _solve(curvature, -gradient)
        at, loss, cached = _line_search(problem, (at, loss), (step, dot(gradient, step)))
    return at


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product."""
    # einsum runs in this thread; the synchronisation of BLAS threads would take longer than the sum
    return float(np.einsum("i,i", a, b))


def norm(vector: FloatArray) -> float:
    """Return the Euclidean norm."""
    return float(np.sqrt(dot(vector, vector)))


def _line_search(
    problem: SmoothLoss, at: tuple[FloatArray, float], step: tuple[FloatArray, float]
) -> tuple[FloatArray, float, Any]:
    """Backtrack along a step until the loss decreases sufficiently (Armijo's rule)."""
    (weights, before), (direction, slope) = at, step
    step_size = 1.0
    while True:
        new = weights + step_size * direction
        loss, cached = problem.loss(new)
        if loss <= before + 1e-4 * step_size * slope or step_size < 1e-6:
            return new, loss, cached
        step_size /= 2


def _solve(times: Curvature, target: FloatArray) -> FloatArray:
    """Solve a positive definite system by conjugate gradients, to a tenth of the target's norm."""
    solution, residual = np.zeros_like(target), target.copy()
    direction, square = residual.copy(), dot(residual, residual)
    tolerance = 0.01 * square
    for _ in range(MAX_CG_STEPS):
        if square <= tolerance:
            break
        image = times(direction)
        step_size = square / dot(direction, image)
        image *= step_size
        residual -= image
        np.multiply(direction, step_size, out=image)
        solution += image
        before, square = square, dot(residual, residual)
        direction *= square / before
        direction += residual
    return solution
