"""Sparse matrices by rows, and their truncated singular value decomposition."""

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
def times_matrix(values, columns, ends, dense, out):  # type: ignore[no-untyped-def]
    """Add the product of sparse rows and a dense matrix to out."""
    for row in range(len(ends) - 1):
        for entry in range(ends[row], ends[row + 1]):
            for k in range(dense.shape[1]):
                out[row, k] += values[entry] * dense[columns[entry], k]


@compiled()
def transposed_times_matrix(values, columns, ends, dense, out):  # type: ignore[no-untyped-def]
    """Add the product of the transpose of sparse rows and a dense matrix to out."""
    for row in range(len(ends) - 1):
        for entry in range(ends[row], ends[row + 1]):
            for k in range(dense.shape[1]):
                out[columns[entry], k] += values[entry] * dense[row, k]


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """A sparse matrix in CSR form."""

    values: FloatArray  # Entries, row by row
    columns: npt.NDArray[np.int32]  # Column of each entry
    ends: npt.NDArray[np.int64]  # 0, then the end of each row
    width: int  # Number of columns

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __matmul__(self, dense: FloatArray) -> FloatArray:
        out = np.zeros((len(self), dense.shape[1]))
        times_matrix(self.values, self.columns, self.ends, np.ascontiguousarray(dense), out)
        return out

    def transposed_times(self, dense: FloatArray) -> FloatArray:
        """Return the product of the transpose and a matrix."""
        out = np.zeros((self.width, dense.shape[1]))
        transposed_times_matrix(self.values, self.columns, self.ends, np.ascontiguousarray(dense), out)
        return out


def truncated_svd(rows: SparseRows, k: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    r"""Return the first k left singular vectors times their singular values, and the singular values.

    Randomised range finder with power iterations and QR steps (Halko, Martinsson and Tropp 2011, algorithms 4.4 and
    5.1), in time linear in the number of entries.

    Parameters
    ----------
    rows
        The matrix, N × W.
    k
        Number of vectors, at most N and W.
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
