"""Adaptive Gauss–Hermite quadrature over the inner random effects of a multilevel model.

Laplace's approximation of the integral over one group's effect is too small when the group has few ratings, and the
estimated standard deviation with it. Given the outer effects, the effects of inner groups are independent, so that each
integral can be taken exactly by quadrature around its mode (Liu & Pierce 1994, https://doi.org/10.1093/biomet/81.3.624).
The logarithm of the ratio of both, summed over groups at the mode of the outer effects, corrects the log-likelihood.
Its derivatives at the nodes enter the gradient of Laplace's approximation, whose adjoint carries them on to the
parameters.
"""

from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.laplace import LaplaceLikelihood, Mode, QuadratureCorrection

NODES: Final = 9


def correct_by_quadrature(likelihood: LaplaceLikelihood, mode: Mode, *, nodes: int = NODES) -> QuadratureCorrection:
    """Return the log-likelihood by quadrature over inner effects, less its Laplace approximation, with derivatives.

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
    layout = likelihood.layout
    points, weights = np.polynomial.hermite.hermgauss(nodes)
    by_profile, by_distance = np.empty(len(layout.covariates)), np.empty(likelihood.n_thresholds)
    by_u, by_v = np.empty_like(mode.u), np.empty_like(mode.v)
    by_precision, by_prior = np.empty(len(mode.v)), np.empty(len(mode.v))
    value = kernels.fill_quadrature(
        layout.ratings,
        mode.predictors,
        mode.v,
        mode.hessian.inner.factors,
        mode.state.prior.inner[0, 0],
        np.append(np.sqrt(2.0) * points, 0.0),
        np.append(points**2 + np.log(weights / np.sqrt(np.pi)), -np.inf),
        by_profile,
        by_distance,
        by_u,
        by_v,
        by_precision,
        by_prior,
    )
    return QuadratureCorrection(
        value=value,
        by_profile=by_profile,
        by_distance=by_distance,
        by_u=by_u,
        by_v=by_v,
        by_precision=by_precision,
        by_prior=by_prior,
    )
