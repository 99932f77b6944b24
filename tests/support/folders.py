"""Layouts of ratings as folders of Parquet files."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dissensus.files.ratings.partitions import coder, item_ranges, row_counts


def write_layouts(table: pl.DataFrame, above: Path, axis: str) -> Iterator[Path]:
    """Yield folders of the same ratings: sorted files, shuffled row groups, and shuffled parts named for an axis."""
    ordered, shuffled, hive = (above / name for name in ("ordered", "shuffled", "hive"))
    for folder in (ordered, shuffled, hive):
        folder.mkdir()
    rows = table.sort("item_id")
    for number in range(3):
        part = rows.slice(number * table.height // 3, (number + 1) * table.height // 3 - number * table.height // 3)
        part.write_parquet(ordered / f"{number}.parquet")
    drawn = table.sample(fraction=1, shuffle=True, seed=1)
    for number in range(2):
        part = drawn.filter(pl.int_range(pl.len()) % 2 == number)
        part.write_parquet(shuffled / f"{number}.parquet", row_group_size=max(1, table.height // 10))
    for (group,), part in drawn.group_by(axis):
        folder = hive / f"{axis}={group}"
        folder.mkdir()
        part.drop(axis).write_parquet(folder / "part.parquet")
    yield from (ordered, shuffled, hive)


def read_small_blocks(monkeypatch: pytest.MonkeyPatch, n_rows: int) -> None:
    """Let blocks of items have about so many ratings."""
    for module in (coder, item_ranges, row_counts):
        monkeypatch.setattr(module, "BATCH_ROWS", n_rows)
    for module in (coder, item_ranges):
        monkeypatch.setattr(module, "PARTITION_ROWS", 2 * n_rows)
    monkeypatch.setattr(item_ranges, "SAMPLE", 20 * n_rows)
