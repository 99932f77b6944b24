"""Counts of the rows of a folder by distinct values, slice by slice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.files.ratings.partitions.folder import ParquetFolder
from dissensus.files.ratings.partitions.hash_index import Hashes, HashIndex
from dissensus.pipeline.engine.stream import MapParts, map_ahead

BATCH_ROWS: Final = 2**20
"""Rows that are counted, or sorted and coded, at once, about."""
N_ROWS: Final = "__rows__"
"""Column of counts, unlike the name of a column of a file."""
FEW_ROWS: Final = 100_000
"""Distinct rows up to which a group-by of each slice is faster than hashes, and new rows that are indexed at once."""
_HASHES: Final = ("__hash__", "__second_hash__")


def count_rows(
    folder: ParquetFolder,
    columns: Sequence[str],
    counted: pl.Expr,
    *,
    check: Callable[[pl.DataFrame], object] = lambda _: None,
    run: MapParts = map_ahead,
) -> pl.DataFrame:
    """Return the distinct values of columns with the number of rows that are counted.

    `check` gets a large table each time that it has doubled, so that wrong columns are refused before they fill the
    memory. One streaming query over all rows takes memory in proportion to them. `run` maps over slices of the rows.
    """
    cells, n_checked = pl.struct(folder.unify_categories(column) for column in columns), BATCH_ROWS
    rows = _DistinctRows(tuple(columns), cells)
    for part in run(partial(rows.count_slice, counted), folder.slices(BATCH_ROWS)):
        rows.add(part)
        if rows.counts.size > 2 * n_checked:
            check(rows.build_table())
            n_checked = rows.counts.size
    return rows.build_table()


class _RowIndex(NamedTuple):
    """Index of distinct rows by two hashes of their values, which together tell rows apart."""

    positions: HashIndex
    first: Hashes
    second: Hashes

    @classmethod
    def build(cls, first: Hashes, second: Hashes) -> "_RowIndex":
        return cls(HashIndex.build(first), first, second)

    def find(self, first: Hashes, second: Hashes) -> npt.NDArray[np.int32]:
        """Return the position of each row, -1 for those that are not known."""
        place = self.positions.find(first)
        if self.second.size:
            place[self.second[place] != second] = -1
        return place


class _Part(NamedTuple):
    """Counts of a slice: of the rows that were known before, and of values that were not."""

    counts: npt.NDArray[np.int64]
    others: pl.DataFrame


@dataclass(slots=True)
class _DistinctRows:
    """Distinct values of columns, with counts.

    Once there are many, most rows of a slice are known, which their hashes tell without a group-by.
    """

    columns: tuple[str, ...]
    cells: pl.Expr  # Values of the columns that are hashed
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    known: _RowIndex = field(default_factory=lambda: _RowIndex.build(*np.zeros((2, 0), np.uint64)))
    values: list[pl.DataFrame] = field(default_factory=list)  # Values of the known rows, in their order
    pending: list[pl.DataFrame] = field(default_factory=list)  # Counts of rows that are not in the index yet
    collided: list[pl.DataFrame] = field(default_factory=list)  # Counts of others, whose first hash is that of a row

    def __reduce__(self) -> tuple[type["_DistinctRows"], tuple[Any, ...]]:
        """Leave out what is known: an executor would receive it with each slice, and counts the same without."""
        return _DistinctRows, (self.columns, self.cells)

    def count_slice(self, counted: pl.Expr, rows: pl.LazyFrame) -> _Part:
        """Count the rows of a slice, in any thread or process.

        The rows that are known at the beginning are found by their hashes; the sums are the same whichever these are.
        """
        known, marked = self.known, counted.fill_null(value=False).alias(N_ROWS)
        values = rows.select(*self.columns, marked)
        if known.first.size < FEW_ROWS:
            return _Part(np.zeros(0, np.int64), count_slice(self.columns, pl.col(N_ROWS).sum(), values))
        table = rows.select(marked, *_hash_twice(self.cells)).collect(engine="streaming")
        place, is_counted = known.find(*_hashes_of(table)), table[N_ROWS].to_numpy()
        is_new = place < 0
        counts, others = np.bincount(place[~is_new & is_counted], minlength=known.first.size), pl.DataFrame()
        if is_new.any():
            new = values.collect(engine="streaming").filter(pl.Series(is_new))
            others = count_slice(self.columns, pl.col(N_ROWS).sum(), new.lazy())
        return _Part(counts, others)

    def add(self, part: _Part) -> None:
        """Add the counts of a slice."""
        self.counts[: part.counts.size] += part.counts
        if part.others.height:
            self.pending.append(part.others)
        # An index of all rows for a few new ones in each slice would take most of the time.
        if sum(others.height for others in self.pending) > max(FEW_ROWS, self.counts.size // 4):
            self._add_pending()

    def _add_pending(self) -> None:
        others = merge_counts(self.pending, self.columns)
        self.pending = []
        first, second = _hashes_of(others.select(*_hash_twice(self.cells)))
        place, counts = self.known.find(first, second), others[N_ROWS].to_numpy()
        is_known = place >= 0
        np.add.at(self.counts, place[is_known], counts[is_known])
        is_first = pl.Series(first).is_first_distinct().to_numpy() & (self.known.positions.find(first) < 0)
        if (is_other := ~is_known & ~is_first).any():
            self.collided.append(others.filter(pl.Series(is_other)).cast({N_ROWS: pl.Int64}))
        if not is_first.any():
            return
        self.values.append(others.filter(pl.Series(is_first)).select(self.columns))
        self.counts = np.append(self.counts, counts[is_first].astype(np.int64))
        self.known = _RowIndex.build(
            np.append(self.known.first, first[is_first]), np.append(self.known.second, second[is_first])
        )

    def build_table(self) -> pl.DataFrame:
        """Return the distinct values with their counts."""
        if self.pending:
            self._add_pending()
        table = pl.concat(self.values).with_columns(pl.Series(N_ROWS, self.counts))
        return merge_counts([table, *self.collided], self.columns) if self.collided else table


def _hash_twice(cells: pl.Expr) -> list[pl.Expr]:
    """Return two hashes of cells."""
    return [cells.hash(seed).alias(name) for seed, name in enumerate(_HASHES)]


def _hashes_of(table: pl.DataFrame) -> tuple[Hashes, Hashes]:
    first, second = (table[name].to_numpy() for name in _HASHES)
    return first, second


def count_slice(columns: Sequence[str], count: pl.Expr, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the distinct values of columns in a slice of rows with a count."""
    return rows.group_by(columns).agg(count.alias(N_ROWS)).collect(engine="streaming")


def merge_counts(parts: Sequence[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame:
    """Return the distinct values of columns in several counts with the sums of the counts."""
    return pl.concat(parts).group_by(columns).agg(pl.col(N_ROWS).sum())
