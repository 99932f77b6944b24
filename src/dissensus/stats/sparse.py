"""Rows of which most entries are zero, and what they have in common: a truncated singular value decomposition."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.kernels import compiled
from dissensus.stats.result import FloatArray

PASSES, BESIDE = 6, 10
"""Power iterations, and vectors beyond those that are asked for."""

SHORTEST: Final = 1e-9


@compiled()
def _times(values, columns, ends, dense, out):  # type: ignore[no-untyped-def]
    """Multiply sparse rows by a matrix."""
    for row in range(len(ends) - 1):
        for place in range(ends[row], ends[row + 1]):
            for k in range(dense.shape[1]):
                out[row, k] += values[place] * dense[columns[place], k]


@compiled()
def _transposed_times(values, columns, ends, dense, out):  # type: ignore[no-untyped-def]
    """Multiply the transpose of sparse rows by a matrix."""
    for row in range(len(ends) - 1):
        for place in range(ends[row], ends[row + 1]):
            for k in range(dense.shape[1]):
                out[columns[place], k] += values[place] * dense[row, k]


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """A matrix by rows: entries, their columns, where each row ends with 0 before the first, and its width."""

    values: FloatArray
    columns: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    width: int

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __matmul__(self, dense: FloatArray) -> FloatArray:
        out = np.zeros((len(self), dense.shape[1]))
        _times(self.values, self.columns, self.ends, np.ascontiguousarray(dense), out)
        return out

    def transposed_times(self, dense: FloatArray) -> FloatArray:
        """Return the product of the transpose and a matrix."""
        out = np.zeros((self.width, dense.shape[1]))
        _transposed_times(self.values, self.columns, self.ends, np.ascontiguousarray(dense), out)
        return out


def truncated_svd(rows: SparseRows, k: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    r"""Return the first k left singular vectors times their singular values, and these.

    By a random start and power iterations with a QR step each (Halko, Martinsson and Tropp 2011, algorithms 4.4 and
    5.1), in time linear in the entries.

    Parameters
    ----------
    rows
        The matrix, N × W.
    k
        How many; fewer if the matrix has a smaller side.
    rng
        Draws the start.

    Returns
    -------
    coordinates, singular_values : ndarray, shapes (N, k) and (k,)
        Signs are such that the largest entry of each right vector is positive.

    Examples
    --------
    >>> rows = SparseRows(np.array([3.0, 4.0]), np.array([0, 1], np.int32), np.array([0, 1, 2]), 2)
    >>> truncated_svd(rows, 1, np.random.default_rng(0))[1].round(6).tolist()
    [4.0]
    """
    k = min(k, len(rows), rows.width)
    wide = min(k + BESIDE, len(rows), rows.width)
    basis = np.linalg.qr(rows @ rng.normal(size=(rows.width, wide)))[0]
    for _ in range(PASSES):
        basis = np.linalg.qr(rows @ np.linalg.qr(rows.transposed_times(basis))[0])[0]
    turned, singular, right = np.linalg.svd(rows.transposed_times(basis).T, full_matrices=False)
    largest = np.take_along_axis(right, np.abs(right).argmax(axis=1)[:, None], axis=1)[:, 0]
    coordinates = (basis @ turned) * (singular * np.where(largest < 0, -1.0, 1.0))
    return coordinates[:, :k], singular[:k]


def scaled(points: FloatArray) -> FloatArray:
    """Return rows scaled to length 1; those of length 0 stay."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(length > SHORTEST, length, 1.0))
