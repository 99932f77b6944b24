"""Sparse matrices by rows, and their truncated singular value decomposition."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.kernels import compiled
from dissensus.stats.result import FloatArray

PASSES, OVERSAMPLING = 6, 10
"""Number of power iterations, and of additional vectors."""

SHORTEST: Final = 1e-9
"""Rows shorter than this are not normalised."""


@compiled()
def _times_matrix(values, columns, ends, dense, out):  # type: ignore[no-untyped-def]
    """Add the product of sparse rows and a dense matrix to out."""
    for row in range(len(ends) - 1):
        for entry in range(ends[row], ends[row + 1]):
            for k in range(dense.shape[1]):
                out[row, k] += values[entry] * dense[columns[entry], k]


@compiled()
def _transposed_times_matrix(values, columns, ends, dense, out):  # type: ignore[no-untyped-def]
    """Add the product of the transpose of sparse rows and a dense matrix to out."""
    for row in range(len(ends) - 1):
        for entry in range(ends[row], ends[row + 1]):
            for k in range(dense.shape[1]):
                out[columns[entry], k] += values[entry] * dense[row, k]


@compiled()
def _times_vector(values, columns, ends, vector, out):  # type: ignore[no-untyped-def]
    """Write the product of sparse rows and a vector to out."""
    for row in range(len(ends) - 1):
        total = 0.0
        for index in range(ends[row], ends[row + 1]):
            total += values[index] * vector[columns[index]]
        out[row] = total


@compiled()
def _transposed_times_vector(values, columns, ends, vector, out):  # type: ignore[no-untyped-def]
    """Add the product of the transpose of sparse rows and a vector to out."""
    for row in range(len(ends) - 1):
        factor = vector[row]
        for index in range(ends[row], ends[row + 1]):
            out[columns[index]] += factor * values[index]


@compiled()
def _subtract_odd_rows(values, columns, ends, out_values, out_columns, out_ends):  # type: ignore[no-untyped-def]
    """Subtract each odd row, with sorted columns, from the even row before it."""
    filled = 0
    for pair in range((len(ends) - 1) // 2):
        left, right = ends[2 * pair], ends[2 * pair + 1]
        left_end, right_end = right, ends[2 * pair + 2]
        while left < left_end or right < right_end:
            if right == right_end or (left < left_end and columns[left] < columns[right]):
                column, value = columns[left], values[left]
                left += 1
            elif left == left_end or columns[right] < columns[left]:
                column, value = columns[right], -values[right]
                right += 1
            else:
                column, value = columns[left], values[left] - values[right]
                left += 1
                right += 1
            if value != 0:
                out_columns[filled] = column
                out_values[filled] = value
                filled += 1
        out_ends[pair + 1] = filled
    return filled


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Sparse matrix in compressed row format."""

    values: npt.NDArray[np.float32] | FloatArray  # Entries, row by row; new ones are rounded to float32
    columns: npt.NDArray[np.int32]  # Column of each entry, increasing within a row
    ends: npt.NDArray[np.int64]  # Row pointers, shape (rows + 1,)
    width: int  # Number of columns

    @classmethod
    def one_column(cls, column: FloatArray) -> "SparseRows":
        """Return a matrix of one column."""
        return cls(column.astype(np.float32), np.zeros(len(column), np.int32), np.arange(len(column) + 1), 1)

    @classmethod
    def dense(cls, matrix: FloatArray) -> "SparseRows":
        """Return a dense matrix as rows."""
        n, width = matrix.shape
        columns = np.tile(np.arange(width, dtype=np.int32), n)
        return cls(matrix.astype(np.float32).ravel(), columns, np.arange(n + 1) * width, width)

    @classmethod
    def concatenate(cls, parts: Sequence["SparseRows"], width: int) -> "SparseRows":
        """Return the rows of all parts, in order."""
        values = np.concatenate([np.empty(0, np.float32), *(part.values for part in parts)])
        columns = np.concatenate([np.empty(0, np.int32), *(part.columns for part in parts)])
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.ends) for part in parts)])
        return cls(values, columns, np.cumsum(sizes), width)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __matmul__(self, dense: FloatArray) -> FloatArray:
        """Return the product with a vector or a matrix."""
        out = np.zeros((len(self), *dense.shape[1:]))
        times = _times_vector if dense.ndim == 1 else _times_matrix
        times(self.values, self.columns, self.ends, np.ascontiguousarray(dense), out)
        return out

    def transposed_times(self, dense: FloatArray) -> FloatArray:
        """Return the product of the transpose with a vector or a matrix."""
        out = np.zeros((self.width, *dense.shape[1:]))
        times = _transposed_times_vector if dense.ndim == 1 else _transposed_times_matrix
        times(self.values, self.columns, self.ends, np.ascontiguousarray(dense), out)
        return out

    def take(self, rows: npt.NDArray[np.int64]) -> "SparseRows":
        """Return these rows, in the order given."""
        sizes = np.diff(self.ends)[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.arange(ends[-1]) + np.repeat(self.ends[rows] - ends[:-1], sizes)
        return SparseRows(self.values[indices], self.columns[indices], ends, self.width)

    def hstack(self, other: "SparseRows") -> "SparseRows":
        """Append the columns of another matrix."""
        sizes = np.diff(self.ends), np.diff(other.ends)
        ends = np.concatenate([[0], np.cumsum(sizes[0] + sizes[1])])
        values, columns = np.empty(ends[-1], np.float32), np.empty(ends[-1], np.int32)
        for rows, size, begin, shift in (
            (self, sizes[0], ends[:-1], 0),
            (other, sizes[1], ends[:-1] + sizes[0], self.width),
        ):
            indices = np.arange(rows.ends[-1]) + np.repeat(begin - rows.ends[:-1], size)
            values[indices], columns[indices] = rows.values, rows.columns + shift
        return SparseRows(values, columns, ends, self.width + other.width)

    def shift_blocks(self, blocks: npt.NDArray[np.int64], n_blocks: int, scale: float) -> "SparseRows":
        """Return each row, scaled, in its block of columns; empty where the block is -1."""
        sizes = np.where(blocks >= 0, np.diff(self.ends), 0)
        entry_blocks = np.repeat(blocks, np.diff(self.ends))
        columns = (self.columns + entry_blocks.astype(np.int32) * np.int32(self.width))[entry_blocks >= 0]
        values = (self.values * np.float32(scale))[entry_blocks >= 0]
        return SparseRows(values, columns, np.concatenate([[0], np.cumsum(sizes)]), self.width * n_blocks)

    def differences(self) -> "SparseRows":
        """Return each even row minus the odd row after it."""
        values, columns = np.empty_like(self.values), np.empty_like(self.columns)
        ends = np.zeros(len(self) // 2 + 1, np.int64)
        filled = _subtract_odd_rows(self.values, self.columns, self.ends, values, columns, ends)
        return SparseRows(values[:filled], columns[:filled], ends, self.width)


def truncated_svd(rows: SparseRows, k: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    r"""Return the first k left singular vectors times their singular values, and the singular values.

    Randomised range finder with power iterations and QR steps (Halko, Martinsson and Tropp 2011, algorithms 4.4 and
    5.1), in time linear in the number of entries.

    Parameters
    ----------
    rows
        The matrix, N × W.
    k
        Number of vectors; fewer are returned if N or W is smaller.
    rng
        Generator of the start.

    Returns
    -------
    coordinates, singular_values : ndarray, shapes (N, k) and (k,)
        Signs are such that the largest entry of each right singular vector is positive.

    Examples
    --------
    >>> rows = SparseRows(np.array([3.0, 4.0]), np.array([0, 1], np.int32), np.array([0, 1, 2]), 2)
    >>> truncated_svd(rows, 1, np.random.default_rng(0))[1].round(6).tolist()
    [4.0]
    """
    k = min(k, len(rows), rows.width)
    wide = min(k + OVERSAMPLING, len(rows), rows.width)
    basis = np.linalg.qr(rows @ rng.normal(size=(rows.width, wide)))[0]
    for _ in range(PASSES):
        basis = np.linalg.qr(rows @ np.linalg.qr(rows.transposed_times(basis))[0])[0]
    left, singular, right = np.linalg.svd(rows.transposed_times(basis).T, full_matrices=False)
    largest = np.take_along_axis(right, np.abs(right).argmax(axis=1)[:, None], axis=1)[:, 0]
    coordinates = (basis @ left) * (singular * np.where(largest < 0, -1.0, 1.0))
    return coordinates[:, :k], singular[:k]


def normalise_rows(points: FloatArray) -> FloatArray:
    """Scale rows to length 1, except those of length 0."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(length > SHORTEST, length, 1.0))
