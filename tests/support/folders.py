"""Layouts of ratings as folders of Parquet files."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dissensus.files.ratings.partitions import coder, item_ranges, row_counts
from dissensus.schema.ratings.table import Ratings


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


def tabulate_ratings(ratings: Ratings) -> pl.DataFrame:
    """Return ratings of one question as one wide table, with the attributes of raters."""
    (question,) = ratings.questions
    return ratings.answers.with_columns(
        pl.Series("item_id", ratings.items["item_id"]).gather(ratings.answers["item"]),
        *(ratings.raters[name].gather(ratings.answers["rater"]) for name in ("rater_id", *ratings.axes)),
        pl.col(question).cast(pl.String),
    ).drop("item", "rater")


def read_small_blocks(monkeypatch: pytest.MonkeyPatch, n_rows: int) -> None:
    """Let blocks of items have about so many ratings."""
    for module in (coder, item_ranges, row_counts):
        monkeypatch.setattr(module, "BATCH_ROWS", n_rows)
    for module in (coder, item_ranges):
        monkeypatch.setattr(module, "PARTITION_ROWS", 2 * n_rows)
    monkeypatch.setattr(item_ranges, "SAMPLE", 20 * n_rows)
