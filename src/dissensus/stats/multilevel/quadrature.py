"""Adaptive Gauss–Hermite quadrature over the inner random effects of a multilevel model.

Laplace's approximation of the integral over one group's effect is too small when the group has few ratings, and the
estimated standard deviation with it. Given the outer effects, the effects of inner groups are independent, so that each
integral can be taken exactly by quadrature around its mode (Liu & Pierce 1994, https://doi.org/10.1093/biomet/81.3.624).
The logarithm of the ratio of both, summed over groups at the mode of the outer effects, corrects the log-likelihood.
"""

from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.laplace import LaplaceLikelihood, Mode
from dissensus.stats.result import FloatArray

NODES: Final = 9


def quadrature_correction(likelihood: LaplaceLikelihood, mode: Mode, *, nodes: int = NODES) -> float:
    """Return the log-likelihood by quadrature over inner effects, less its Laplace approximation.

    Raises
    ------
    InvalidInput
        The inner groups have more than one effect.
    """
    if mode.v.shape[1] != 1:
        raise InvalidInput(
            f"Each inner group has {mode.v.shape[1]} random effects; quadrature needs a single one. Use Laplace's "
            "approximation."
        )
    points, weights = np.polynomial.hermite.hermgauss(nodes)
    scale = np.sqrt(2.0) / mode.hessian.factors[:, :, 0]
    precision = mode.state.prior.inner[0, 0]

    def log_joint(v: FloatArray) -> FloatArray:
        density: FloatArray = likelihood.group_log_likelihoods(mode.state, mode.u, v) - 0.5 * precision * v[:, 0] ** 2
        return density

    constants = points**2 + np.log(weights / np.sqrt(np.pi))
    values = np.array([constant + log_joint(mode.v + x * scale) for x, constant in zip(points, constants, strict=True)])
    largest = values.max(0)
    return float((largest + np.log(np.exp(values - largest).sum(0)) - log_joint(mode.v)).sum())


def difference_gradient(likelihood: LaplaceLikelihood, parameters: FloatArray, steps: FloatArray) -> FloatArray:
    """Return the gradient of the correction, by central differences; zero where the step is zero."""
    gradient = np.empty_like(parameters)
    for j, step in enumerate(steps):
        if step == 0:
            gradient[j] = 0
            continue
        change = np.zeros_like(parameters)
        change[j] = step
        above, below = (
            quadrature_correction(likelihood, likelihood.mode(parameters + sign * change)) for sign in (1, -1)
        )
        gradient[j] = (above - below) / (2 * step)
    return gradient
