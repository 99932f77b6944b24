"""Expected log predictive density of groups left out, such as raters, without a fit for each."""

from dataclasses import replace
from typing import Final

import numpy as np

from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.covariance import cholesky_factor
from dissensus.stats.multilevel.design import RandomTerm
from dissensus.stats.multilevel.group_likelihood import GroupLikelihood
from dissensus.stats.multilevel.kernels import PROBIT
from dissensus.stats.multilevel.posterior import NormalApproximation
from dissensus.stats.result import FloatArray, IntArray

NODES: Final = 9
# Share of the information about a combination of coefficients that one group may hold.
LARGEST_LEVERAGE: Final = 0.95
# Least share of the variance of a rating's other effects that remains without the rating.
LEAST_SHARE: Final = 0.05


def leave_groups_out(approximation: NormalApproximation, number: int) -> FloatArray | None:
    r"""Estimate the log predictive density of the answers of each group of a term from all other groups.

    Leave-one-group-out cross-validation (Merkle, Furr & Rabe-Hesketh 2019,
    https://doi.org/10.1007/s11336-019-09679-0), with the posterior without a group by one Newton step from the whole:

    - coefficients and the level of the thresholds: normal with precision :math:`V^{-1} - I_g` around
      :math:`\hat\beta - (V^{-1} - I_g)^{-1} X_g^\top s`, where :math:`I_g` is the information of the group with its
      effect integrated out, and s are the slopes of its ratings' log-likelihoods; if the group's effect is a slope,
      :math:`X_g` are the derivatives of the location with other effects that follow the coefficients;
    - other effects of each rating, of variance v and with curvature w: variance :math:`v / (1 - v w)`, moved by
      :math:`-s v / (1 - v w)`;
    - the group's own effect: normal with the estimated variance and that of the coefficients.

    The density of the answers is integrated over other effects exactly for the probit link, and over the own effect by
    adaptive quadrature with 9 nodes. Standard deviations of random effects are held at their estimates.

    Parameters
    ----------
    approximation
        Approximation of the fitted model, without widths.
    number
        Place of a term with a single effect of each group, the only term of this factor.

    Returns
    -------
    FloatArray or None
        Log densities, shape (G,); None if a group holds nearly all the information about a coefficient, so that the
        coefficient is not determined without it.
    """
    likelihood, mode = approximation.likelihood, approximation.mode
    groups = GroupLikelihood.from_likelihood(likelihood, number)
    thresholds = approximation.parameters[: likelihood.n_thresholds]
    effects = likelihood.effects(mode.u, mode.v)[number]
    rest = groups.remove_effects(mode.predictors.location, mode.predictors.width, effects, thresholds)
    slopes, weights = np.empty(len(groups.answers)), np.empty(len(groups.answers))
    own = groups.coefficients[:, 0]
    location = rest.location + own * effects[groups.groups, 0]
    kernels.fill_slopes(groups.answers, rest._replace(location=location), slopes, weights)
    variance = _other_variances(approximation, number, groups.ratings, weights)
    remaining = np.maximum(1 - variance * weights, LEAST_SHARE)
    own_variance = float(_covariance(approximation, number)[0, 0])
    fixed = _fixed_columns(approximation, number, groups.ratings)
    removed = _remove_groups(approximation, groups, fixed, slopes, weights, own_variance)
    if removed is None:
        return None
    shift, extra = removed
    location = rest.location + shift - slopes * variance / remaining
    # The answers of a rating with normal other effects have the same model on a wider scale.
    factor = 1.0 if likelihood.link == PROBIT else np.pi / 8
    scale = np.sqrt(1 + factor * variance / remaining)
    point = rest._replace(location=rest.centre - (rest.centre - location) / scale, width=-np.log(scale))
    moved = replace(groups, coefficients=(own / scale)[:, None])
    information = np.bincount(groups.groups, weights * (own / scale) ** 2, len(effects))
    total = own_variance + extra
    change = np.bincount(groups.groups, (location - rest.location) * weights * own / scale**2, len(effects))
    estimate = effects[:, 0] * (information + 1 / own_variance) - change
    sd = 1 / np.sqrt(information + 1 / total)
    points, node_weights = np.polynomial.hermite_e.hermegauss(NODES)
    nodes = (estimate * sd**2)[:, None] + sd[:, None] * points
    terms = moved.evaluate(point, nodes[:, :, None]) - 0.5 * nodes**2 / total[:, None]
    terms += np.log(node_weights) + 0.5 * points**2 - 0.5 * np.log(2 * np.pi)
    return np.asarray(np.logaddexp.reduce(terms, axis=1) + np.log(sd) - 0.5 * np.log(total))


