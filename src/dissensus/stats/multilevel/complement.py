"""Schur complement of the inner random effects onto the outer ones, as a matrix or by its products alone.

Both classes solve the complement, give the posterior covariance of outer effects to the gradient, and turn noise into
draws. The matrix is exact and has the square of the number of outer effects as its size. The products take time and
memory in proportion to the ratings: equations are solved by conjugate gradients, and the log determinant is that of the
diagonal blocks of each group, corrected for the mean of each effect over its groups. What this leaves out is estimated
from a few probes, in the gradient by Hutchinson's method and in the log determinant by Lanczos' (Ubaru, Chen & Saad
2017, https://doi.org/10.1137/16M1104974).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.design import ModelLayout
from dissensus.stats.result import FloatArray

# Elements of a dense matrix that cost as much as an element of a sparse one.
SPARSE_FACTOR = 4
# Size of a triangular matrix below which its inverse is not taken by halves.
SMALL_TRIANGLE: Final = 64
# Steps of conjugate gradients and of Lanczos' method, and the relative errors at which they end.
MAX_ITERATIONS: Final = 500
MAX_BASIS: Final = 60
SOLUTION_TOLERANCE: Final = 1e-7
BASIS_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InnerFactors:
    """Factors of the inner blocks of the Hessian, and its block between outer and inner effects.

    Shapes: `factors` (inner groups, D, D); `cross` (N, slots, D), times the inverses of the factors.
    """

    factors: FloatArray
    cross: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseComplement:
    """Schur complement as a matrix, by its lower triangular factor."""

    layout: ModelLayout
    inner: InnerFactors
    root: FloatArray
    log_determinant: float

    @classmethod
    def from_weights(
        cls,
        layout: ModelLayout,
        inner: InnerFactors,
        weights: FloatArray,
        precisions: tuple[tuple[int, FloatArray], ...],
    ) -> "DenseComplement":
        """Form and factor the complement; `precisions` has the number of groups and the precision of each outer term.

        Raises
        ------
        numpy.linalg.LinAlgError
            The complement is not positive definite.
        """
        ratings = layout.ratings
        half = np.zeros((layout.n_outer, layout.n_outer))
        kernels.fill_outer(ratings, weights, half)
        if _is_crowded(layout, inner):
            dense = _spread(layout, inner.cross)
            half -= 0.5 * dense.T @ dense
        else:
            kernels.subtract_squares(ratings.start, ratings.places, inner.cross, half)
        start = 0
        for n_groups, precision in precisions:
            end = start + n_groups * len(precision)
            if len(precision) == 1:
                np.einsum("ii->i", half)[start:end] += 0.5 * precision[0]
            else:
                index = np.arange(start, end).reshape(n_groups, -1)
                half[index[:, :, None], index[:, None, :]] += 0.5 * precision
            start = end
        half += half.T
        root = np.asarray(np.linalg.cholesky(half), float)
        return cls(layout=layout, inner=inner, root=root, log_determinant=2 * float(np.log(np.diag(root)).sum()))

    def solve(self, right: FloatArray, *, tolerance: float = SOLUTION_TOLERANCE) -> FloatArray:  # noqa: ARG002 - exact
        """Solve the complement for a right side."""
        solution = right.copy()
        kernels.solve_lower(self.root, solution)
        kernels.solve_upper(self.root, solution)
        return solution

    def transform_noise(self, noise: FloatArray) -> FloatArray:
        """Turn standard normal noise into noise whose precision is the complement."""
        transformed = noise.copy()
        kernels.solve_upper(self.root, transformed)
        return transformed

    def fill_products(self, products: FloatArray, variances: FloatArray) -> tuple[FloatArray, ...]:
        """Fill products of the inverse and `cross`, and the variances of predictors from outer effects alone.

        Returns the covariances of the effects of a group, summed over groups, for each outer term.
        """
        layout, ratings = self.layout, self.layout.ratings
        triangle = _invert_triangle(self.root)
        inverse = triangle.T @ triangle
        if _is_crowded(layout, self.inner):
            dense = (_spread(layout, self.inner.cross) @ inverse).reshape(
                layout.n_groups, products.shape[2], layout.n_outer
            )
            kernels.gather_products(ratings.start, ratings.places, dense, products)
        else:
            kernels.fill_products(ratings.start, ratings.places, self.inner.cross, inverse, products)
        kernels.fill_outer_variances(ratings, inverse, variances)
        sums = []
        for part, size in layout.outer_parts:
            index = np.arange(part.start, part.stop).reshape(-1, size)
            sums.append(inverse[index[:, :, None], index[:, None, :]].sum(0))
        return tuple(sums)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IterativeComplement:
    """Schur complement by its products alone.

    `blocks` and `diagonal` (outer effects, largest size of a group) are the diagonal blocks of the complement, and
    those of the Hessian itself; `inverse` are the inverses of the former, `roots` their factors. `coarse` is the
    inverse of the complement between means of effects, `overlap` the part of it that `inverse` has already.
    `log_determinant` is the approximation of which the gradient is taken. Each probe is a vector with its product with
    what the approximate inverse leaves out.
    """

    layout: ModelLayout
    inner: InnerFactors
    weights: FloatArray
    diagonal: FloatArray
    roots: FloatArray
    inverse: FloatArray
    coarse: FloatArray
    overlap: FloatArray
    log_determinant: float
    probes: tuple[tuple[FloatArray, FloatArray], ...] = ()

    @classmethod
    def from_weights(
        cls,
        layout: ModelLayout,
        inner: InnerFactors,
        weights: FloatArray,
        precisions: tuple[tuple[int, FloatArray], ...],
    ) -> "IterativeComplement":
        """Form the diagonal blocks of the complement; the arguments are those of `DenseComplement.from_weights`.

        Raises
        ------
        numpy.linalg.LinAlgError
            The complement is not positive definite.
        """
        sizes = [size for _, size in layout.outer_parts]
        diagonal = np.zeros((layout.n_outer, max(sizes)))
        squares = np.zeros_like(diagonal)
        coarse = np.zeros((sum(sizes), sum(sizes)))
        kernels.fill_blocks(layout.ratings, layout.first_slots, weights, inner.cross, diagonal, squares, coarse)
        roots, inverse = np.zeros_like(diagonal), np.zeros_like(diagonal)
        overlap = np.zeros_like(coarse)
        determinant = 0.0
        for (part, slots, size), (n_groups, precision) in zip(_list_terms(layout), precisions, strict=True):
            diagonal[part, :size] += np.tile(precision, (n_groups, 1))
            coarse[slots, slots] += n_groups * precision
            blocks = (diagonal[part, :size] - squares[part, :size]).reshape(n_groups, size, size)
            root = np.linalg.cholesky(blocks)
            determinant += 2 * float(np.log(np.diagonal(root, axis1=1, axis2=2)).sum())
            roots[part, :size] = root.reshape(-1, size)
            inverse[part, :size] = np.linalg.inv(blocks).reshape(-1, size)
            total = blocks.sum(0)
            overlap[slots, slots] = np.linalg.inv(total)
            determinant -= float(np.linalg.slogdet(total)[1])
        determinant += 2 * float(np.log(np.diag(np.linalg.cholesky(coarse))).sum())
        return cls(
            layout=layout,
            inner=inner,
            # Only the products of effects of different terms need them.
            weights=weights if len(sizes) > 1 else weights[:0],
            diagonal=diagonal,
            roots=roots,
            inverse=inverse,
            coarse=np.asarray(np.linalg.inv(coarse), float),
            overlap=overlap,
            log_determinant=determinant,
        )

    def solve(self, right: FloatArray, *, tolerance: float = SOLUTION_TOLERANCE) -> FloatArray:
        """Solve the complement for a right side by preconditioned conjugate gradients."""
        solution, residual = np.zeros_like(right), right.copy()
        direction = conditioned = self._multiply_approximate(residual, self.inverse)
        size = first = float(residual @ conditioned)
        for _ in range(MAX_ITERATIONS):
            if size <= tolerance**2 * first:
                return solution
            product = self._multiply(direction)
            curvature = float(direction @ product)
            if not curvature > 0:
                break
            solution += size / curvature * direction
            residual -= size / curvature * product
            conditioned = self._multiply_approximate(residual, self.inverse)
            previous, size = size, float(residual @ conditioned)
            direction = conditioned + size / previous * direction
        raise UndefinedEstimate(
            "The equations of the random effects have no solution at these parameters; the answers may not determine "
            "the model."
        )

    def transform_noise(self, noise: FloatArray) -> FloatArray:
        """Turn standard normal noise into noise whose precision is the complement."""
        basis, values, vectors = self._tridiagonalize(noise)
        size = float(np.linalg.norm(noise))
        return self._apply_roots(size * (vectors @ (vectors[0] / np.sqrt(values))) @ basis, transposed=True)

    def fill_products(self, products: FloatArray, variances: FloatArray) -> tuple[FloatArray, ...]:
        """Fill the same as `DenseComplement.fill_products`, with the approximate inverse and the probes."""
        layout, ratings, cross = self.layout, self.layout.ratings, self.inner.cross
        corrected = self._corrected()
        kernels.fill_block_products(ratings, layout.first_slots, cross, corrected, self.coarse, products, variances)
        for vector, remainder in self.probes:
            kernels.add_probe(ratings, cross, vector, remainder, products, variances)
        sums = []
        for part, slots, size in _list_terms(layout):
            n_groups = (part.stop - part.start) // size
            total = corrected[part, :size].reshape(n_groups, size, size).sum(0) + n_groups * self.coarse[slots, slots]
            for vector, remainder in self.probes:
                mixed = vector[part].reshape(-1, size).T @ remainder[part].reshape(-1, size)
                total = total + 0.5 * (mixed + mixed.T)
            sums.append(total)
        return tuple(sums)

    def add_probes(self, signs: FloatArray) -> "IterativeComplement":
        """Estimate what the approximate inverse leaves out; `signs` (probes, outer effects) are random, 1 or -1."""
        probes = []
        for vector in signs:
            rest = self.solve(vector) - self._multiply_approximate(vector, self._corrected())
            probes.append((vector / len(signs), rest))
        return replace(self, probes=tuple(probes))

    def estimate_log_determinant(self, signs: FloatArray) -> tuple[float, float]:
        """Return the log determinant without the error of its approximation, and the standard error of the estimate."""
        means = np.linalg.qr(self._means())[0].T
        exact = sum(self._log_form(vector) for vector in means)
        forms = [self._log_form(vector - vector @ means.T @ means) for vector in signs]
        blocks = 2 * float(np.log(np.abs(self._root_diagonal())).sum())
        return blocks + exact + float(np.mean(forms)), float(np.std(forms, ddof=1) / np.sqrt(len(forms)))

    def _multiply(self, vector: FloatArray) -> FloatArray:
        product = self._multiply_blocks(self.diagonal, vector)
        kernels.add_products(
            self.layout.ratings, self.layout.first_slots, self.weights, self.inner.cross, vector, product
        )
        return product

    def _multiply_blocks(self, blocks: FloatArray, vector: FloatArray, *, transposed: bool = False) -> FloatArray:
        """Multiply by a matrix that has a block for each group."""
        product = np.empty_like(vector)
        form = "gji,gj->gi" if transposed else "gij,gj->gi"
        for part, size in self.layout.outer_parts:
            parts = blocks[part, :size].reshape(-1, size, size), vector[part].reshape(-1, size)
            product[part] = np.einsum(form, *parts).ravel()
        return product

    def _sum_effects(self, vector: FloatArray) -> FloatArray:
        """Sum each effect over its groups."""
        return np.concatenate([vector[part].reshape(-1, size).sum(0) for part, size in self.layout.outer_parts])

    def _repeat_effects(self, sums: FloatArray) -> FloatArray:
        """Give each group the same effects."""
        return np.concatenate(
            [np.tile(sums[slots], (part.stop - part.start) // size) for part, slots, size in _list_terms(self.layout)]
        )

    def _multiply_approximate(self, vector: FloatArray, blocks: FloatArray) -> FloatArray:
        """Multiply by `coarse` and diagonal blocks: `inverse` as the preconditioner, or those without `overlap`."""
        return self._multiply_blocks(blocks, vector) + self._repeat_effects(self.coarse @ self._sum_effects(vector))

    def _corrected(self) -> FloatArray:
        """Diagonal blocks of the approximate inverse, without `coarse`."""
        corrected = self.inverse.copy()
        for part, slots, size in _list_terms(self.layout):
            corrected[part, :size] -= np.tile(self.overlap[slots, slots], ((part.stop - part.start) // size, 1))
        return corrected

    def _apply_roots(self, vector: FloatArray, *, transposed: bool) -> FloatArray:
        """Solve the factors of the diagonal blocks, or their transposes."""
        product = np.empty_like(vector)
        for part, size in self.layout.outer_parts:
            roots = self.roots[part, :size].reshape(-1, size, size)
            roots = roots.transpose(0, 2, 1) if transposed else roots
            product[part] = np.linalg.solve(roots, vector[part].reshape(-1, size, 1)).ravel()
        return product

    def _means(self) -> FloatArray:
        """Means of the effects as vectors of the complement with unit blocks, shape (outer effects, effects)."""
        units = np.eye(len(self.coarse))
        return np.column_stack(
            [self._multiply_blocks(self.roots, self._repeat_effects(unit), transposed=True) for unit in units]
        )

    def _root_diagonal(self) -> FloatArray:
        return np.concatenate(
            [
                np.diagonal(self.roots[part, :size].reshape(-1, size, size), axis1=1, axis2=2).ravel()
                for part, size in self.layout.outer_parts
            ]
        )

    def _log_form(self, vector: FloatArray) -> float:
        """Quadratic form of the logarithm of the complement with unit blocks."""
        _, values, vectors = self._tridiagonalize(vector)
        return float(vector @ vector) * float(vectors[0] ** 2 @ np.log(values))

    def _tridiagonalize(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Lanczos' basis from a vector, for the complement with unit blocks, and its eigenvalues and vectors."""
        basis = [vector / np.linalg.norm(vector)]
        diagonal: list[float] = []
        beside: list[float] = []
        while True:
            last = basis[-1]
            product = self._apply_roots(self._multiply(self._apply_roots(last, transposed=True)), transposed=False)
            diagonal.append(float(last @ product))
            known = np.array(basis)
            product -= (known @ product) @ known
            product -= (known @ product) @ known
            size = float(np.linalg.norm(product))
            matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
            values, vectors = np.linalg.eigh(matrix)
            # The last element of a function of the matrix says what further steps would change.
            change = abs(float((vectors[-1] * vectors[0]) @ (1 / np.sqrt(values))))
            if change * size < BASIS_TOLERANCE or len(basis) in (MAX_BASIS, len(vector)):
                return known, values, vectors
            beside.append(size)
            basis.append(product / size)


