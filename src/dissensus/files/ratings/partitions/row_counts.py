"""Counts of the rows of a folder by distinct values, slice by slice."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import polars as pl

from dissensus.files.ratings.partitions.folder import ParquetFolder
from dissensus.pipeline.engine.stream import MapParts

BATCH_ROWS: Final = 2**20
"""Rows that are counted, or sorted and coded, at once, about."""
N_ROWS: Final = "__rows__"
"""Column of counts, unlike the name of a column of a file."""


def count_rows(
    folder: ParquetFolder,
    columns: Sequence[str],
    count: pl.Expr,
    *,
    check: Callable[[pl.DataFrame], object] = lambda _: None,
    run: MapParts = map,
) -> pl.DataFrame:
    """Return the distinct values of columns with the sum of a count.

    `check` gets a large table each time that it has doubled, so that wrong columns are refused before they fill the
    memory. One streaming query over all rows takes memory in proportion to them. `run` maps over slices of the rows.
    """
    parts: list[pl.DataFrame] = []
    n_merged, n_checked = 0, BATCH_ROWS
    for part in run(partial(count_slice, columns, count), folder.slices(BATCH_ROWS)):
        parts.append(part)
        if sum(part.height for part in parts) > 2 * n_merged + BATCH_ROWS:
            parts = [merge_counts(parts, columns)]
            n_merged = parts[0].height
            if n_merged > 2 * n_checked:
                check(parts[0])
                n_checked = n_merged
    return merge_counts(parts, columns)


def count_slice(columns: Sequence[str], count: pl.Expr, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the distinct values of columns in a slice of rows with a count."""
    return rows.group_by(columns).agg(count.alias(N_ROWS)).collect(engine="streaming")


def merge_counts(parts: Sequence[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame:
    """Return the distinct values of columns in several counts with the sums of the counts."""
    return pl.concat(parts).group_by(columns).agg(pl.col(N_ROWS).sum())
