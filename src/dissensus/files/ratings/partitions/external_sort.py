"""Rows of a folder in the order of their items: as they lie, or by an external sort."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

BATCH_ROWS: Final = 2**20
"""Rows that are sorted and coded at once, about."""
PARTITION_ROWS: Final = 2**22
"""Rows of a range of items of the external sort, about; the most popular item has all of its ratings in one."""
SAMPLE: Final = 2**18


class NotSorted(Exception):
    """The rows do not lie in the order of their items."""


def read_in_order(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield rows in tables of whole items, in their order; raise `NotSorted` if a batch goes back."""
    pending = pl.DataFrame()
    for unsorted in batches:
        if not unsorted.height:
            continue
        batch = _sort(unsorted)
        if pending.height and _precedes(batch["item"][0], pending["item"][-1]):
            raise NotSorted
        pending = pl.concat([pending, batch]) if pending.height else batch
        n_last = pending.height - int(pending["item"].search_sorted(pending["item"][-1], side="left"))
        if n_last < pending.height >= BATCH_ROWS:
            yield pending.head(-n_last)
            pending = pending.tail(n_last)
    if pending.height:
        yield pending


def _sort(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows["item"].is_sorted() else rows.sort("item", maintain_order=True)


def _precedes(value: object, other: object) -> bool:
    return other is not None and (value is None or value < other)  # type: ignore[operator]


def sort_externally(
    batches: Iterable[pl.DataFrame], items: pl.LazyFrame, n_rows: int, folder: Path
) -> Iterator[pl.DataFrame]:
    """Yield rows in tables of whole items, in their order, through temporary Parquet files.

    Each batch of rows becomes a file whose rows lie by ranges of items, with bounds from a sample of the rows; then
    each range is gathered from all files and sorted.
    """
    bounds = _choose_bounds(items, n_rows)
    n_ranges, runs = len(bounds) + 1, []
    row_group = max(1024, PARTITION_ROWS // n_ranges)
    for number, batch in enumerate(batches):
        of_range = bounds.search_sorted(batch["item"], side="right").to_numpy()
        path = folder / f"run-{number}.parquet"
        order = np.argsort(of_range, kind="stable")
        batch[order].write_parquet(path, compression="lz4", row_group_size=row_group, statistics=False)
        runs.append((path, np.searchsorted(of_range[order], np.arange(n_ranges + 1))))
    for k in range(n_ranges):
        parts = [
            pl.scan_parquet(path, glob=False).slice(int(edges[k]), int(edges[k + 1] - edges[k])) for path, edges in runs
        ]
        gathered = pl.concat(parts).collect().sort("item", maintain_order=True)
        if gathered.height:
            yield gathered
    for path, _ in runs:
        path.unlink()


def _choose_bounds(items: pl.LazyFrame, n_rows: int) -> pl.Series:
    """Return the first items of all ranges but the first; nulls lie before them."""
    every = max(1, n_rows // SAMPLE)
    chosen = items.with_row_index("row").filter(pl.col("row").hash() % every == 0).select("item")
    sample = chosen.collect(engine="streaming").to_series().drop_nulls()
    n_ranges = max(1, -(-n_rows // PARTITION_ROWS))
    places = np.arange(1, n_ranges) * len(sample) // n_ranges
    return sample.sort()[places.tolist()].unique().sort() if len(sample) else sample
