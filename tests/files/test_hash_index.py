"""Indexes by hashes: the positions of a dictionary, whatever the hashes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import DissensusError
from dissensus.files.ratings.partitions import row_counts
from dissensus.files.ratings.partitions.folder import ParquetFolder, find_folder
from dissensus.files.ratings.partitions.hash_index import HashIndex, IdIndex
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.files.ratings.partitions.row_counts import N_ROWS, count_rows

MOST = 2**64 - 1
# Neighbours, which share a bucket, and the largest hash, which also ends the index.
HASHES = st.one_of(st.integers(0, 8), st.integers(MOST - 8, MOST), st.integers(0, MOST))
CELLS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ab"]))


@given(known=st.lists(HASHES, unique=True), wanted=st.lists(HASHES))
def test_positions_are_those_of_a_dictionary(known: list[int], wanted: list[int]) -> None:
    positions = {value: position for position, value in enumerate(known)}
    found = HashIndex.build(np.array(known, np.uint64)).find(np.array(wanted, np.uint64))
    assert found.tolist() == [positions.get(value, -1) for value in wanted]


def test_ids_are_found_by_their_hashes() -> None:
    ids = pl.Series("id", [f"rater-{number}" for number in range(5000)])
    index = IdIndex.build(ids)
    rows = pl.DataFrame({"id": ids.reverse()}).lazy().select(index.hash(pl.col("id"))).collect(engine="streaming")
    assert index.find(rows["id"]).to_list() == list(range(5000))[::-1]


@pytest.mark.parametrize("n_hashes", [1, pytest.param(3, marks=pytest.mark.slow), 2**64])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30),
    n_rows=st.integers(1, 7),
    n_few=st.sampled_from([0, 2, 99]),
)
def test_counts_are_those_of_a_group_by(
    tmp_path_factory: pytest.TempPathFactory,
    n_hashes: int,
    rows: list[tuple[str | None, str | None]],
    n_rows: int,
    n_few: int,
) -> None:
    """Rows that share their first hash are counted apart."""
    table = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row")
    path = tmp_path_factory.mktemp("folder") / "a.parquet"
    table.write_parquet(path)
    hash_twice = row_counts._hash_twice

    def hash_to_few(cells: pl.Expr) -> list[pl.Expr]:
        first, second = hash_twice(cells)
        return [first % n_hashes if n_hashes < 2**64 else first, second]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_counts, "BATCH_ROWS", n_rows)
        patch.setattr(row_counts, "FEW_ROWS", n_few)
        patch.setattr(row_counts, "_hash_twice", hash_to_few)
        counts = count_rows(find_folder(path.parent), ["x", "y"], pl.col("x") != "a")
    expected = table.group_by("x", "y").agg(pl.col("x").ne("a").fill_null(value=False).sum().alias(N_ROWS))
    assert sorted(counts.rows(), key=str) == sorted(expected.rows(), key=str)


def test_files_that_change_while_they_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, table = tmp_path / "a.parquet", {"item_id": ["1"], "rater_id": ["ann"], "Q_overall": ["Yes"]}
    pl.DataFrame(table).write_parquet(path)
    slices = ParquetFolder.slices
    n_passes = 0

    def change(folder: ParquetFolder, n_rows: int) -> object:
        nonlocal n_passes
        n_passes += 1
        if n_passes == 3:  # Those of the answers and of the raters are over
            pl.DataFrame(table | {"rater_id": ["bob"]}).write_parquet(path)
        return slices(folder, n_rows)

    monkeypatch.setattr(ParquetFolder, "slices", change)
    with pytest.raises(DissensusError, match="changed while they were read"):
        read_partitions(tmp_path)


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["Man", "Woman", "None"]), pl.String()])
def test_categories_of_all_files_are_counted_together(
    dtype: pl.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_counts, "FEW_ROWS", 0)
    for name, values in (("a", ["Woman", "Man"]), ("b", ["Man", "None", "Woman"])):
        pl.DataFrame({"x": pl.Series(values, dtype=dtype)}).write_parquet(tmp_path / f"{name}.parquet")
    counts = count_rows(find_folder(tmp_path), ["x"], pl.lit(value=True))
    assert dict(counts.cast({"x": pl.String}).iter_rows()) == {"Woman": 2, "Man": 2, "None": 1}