def _list_terms(layout: ModelLayout) -> Iterator[tuple[slice, slice, int]]:
    """Yield the outer effects of each term, its slots, and its number of effects of a group."""
    slot = 0
    for part, size in layout.outer_parts:
        yield part, slice(slot, slot + size), size
        slot += size


def _invert_triangle(root: FloatArray) -> FloatArray:
    """Invert a lower triangular matrix by halves, whose products are fast."""
    n = len(root)
    if n <= SMALL_TRIANGLE:
        return np.asarray(np.linalg.inv(root), float)
    half = n // 2
    inverse = np.zeros_like(root)
    inverse[:half, :half] = _invert_triangle(root[:half, :half])
    inverse[half:, half:] = _invert_triangle(root[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (root[half:, :half] @ inverse[:half, :half])
    return inverse


def _is_crowded(layout: ModelLayout, inner: InnerFactors) -> bool:
    """Return True if the block between outer and inner effects is a dense matrix of moderate size."""
    size = inner.cross.shape[2]
    return bool(layout.n_groups * size * layout.n_outer <= SPARSE_FACTOR * layout.ratings.places.size * size)


def _spread(layout: ModelLayout, cross: FloatArray) -> FloatArray:
    """Block between inner and outer effects as a dense matrix, shape (inner effects, outer effects)."""
    dense = np.zeros((layout.n_groups, cross.shape[2], layout.n_outer))
    kernels.spread_cross(layout.ratings.start, layout.ratings.places, cross, dense)
    return dense.reshape(layout.n_groups * cross.shape[2], layout.n_outer)
