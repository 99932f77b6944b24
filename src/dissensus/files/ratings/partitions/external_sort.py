"""Rows of a folder in the order of their items: as they lie, or by an external sort."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from dissensus.files.ratings.partitions.item_ranges import ItemRanges

Rows = tuple[int, pl.DataFrame]
"""Number of a range of items, and its rows in the order of the items."""


class NotSorted(Exception):
    """The rows do not lie in the order of their items."""


def read_in_order(batches: Iterable[pl.DataFrame], ranges: ItemRanges) -> Iterator[Rows]:
    """Yield the rows of each range of items in their order; raise `NotSorted` if a batch goes back."""
    pending = pl.DataFrame()
    for unsorted in batches:
        if not unsorted.height:
            continue
        batch = _sort(unsorted)
        if pending.height and _precedes(batch["item"][0], pending["item"][-1]):
            raise NotSorted
        pending = pl.concat([pending, batch]) if pending.height else batch
        *complete, (_, pending) = ranges.split(pending)
        yield from complete
    if pending.height:
        yield from ranges.split(pending)


def _sort(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows["item"].is_sorted() else rows.sort("item", maintain_order=True)


def _precedes(value: object, other: object) -> bool:
    return other is not None and (value is None or value < other)  # type: ignore[operator]


def sort_externally(batches: Iterable[pl.DataFrame], ranges: ItemRanges, folder: Path) -> Iterator[Rows]:
    """Yield the rows of each range of items in their order, through temporary Parquet files.

    Each batch of rows becomes a file whose rows lie by several ranges of items; then those are gathered from all files
    and sorted.
    """
    wide, runs = ranges.widen(), []
    for number, batch in enumerate(batches):
        of_range = wide.find(batch["item"])
        path = folder / f"run-{number}.parquet"
        order = np.argsort(of_range, kind="stable")
        size = max(1024, batch.height // wide.n_ranges)
        batch[order].write_parquet(path, compression="lz4", row_group_size=size, statistics=False)
        runs.append((path, np.searchsorted(of_range[order], np.arange(wide.n_ranges + 1))))
    for k in range(wide.n_ranges):
        parts = [
            pl.scan_parquet(path, glob=False).slice(int(edges[k]), int(edges[k + 1] - edges[k])) for path, edges in runs
        ]
        gathered = pl.concat(parts).collect().sort("item", maintain_order=True)
        if gathered.height:
            yield from ranges.split(gathered)
    for path, _ in runs:
        path.unlink()
