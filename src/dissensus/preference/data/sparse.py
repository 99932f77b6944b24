"""Sparse rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.preference.data import kernels

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """A sparse matrix by rows."""

    values: npt.NDArray[np.float32]  # Entries and their columns, one row after the other; columns of a row increase
    columns: npt.NDArray[np.int32]
    ends: Integers  # Where each row ends, and 0 before the first, shape (rows + 1,)
    width: int  # Columns of the matrix

    @classmethod
    def one_column(cls, column: Floats) -> "FeatureRows":
        """Return a matrix of one column."""
        places = np.arange(len(column) + 1)
        return cls(column.astype(np.float32), np.zeros(len(column), np.int32), places, 1)

    @classmethod
    def dense(cls, matrix: Floats) -> "FeatureRows":
        """Return a matrix whose entries are all there."""
        n, width = matrix.shape
        columns = np.tile(np.arange(width, dtype=np.int32), n)
        return cls(matrix.astype(np.float32).ravel(), columns, np.arange(n + 1) * width, width)

    @classmethod
    def one_after_the_other(cls, parts: Sequence["FeatureRows"], width: int) -> "FeatureRows":
        """Return the rows of all parts."""
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

    def times_all(self, matrix: Floats) -> Floats:
        """Return the product with a dense matrix."""
        out = np.zeros((len(self), matrix.shape[1]))
        kernels.times_all(self.values, self.columns, self.ends, matrix, out)
        return out

    def transposed_times_all(self, matrix: Floats) -> Floats:
        """Return the product of the transpose and a dense matrix."""
        out = np.zeros((self.width, matrix.shape[1]))
        kernels.transposed_times_all(self.values, self.columns, self.ends, matrix, out)
        return out

    def take(self, rows: Integers) -> "FeatureRows":
        """Return some rows, in the order given."""
        sizes = np.diff(self.ends)[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(ends[-1]) + np.repeat(self.ends[rows] - ends[:-1], sizes)
        return FeatureRows(self.values[places], self.columns[places], ends, self.width)

    def beside(self, other: "FeatureRows") -> "FeatureRows":
        """Return each row followed by that of another matrix."""
        sizes = np.diff(self.ends), np.diff(other.ends)
        ends = np.concatenate([[0], np.cumsum(sizes[0] + sizes[1])])
        values, columns = np.empty(ends[-1], np.float32), np.empty(ends[-1], np.int32)
        for rows, size, begin, shift in (
            (self, sizes[0], ends[:-1], 0),
            (other, sizes[1], ends[:-1] + sizes[0], self.width),
        ):
            places = np.arange(rows.ends[-1]) + np.repeat(begin - rows.ends[:-1], size)
            values[places], columns[places] = rows.values, rows.columns + shift
        return FeatureRows(values, columns, ends, self.width + other.width)

    def moved(self, places: Integers, count: int, scale: float) -> "FeatureRows":
        """Return each row, scaled, in the block of columns that has its place among so many; empty where that is -1."""
        sizes = np.where(places >= 0, np.diff(self.ends), 0)
        kept = np.repeat(places, np.diff(self.ends))
        columns = (self.columns + kept.astype(np.int32) * np.int32(self.width))[kept >= 0]
        values = (self.values * np.float32(scale))[kept >= 0]
        return FeatureRows(values, columns, np.concatenate([[0], np.cumsum(sizes)]), self.width * count)

    def differences(self) -> "FeatureRows":
        """Return each even row less the odd one after it."""
        values, columns = np.empty_like(self.values), np.empty_like(self.columns)
        ends = np.zeros(len(self) // 2 + 1, np.int64)
        filled = kernels.differences(self.values, self.columns, self.ends, values, columns, ends)
        return FeatureRows(values[:filled], columns[:filled], ends, self.width)
