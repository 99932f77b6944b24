"""Sparse feature matrices by row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.preference.data import kernels
from dissensus.stats.sparse import times_matrix, transposed_times_matrix

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Sparse matrix in compressed row format."""

    values: npt.NDArray[np.float32]  # Entries, row by row
    columns: npt.NDArray[np.int32]  # Column of each entry, increasing within a row
    ends: Integers  # Row pointers, shape (rows + 1,)
    width: int  # Number of columns

    @classmethod
    def one_column(cls, column: Floats) -> "FeatureRows":
        """Return a matrix of one column."""
        return cls(column.astype(np.float32), np.zeros(len(column), np.int32), np.arange(len(column) + 1), 1)

    @classmethod
    def dense(cls, matrix: Floats) -> "FeatureRows":
        """Return a dense matrix as rows."""
        n, width = matrix.shape
        columns = np.tile(np.arange(width, dtype=np.int32), n)
        return cls(matrix.astype(np.float32).ravel(), columns, np.arange(n + 1) * width, width)

    @classmethod
    def concatenate(cls, parts: Sequence["FeatureRows"], width: int) -> "FeatureRows":
        """Return the rows of all parts, in order."""
        values = np.concatenate([np.empty(0, np.float32), *(part.values for part in parts)])
        columns = np.concatenate([np.empty(0, np.int32), *(part.columns for part in parts)])
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.ends) for part in parts)])
        return cls(values, columns, np.cumsum(sizes), width)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __matmul__(self, vector: Floats) -> Floats:
        out = np.empty(len(self))
        kernels.times(self.values, self.columns, self.ends, vector, out)
        return out

    def transposed_times(self, vector: Floats) -> Floats:
        """Return the product of the transpose and a vector."""
        out = np.zeros(self.width)
        kernels.transposed_times(self.values, self.columns, self.ends, vector, out)
        return out

    def times_matrix(self, matrix: Floats) -> Floats:
        """Return the product with a dense matrix."""
        out = np.zeros((len(self), matrix.shape[1]))
        times_matrix(self.values, self.columns, self.ends, matrix, out)
        return out

    def transposed_times_matrix(self, matrix: Floats) -> Floats:
        """Return the product of the transpose and a dense matrix."""
        out = np.zeros((self.width, matrix.shape[1]))
        transposed_times_matrix(self.values, self.columns, self.ends, matrix, out)
        return out

    def take(self, rows: Integers) -> "FeatureRows":
        """Return these rows, in the order given."""
        sizes = np.diff(self.ends)[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.arange(ends[-1]) + np.repeat(self.ends[rows] - ends[:-1], sizes)
        return FeatureRows(self.values[indices], self.columns[indices], ends, self.width)

    def hstack(self, other: "FeatureRows") -> "FeatureRows":
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
        return FeatureRows(values, columns, ends, self.width + other.width)

    def shift_blocks(self, blocks: Integers, count: int, scale: float) -> "FeatureRows":
        """Return each row, scaled, in its block of columns; empty where the block is -1."""
        sizes = np.where(blocks >= 0, np.diff(self.ends), 0)
        entry_blocks = np.repeat(blocks, np.diff(self.ends))
        columns = (self.columns + entry_blocks.astype(np.int32) * np.int32(self.width))[entry_blocks >= 0]
        values = (self.values * np.float32(scale))[entry_blocks >= 0]
        return FeatureRows(values, columns, np.concatenate([[0], np.cumsum(sizes)]), self.width * count)

    def differences(self) -> "FeatureRows":
        """Return each even row minus the odd row after it."""
        values, columns = np.empty_like(self.values), np.empty_like(self.columns)
        ends = np.zeros(len(self) // 2 + 1, np.int64)
        filled = kernels.differences(self.values, self.columns, self.ends, values, columns, ends)
        return FeatureRows(values[:filled], columns[:filled], ends, self.width)
