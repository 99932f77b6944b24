"""Counts of the rows of a folder by distinct values, slice by slice."""

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from dissensus.files.ratings.partitions.external_sort import BATCH_ROWS
from dissensus.files.ratings.partitions.folder import ParquetFolder

N_ROWS: Final = "__rows__"
"""Column of counts, unlike the name of a column of a file."""


def count_rows(
    folder: ParquetFolder,
    columns: Sequence[str],
    count: pl.Expr,
    *,
    check: Callable[[pl.DataFrame], object] = lambda _: None,
) -> pl.DataFrame:
    """Return the distinct values of columns with the sum of a count.

    `check` gets a large table each time that it has doubled, so that wrong columns are refused before they fill the
    memory. One streaming query over all rows takes memory in proportion to them.
    """
    parts: list[pl.DataFrame] = []
    n_merged, n_checked = 0, BATCH_ROWS
    for rows in folder.slices(BATCH_ROWS):
        parts.append(rows.group_by(columns).agg(count.alias(N_ROWS)).collect(engine="streaming"))
        if sum(part.height for part in parts) > 2 * n_merged + BATCH_ROWS:
            parts = [_merge(parts, columns)]
            n_merged = parts[0].height
            if n_merged > 2 * n_checked:
                check(parts[0])
                n_checked = n_merged
    return _merge(parts, columns)


def _merge(parts: Sequence[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame:
    return pl.concat(parts).group_by(columns).agg(pl.col(N_ROWS).sum())
