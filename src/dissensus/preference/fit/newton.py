"""Newton's method for smooth losses of many weights, whose steps come from conjugate gradients."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from dissensus.preference.data.sparse import Floats

GRADIENT = 1e-4
MOST_STEPS = 50
MOST_INNER = 100

Curvature = Callable[[Floats], Floats]


class SmoothLoss(Protocol):
    """Smooth loss with its gradient and Hessian product."""

    def loss(self, at: Floats) -> tuple[float, Any]:
        """Return the loss of weights, and whatever its slope can use."""
        ...

    def slope(self, at: Floats, known: Any) -> tuple[Floats, Curvature]:
        """Return the gradient, and a product with a curvature that is positive definite."""
        ...


def minimise(problem: SmoothLoss, start: Floats, enough: float) -> Floats:
    """Return the weights where the gradient is no longer than enough, going down from a start."""
    at = start
    loss, known = problem.loss(at)
    for _ in range(MOST_STEPS):
        gradient, curvature = problem.slope(at, known)
        if norm(gradient) <= enough:
            break
        step = _solved(curvature, -gradient)
        at, loss, known = _along(problem, (at, loss), (step, dot(gradient, step)))
    return at


def dot(one: Floats, other: Floats) -> float:
    """Return the inner product."""
    # einsum stays in this thread; BLAS would wake several, which wait for each other longer than they add
    return float(np.einsum("i,i", one, other))


def norm(vector: Floats) -> float:
    """Return the Euclidean length."""
    return float(np.sqrt(dot(vector, vector)))


def _along(problem: SmoothLoss, at: tuple[Floats, float], step: tuple[Floats, float]) -> tuple[Floats, float, Any]:
    """Go along a step as far as the loss falls enough (Armijo's rule)."""
    (weights, before), (direction, slope) = at, step
    share = 1.0
    while True:
        new = weights + share * direction
        loss, known = problem.loss(new)
        if loss <= before + 1e-4 * share * slope or share < 1e-6:
            return new, loss, known
        share /= 2


def _solved(times: Curvature, target: Floats) -> Floats:
    """Solve a positive definite system by conjugate gradients, to a tenth of the target's length."""
    found, rest = np.zeros_like(target), target.copy()
    towards, square = rest.copy(), dot(rest, rest)
    enough = 0.01 * square
    for _ in range(MOST_INNER):
        if square <= enough:
            break
        image = times(towards)
        share = square / dot(towards, image)
        image *= share
        rest -= image
        np.multiply(towards, share, out=image)
        found += image
        before, square = square, dot(rest, rest)
        towards *= square / before
        towards += rest
    return found
