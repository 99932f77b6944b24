"""Ranges of items with about equal numbers of rows, which depend on the rows and not on their order or files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.files.ratings.partitions.folder import ParquetFolder
from dissensus.files.ratings.partitions.row_counts import BATCH_ROWS, N_ROWS, count_slice, merge_counts
from dissensus.pipeline.engine.stream import MapParts

PARTITION_ROWS: Final = 2**22
"""Rows of the ranges that an external sort gathers at once, about; an item has all of its ratings in one."""
SAMPLE: Final = 2**18
"""Rows that are sampled, about."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemRanges:
    """Ranges of items, numbered from 0."""

    bounds: pl.Series  # First items of all ranges but the first; nulls lie before them
    wide_bounds: pl.Series  # Those of them that bound the ranges of an external sort

    @property
    def n_ranges(self) -> int:
        """Number of ranges."""
        return len(self.bounds) + 1

    def widen(self) -> Self:
        """Return the ranges of an external sort, which each hold one or more of these."""
        return type(self)(self.wide_bounds, self.wide_bounds)

    def find(self, items: pl.Series) -> npt.NDArray[np.int64]:
        """Return the range of each item."""
        return self.bounds.search_sorted(items, side="right").to_numpy().astype(np.int64)

    def split(self, rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the ranges that sorted rows lie in, with their rows."""
        inner = rows["item"].search_sorted(self.bounds, side="left").to_numpy()
        for number, (low, high) in enumerate(pairwise([0, *inner.tolist(), rows.height])):
            if high > low:
                yield number, rows.slice(low, high - low)


def choose_ranges(
    folder: ParquetFolder, id_columns: Sequence[str], item: pl.Expr, counted: pl.Expr, run: MapParts
) -> ItemRanges:
    """Choose ranges by a sample of rows, drawn by hashes of their ids; a range ends with the item that fills it.

    `id_columns` have the ids of items and raters, `item` are the ids of items as they are sorted, and `counted` is true
    for rows that count. `run` maps over slices of the rows.
    """
    n_ranges, every = -(-folder.n_rows // BATCH_ROWS), max(1, folder.n_rows // SAMPLE)
    if n_ranges == 1:
        none = pl.Series([], dtype=pl.DataFrame(schema=folder.schema).select(item).dtypes[0])
        return ItemRanges(none, none)
    # A sample of items would miss most of the rows where items are few, or some of them large.
    ids = pl.struct(folder.unify_categories(column) for column in id_columns)
    is_sampled = counted & pl.col(id_columns[0]).is_not_null() & (ids.hash() % every == 0)
    slices = (rows.filter(is_sampled).select(item) for rows in folder.slices(BATCH_ROWS))
    counts = merge_counts(list(run(partial(count_slice, ["item"], pl.len()), slices)), ["item"]).sort("item")
    before = np.cumsum(counts[N_ROWS].to_numpy()) - counts[N_ROWS].to_numpy()
    total = int(counts[N_ROWS].sum())
    places = np.searchsorted(before, np.arange(1, n_ranges) * total / n_ranges)
    places, step = places[places < counts.height], max(1, PARTITION_ROWS // BATCH_ROWS)
    # An item that fills several ranges ends several of them.
    of_ranges, of_wide = (np.unique(part) for part in (places, places[step - 1 :: step]))
    return ItemRanges(counts["item"].gather(of_ranges).sort(), counts["item"].gather(of_wide).sort())