def _covariance(approximation: NormalApproximation, number: int) -> FloatArray:
    """Return the covariance of the effects of a term at the estimates."""
    likelihood = approximation.likelihood
    factor = cholesky_factor(
        likelihood.design.random[number], approximation.parameters[likelihood.covariance_slices[number]]
    )
    return np.asarray(factor @ factor.T, float)


def _other_variances(
    approximation: NormalApproximation, number: int, ratings: IntArray, weights: FloatArray
) -> FloatArray:
    """Return the posterior variance of the sum of all other effects of each rating, given those of other groups."""
    variances = np.zeros(len(ratings))
    for other, term in enumerate(approximation.likelihood.design.random):
        if other == number:
            continue
        values = _term_columns(term, ratings)
        group = term.groups[ratings]
        precision = np.empty((term.n_groups, term.size, term.size))
        precision[:] = np.linalg.inv(_covariance(approximation, other))
        for i in range(term.size):
            for j in range(term.size):
                precision[:, i, j] += np.bincount(group, weights * values[:, i] * values[:, j], term.n_groups)
        variances += np.einsum("ni,nij,nj->n", values, np.linalg.inv(precision)[group], values)
    return variances


def _fixed_columns(approximation: NormalApproximation, number: int, ratings: IntArray) -> FloatArray:
    """Return the derivative of each rating's location by the level of the thresholds and by each coefficient."""
    likelihood = approximation.likelihood
    fixed = likelihood.design.fixed
    columns = np.column_stack([np.full(len(ratings), -1.0), fixed.values[fixed.row[ratings]]])
    if likelihood.design.random[number].covariates is None:
        return columns
    # An intercept takes up what a group adds to the level. A slope does not: effects of items follow the level, and
    # the removal of a group would count twice, for the level and for the items.
    n = likelihood.n_thresholds
    by_u, by_v = approximation.curvature.by_u, approximation.curvature.by_v
    for j in range(columns.shape[1]):
        part = slice(0, n) if j == 0 else slice(n + j - 1, n + j)
        following = likelihood.effects(by_u[part].sum(axis=0), by_v[part].sum(axis=0))
        for other, term in enumerate(likelihood.design.random):
            if other != number:
                columns[:, j] += (_term_columns(term, ratings) * following[other][term.groups[ratings]]).sum(axis=1)
    return columns


def _term_columns(term: RandomTerm, ratings: IntArray) -> FloatArray:
    """Return the coefficients of a term's effects in the location of each rating, shape (ratings, D)."""
    if term.covariates is None:
        return np.ones((len(ratings), 1))
    return np.asarray(term.covariates.values[term.covariates.row[ratings]])


def _remove_groups(
    approximation: NormalApproximation,
    groups: GroupLikelihood,
    fixed: FloatArray,
    slopes: FloatArray,
    weights: FloatArray,
    own_variance: float,
) -> tuple[FloatArray, FloatArray] | None:
    """Return by how much the fixed location of each rating moves without its group, and the variance by group."""
    likelihood = approximation.likelihood
    first, end = likelihood.n_thresholds, likelihood.n_thresholds + likelihood.n_coefficients
    average = np.zeros((1 + end - first, end))
    average[0, :first] = 1 / first
    average[1:, first:] = np.eye(end - first)
    covariance = average @ approximation.curvature.covariance[:end, :end] @ average.T
    precision = np.linalg.inv(covariance)
    shift, extra = np.empty(len(slopes)), np.empty(len(groups.start) - 1)
    for g in range(len(extra)):
        part = slice(groups.start[g], groups.start[g + 1])
        x, own = fixed[part], groups.coefficients[part, 0]
        weighted = (weights[part] * own) @ x
        total = float(weights[part] @ own**2)
        information = (x * weights[part][:, None]).T @ x
        information -= np.outer(weighted, weighted) / (total + 1 / own_variance)
        if np.linalg.eigvals(covariance @ information).real.max() > LARGEST_LEVERAGE:
            return None
        without = np.linalg.inv(precision - information)
        shift[part] = -x @ (without @ (x.T @ slopes[part]))
        # Without ratings that depend on its effect, a group tells nothing of it.
        mean = weighted / total if total else np.zeros(len(weighted))
        extra[g] = mean @ without @ mean
    return shift, extra
