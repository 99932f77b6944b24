"""Covariance of random effects, and its parameters.

A full covariance matrix is the product LLᵀ of a lower triangular factor and its transpose. Its parameters are the
logarithms of the diagonal of L, then the elements below it, row by row, so that every vector of numbers is a covariance
matrix. Equal and independent effects have one parameter, the logarithm of their standard deviation.

A singular covariance matrix has many factors: where a diagonal element is zero, the elements below it can be exchanged
for those of later columns. One factor has zeros there (`canonicalize`).
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from dissensus.stats.multilevel.design import RandomTerm
from dissensus.stats.result import FloatArray, IntArray

# Logarithm below which a diagonal element stays, so that the mode of effects is found in spite of rounding.
SMALLEST = -7.0
LEAST_DIAGONAL = float(np.exp(SMALLEST))
# Diagonal element below which it is zero, and the likelihood no longer depends on it.
SMALLEST_SD = 0.01


def count_parameters(term: RandomTerm) -> int:
    """Count the parameters of a term's covariance."""
    return 1 if term.structure == "identity" else term.size * (term.size + 1) // 2


@cache
def lower_triangle(size: int) -> tuple[IntArray, IntArray]:
    """Return rows and columns of the elements below the diagonal, row by row.

    Factors are built for every draw and every step of a fit, most often of a single effect.
    """
    return np.tril_indices(size, -1)


def cholesky_factor(term: RandomTerm, parameters: FloatArray) -> FloatArray:
    """Return the lower triangular factor of a term's covariance, shape (D, D)."""
    if term.structure == "identity":
        return np.diag(np.full(term.size, max(np.exp(parameters[0]), LEAST_DIAGONAL)))
    size = term.size
    factor = np.zeros((size, size))
    factor[lower_triangle(size)] = parameters[size:]
    factor.flat[:: size + 1] = np.maximum(np.exp(parameters[:size]), LEAST_DIAGONAL)
    return factor


def invert_covariance(factor: FloatArray) -> FloatArray:
    """Return the inverse of the covariance matrix with this factor."""
    inverse = np.linalg.inv(factor)
    return np.asarray(inverse.T @ inverse, float)


def parameter_gradient(term: RandomTerm, factor: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the gradient by the parameters, given the symmetric gradient by the covariance matrix, shape (D, D)."""
    # At its bound a diagonal element stays while its logarithm goes on, and a search would follow it without end.
    diagonal = np.where(np.diag(factor) > LEAST_DIAGONAL, np.diag(factor), 0.0)
    if term.structure == "identity":
        return np.array([2 * factor[0, 0] * diagonal[0] * np.trace(gradient)])
    by_factor = 2 * gradient @ factor
    return np.concatenate([np.diag(by_factor) * diagonal, by_factor[lower_triangle(term.size)]])


def start_parameters(term: RandomTerm) -> FloatArray:
    """Return parameters of moderate, independent effects, from which a fit starts."""
    sds = np.full(term.size, 0.6)
    if term.width:
        sds[-1] = 0.3
    if term.structure == "identity":
        sds = sds[:1]
    return np.concatenate([np.log(sds), np.zeros(count_parameters(term) - len(sds))])


def mark_boundary(term: RandomTerm, parameters: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which parameters are held: those of diagonal elements of zero, and zeros below them."""
    diagonal = np.diag(cholesky_factor(term, parameters)) < SMALLEST_SD
    if term.structure == "identity":
        return diagonal[:1]
    columns = lower_triangle(term.size)[1]
    return np.concatenate([diagonal, diagonal[columns] & (parameters[term.size :] == 0)])


def canonicalize(term: RandomTerm, parameters: FloatArray, zero: float = SMALLEST) -> FloatArray:
    """Return parameters of the same covariance matrix, with zeros below diagonal elements of zero, whose log is `zero`.

    The rows of the factor are orthogonalized in their order (Gram and Schmidt), and a row that earlier ones determine
    adds no direction. Parameters that have these zeros are returned as they are.
    """
    if term.structure == "identity":
        return parameters
    rows, columns = lower_triangle(term.size)
    factor = cholesky_factor(term, parameters)
    if not parameters[term.size :][np.diag(factor)[columns] < SMALLEST_SD].any():
        return parameters
    result, directions = np.diag(np.full(term.size, np.exp(zero))), np.zeros_like(factor)
    for j, row in enumerate(factor):
        result[j, :j] = directions[:j] @ row
        rest = row - result[j, :j] @ directions[:j]
        length = float(np.linalg.norm(rest))
        if length >= SMALLEST_SD:
            result[j, j], directions[j] = length, rest / length
    return np.concatenate([np.log(np.diag(result)), result[rows, columns]])
