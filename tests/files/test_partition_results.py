"""Labels of items and evidence on raters from folders: the numbers of one table in memory, in any order of rows."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.support.partitions import make_table

from dissensus.errors import DissensusError
from dissensus.files.ratings.partitions import coder, item_ranges, rater_times, row_counts
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.pipeline.aggregate import plurality, soft_labels
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.pipeline.score import label_by_rule
from dissensus.pipeline.vet import Vetting, vet
from dissensus.schema.ratings.cleaning import Duplicates
from dissensus.schema.ratings.table import Ratings


def read_both(
    table: pl.DataFrame, folder: Path, patch: pytest.MonkeyPatch, batch: int, duplicates: Duplicates
) -> tuple[PartitionedRatings, Ratings]:
    """Return ratings in several files, read in batches of some rows, and the same in memory."""
    for module in (coder, item_ranges, row_counts):
        patch.setattr(module, "BATCH_ROWS", batch)
    for module in (coder, item_ranges):
        patch.setattr(module, "PARTITION_ROWS", 2 * batch)
    patch.setattr(rater_times, "RANGE_RATINGS", batch)
    cut = table.height // 3
    table.head(cut).write_parquet(folder / "a.parquet", row_group_size=batch)
    table.slice(cut).write_parquet(folder / "b.parquet")
    options: dict[str, Any] = {"duplicates": duplicates, "categories": ["No", "Unsure", "Yes"]}
    parts = read_partitions(folder, with_items=True, with_times=True, **options)
    return parts, Ratings.from_frame(table, **options)


def assert_same_vetting(parts: Vetting, memory: Vetting) -> None:
    """Compare all that is computed from folders."""
    close: dict[str, Any] = {"rel_tol": 1e-12, "abs_tol": 1e-12, "check_dtypes": False}
    assert_frame_equal(parts.raters, memory.raters, **close)
    assert parts.pool_median_ms == memory.pool_median_ms
    assert (parts.n_items, parts.n_ratings, parts.flagged) == (memory.n_items, memory.n_ratings, memory.flagged)
    assert parts.absent.keys() == memory.absent.keys()
    assert (parts.times is None) == (memory.times is None)
    if parts.times is not None and memory.times is not None:
        assert parts.times.items.is_empty()
        assert_frame_equal(parts.times.groups, memory.times.groups, **close)
        assert_frame_equal(parts.times.correlations, memory.times.correlations, **close)


@pytest.mark.slow
@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    seed=st.integers(0, 999),
    share_rated=st.sampled_from([0.2, 0.5, 1.0]),
    n_answers=st.integers(1, 3),
    share_timed=st.sampled_from([0.0, 0.7, 1.0]),
    batch=st.sampled_from([5, 40, 1000]),
    duplicates=st.sampled_from(["first", "last", "drop"]),
)
@example(
    seed=0, share_rated=0.2, n_answers=3, share_timed=0.7, batch=2, duplicates="first"
)  # Groups without ratings in blocks
@example(seed=1, share_rated=1.0, n_answers=1, share_timed=1.0, batch=30, duplicates="last")  # No disagreement
def test_folders_give_the_labels_and_the_evidence_of_memory(
    seed: int,
    share_rated: float,
    n_answers: int,
    share_timed: float,
    batch: int,
    duplicates: Duplicates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make_table(seed, share_rated, n_answers, share_timed)
    parts, memory = read_both(table, tmp_path, monkeypatch, batch, duplicates)
    for label in (
        soft_labels,
        lambda ratings: soft_labels(ratings, by="locale"),
        lambda ratings: plurality(ratings, by="locale"),
        lambda ratings: label_by_rule(ratings, "share", costs=(1, 2)),
    ):
        assert_frame_equal(pl.concat(map(label, parts.tables())), label(memory), check_exact=True)
    collected = parts.collect()
    for name in ("answers", "raters", "items"):
        assert_frame_equal(getattr(collected, name), getattr(memory, name).drop("answer_time_ms", strict=False))
    assert_same_vetting(vet(parts), vet(memory))
    assert_same_vetting(vet(parts), vet(memory))  # Ranges of raters are written again


@pytest.mark.parametrize("time", ["-1", "inf", "soon"])
def test_impossible_times_name_the_file_and_the_row(time: str, tmp_path: Path) -> None:
    columns = {"item_id": ["7", "8", "9"], "rater_id": ["ann", "bob", "eve"], "Q_overall": ["No", "Yes", "No"]}
    table = pl.DataFrame(columns | {"answer_time_ms": ["", "7.5", time]})
    table.write_parquet(tmp_path / "ratings.parquet")
    with pytest.raises(DissensusError, match=r"Row 3 of .*ratings.parquet: answer_time_ms is not a time"):
        read_partitions(tmp_path, with_times=True)
    with pytest.raises(DissensusError, match="Row 3"):
        Ratings.from_frame(table)
    assert read_partitions(tmp_path).split_times is None


def test_files_without_times_have_evidence_on_answers(tmp_path: Path) -> None:
    table = make_table(3, 0.6, 3, 0.0).drop("answer_time_ms").unique(["item_id", "rater_id"], maintain_order=True)
    table.write_parquet(tmp_path / "ratings.parquet")
    assert_same_vetting(vet(read_partitions(tmp_path, with_times=True)), vet(Ratings.from_frame(table)))
