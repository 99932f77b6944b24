"""Log-likelihood of multilevel models of ordered answers, in plain NumPy and SciPy: one rating after the other."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from dissensus.stats.multilevel.design import ModelDesign

LINKS = {"probit": ndtr, "logit": expit}


def covariances(design: ModelDesign, parameters: np.ndarray) -> list[np.ndarray]:
    """Covariance matrix of each term, from parameters as the engine orders them."""
    place = design.n_categories - 1 + design.fixed.values.shape[1]
    matrices = []
    for term in design.random:
        size = term.size
        if term.structure == "identity":
            matrices.append(np.exp(2 * parameters[place]) * np.eye(size))
            place += 1
            continue
        factor = np.diag(np.exp(parameters[place : place + size]))
        place += size
        for row in range(size):
            for column in range(row):
                factor[row, column] = parameters[place]
                place += 1
        matrices.append(factor @ factor.T)
    return matrices


def split(design: ModelDesign, effects: np.ndarray) -> list[np.ndarray]:
    """Effects of each term, shape (groups, effects of a group), from one vector."""
    parts, place = [], 0
    for term in design.random:
        end = place + term.n_groups * term.size
        parts.append(effects[place:end].reshape(term.n_groups, term.size))
        place = end
    return parts


def log_joint(design: ModelDesign, parameters: np.ndarray, effects: np.ndarray, link: str) -> float:
    """Log density of answers and effects, with all constants."""
    distribution = LINKS[link]
    n_thresholds = design.n_categories - 1
    thresholds = parameters[:n_thresholds]
    coefficients = parameters[n_thresholds : n_thresholds + design.fixed.values.shape[1]]
    centre = (thresholds[0] + thresholds[-1]) / 2
    parts = split(design, effects)
    total = 0.0
    for matrix, part in zip(covariances(design, parameters), parts, strict=True):
        for effect in part:
            total -= 0.5 * (effect @ np.linalg.inv(matrix) @ effect + np.log(np.linalg.det(2 * np.pi * matrix)))
    for n, answer in enumerate(design.answers):
        location, width = design.fixed.values[design.fixed.row[n]] @ coefficients, 0.0
        for term, part in zip(design.random, parts, strict=True):
            effect = part[term.groups[n]]
            x = np.ones(1) if term.covariates is None else term.covariates.values[term.covariates.row[n]]
            location += x @ effect[: len(x)]
            width += effect[-1] if term.width else 0.0
        bounds = np.concatenate([[-np.inf], centre + (thresholds - centre) * np.exp(width), [np.inf]])
        total += np.log(distribution(bounds[answer + 1] - location) - distribution(bounds[answer] - location))
    return float(total)


def laplace_log_likelihood(design: ModelDesign, parameters: np.ndarray, link: str) -> float:
    """Laplace approximation with a Hessian by differences."""
    n = sum(term.n_groups * term.size for term in design.random)

    def loss(effects: np.ndarray) -> float:
        return -log_joint(design, parameters, effects, link)

    mode = minimize(loss, np.zeros(n), method="BFGS", options={"gtol": 1e-8}).x
    step = 1e-3
    hessian = np.empty((n, n))
    unit = np.eye(n) * step
    for i in range(n):
        for j in range(i + 1):
            value = (
                loss(mode + unit[i] + unit[j])
                - loss(mode + unit[i] - unit[j])
                - loss(mode - unit[i] + unit[j])
                + loss(mode - unit[i] - unit[j])
            )
            hessian[i, j] = hessian[j, i] = value / (4 * step * step)
    return float(-loss(mode) + 0.5 * (n * np.log(2 * np.pi) - np.linalg.slogdet(hessian)[1]))


def exact_log_likelihood(design: ModelDesign, parameters: np.ndarray, link: str) -> float:
    """Exact log-likelihood of a model with one intercept for each group of one factor, by a fine sum."""
    (term,) = design.random
    n_thresholds = design.n_categories - 1
    sd = float(np.sqrt(covariances(design, parameters)[0][0, 0]))
    bounds = np.concatenate([[-np.inf], parameters[:n_thresholds], [np.inf]])
    fixed = design.fixed.values[design.fixed.row] @ parameters[n_thresholds:-1]
    grid = np.linspace(-9 * sd, 9 * sd, 401)
    density = np.exp(-0.5 * (grid / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    total = 0.0
    for group in range(term.n_groups):
        product = density.copy()
        for n in np.flatnonzero(term.groups == group):
            location = fixed[n] + grid
            answer = design.answers[n]
            product *= LINKS[link](bounds[answer + 1] - location) - LINKS[link](bounds[answer] - location)
        total += np.log(product.sum() * (grid[1] - grid[0]))
    return float(total)
