r"""Bradley–Terry models of pairs by logistic regression, with a penalty on the squares of the weights."""

from collections.abc import Callable

import numpy as np

from dissensus.preference.sparse import Floats, Rows

GRADIENT = 1e-4
MOST_STEPS = 50
MOST_INNER = 100


def probability(margin: Floats) -> Floats:
    """Return the probability that the first of two answers is chosen, from the difference of their scores.

    Examples
    --------
    >>> probability(np.array([0.0, np.log(3)])).round(2).tolist()
    [0.5, 0.75]
    """
    return np.asarray(np.exp(-np.logaddexp(0, -margin)))


def fit(pairs: Rows, weight: Floats, penalty: float, *, start: Floats | None = None) -> Floats:
    r"""Return the weights of features that make what was chosen most likely.

    .. math:: \min_\beta \sum_p w_p \ln\bigl(1 + e^{-\beta \cdot x_p}\bigr) + \frac{\lambda}{2} \lVert\beta\rVert^2

    By Newton's method, whose steps come from conjugate gradients, with backtracking.
    """
    beta = np.zeros(pairs.width) if start is None else start.copy()
    enough = GRADIENT * _length(pairs.transposed_times(weight / 2))  # of what it is where all weights are 0
    loss, margin = _loss(pairs, weight, penalty, beta)
    for _ in range(MOST_STEPS):
        p = probability(margin)
        gradient = penalty * beta - pairs.transposed_times(weight * (1 - p))
        if _length(gradient) <= enough:
            break
        step = _solved(_curvature(pairs, weight * p * (1 - p), penalty), -gradient)
        beta, loss, margin = _along(pairs, weight, penalty, (beta, loss), (step, _dot(gradient, step)))
    return beta


def _dot(one: Floats, other: Floats) -> float:
    # einsum stays in this thread; BLAS would wake several, which wait for each other longer than they add
    return float(np.einsum("i,i", one, other))


def _length(vector: Floats) -> float:
    return float(np.sqrt(_dot(vector, vector)))


def _curvature(pairs: Rows, weight: Floats, penalty: float) -> Callable[[Floats], Floats]:
    return lambda vector: penalty * vector + pairs.transposed_times(weight * (pairs @ vector))


def _loss(pairs: Rows, weight: Floats, penalty: float, beta: Floats) -> tuple[float, Floats]:
    margin = pairs @ beta
    return _dot(weight, np.logaddexp(0, -margin)) + penalty / 2 * _dot(beta, beta), margin


def _along(
    pairs: Rows, weight: Floats, penalty: float, at: tuple[Floats, float], step: tuple[Floats, float]
) -> tuple[Floats, float, Floats]:
    """Go along a step as far as the loss falls enough (Armijo's rule)."""
    (beta, before), (direction, slope) = at, step
    share = 1.0
    while True:
        new = beta + share * direction
        loss, margin = _loss(pairs, weight, penalty, new)
        if loss <= before + 1e-4 * share * slope or share < 1e-6:
            return new, loss, margin
        share /= 2


def _solved(times: Callable[[Floats], Floats], target: Floats) -> Floats:
    """Solve a positive definite system by conjugate gradients, to a tenth of the target's length."""
    found, rest = np.zeros_like(target), target.copy()
    towards, square = rest.copy(), _dot(rest, rest)
    enough = 0.01 * square
    for _ in range(MOST_INNER):
        if square <= enough:
            break
        image = times(towards)
        share = square / _dot(towards, image)
        image *= share
        rest -= image
        np.multiply(towards, share, out=image)
        found += image
        before, square = square, _dot(rest, rest)
        towards *= square / before
        towards += rest
    return found
