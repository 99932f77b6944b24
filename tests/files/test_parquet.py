"""Parquet files that are damaged, crash the reader, exhaust memory, or have unusual names."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.files.conftest import write
from tests.support.file_refusals import assert_refused
from tests.support.hostile_files import refusal

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.raw import limits, parquet
from dissensus.files.raw.table_reader import read_frame


def test_not_a_parquet_file(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.parquet", "a,b\n1,2\n", "not a Parquet file: it does not begin with PAR1")


def test_a_damaged_parquet_file(table: pl.DataFrame, tmp_path: Path) -> None:
    path = write(table, tmp_path / "ratings.parquet")
    data = path.read_bytes()
    assert_refused(path, data[:-10], "cut short: it does not end with PAR1")
    assert_refused(path, data[:-8] + b"\xff\xff\xff\x7fPAR1", "damaged Parquet file \\('parquet: File out of spec")
    assert_refused(path, b"PAR1", "damaged Parquet file")


def test_a_parquet_file_that_crashes_the_reader_is_refused(tmp_path: Path) -> None:
    """A page with -241 values: polars allocates memory for as many, read as unsigned, and aborts."""
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({"item_id": ["a", None] * 120}).write_parquet(path, compression="uncompressed", statistics=False)
    data = path.read_bytes()
    assert data.count(b"\x15\xe0\x03") == 1
    damaged = data.replace(b"\x15\xe0\x03", b"\x15\xe1\x03")
    assert_refused(path, damaged, r"damaged Parquet file, or one that needs more than .* GiB of memory")


def test_file_names_are_not_glob_patterns(table: pl.DataFrame, tmp_path: Path) -> None:
    write(table.head(1), tmp_path / "a.parquet")
    assert read_frame(write(table, tmp_path / "[a].parquet")).equals(table)
    assert read_frame(write(table, tmp_path / "*.parquet")).equals(table)


def test_a_parquet_table_without_rows(table: pl.DataFrame, tmp_path: Path) -> None:
    path = write(table.clear(), tmp_path / "ratings.parquet")
    assert_refused(path, path.read_bytes(), "has no rows")


@pytest.mark.slow
def test_more_rows_than_memory(tmp_path: Path) -> None:
    """30 million rows of one value in less than a tenth of a megabyte."""
    path = tmp_path / "ratings.parquet"
    codes = pa.array(np.zeros(10_000_000, dtype=np.int32))
    table = pa.table({"item_id": pa.DictionaryArray.from_arrays(codes, pa.array(["x"]))})
    with pq.ParquetWriter(path, table.schema) as file:
        for _ in range(3):
            file.write_table(table, row_group_size=table.num_rows)
    assert path.stat().st_size < 10**5
    assert "has 30,000,000 rows or more, of 1 columns: over 26,843,545 cells" in refusal(path, 300, gib=0.1)


@pytest.mark.slow
def test_more_text_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred equal texts of a million letters in a few kilobytes."""
    path = tmp_path / "ratings.parquet"
    pq.write_table(pa.table({"context": ["x" * 1_000_000] * 100}), path, compression="zstd")
    assert path.stat().st_size < 10**5
    assert read_frame(path).height == 100
    monkeypatch.setenv(limits.VARIABLE, "0.01")
    with pytest.raises(InvalidInput, match=r"holds text that is larger than 0\.01 GiB"):
        read_frame(path)


def test_more_columns_than_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    pq.write_table(pa.table({f"c{i}": [1] for i in range(10_001)}), path)
    with pytest.raises(InvalidInput, match="has 10,001 columns or more, and at most 10,000"):
        read_frame(path)


def test_a_larger_file_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame) -> None:
    monkeypatch.setenv(limits.VARIABLE, "1e-6")
    with pytest.raises(InvalidInput, match="is larger than 1e-06 GiB"):
        read_frame(write(table, tmp_path / "ratings.parquet"))


def test_a_polars_module_in_the_current_folder_is_not_imported(table: pl.DataFrame, tmp_path: Path) -> None:
    write(table, tmp_path / "ratings.parquet")
    (tmp_path / "polars.py").write_text("open('run', 'w').close()")
    code = "from dissensus.files.raw.table_reader import read_frame; assert read_frame('ratings.parquet').height == 4"
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=True, timeout=60)
    assert not (tmp_path / "run").exists()


def stand_in(path: Path, text: str) -> str:
    """Write a program that replaces Python."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_a_probe_that_cannot_start_is_an_error(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(table, tmp_path / "ratings.parquet")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(Unavailable, match=r"No process can be started to read .*: No such file"):
        read_frame(path)
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path / "python", "exit 1"))
    with pytest.raises(Unavailable, match=r"cannot be checked: .* does not run dissensus"):
        read_frame(path)


def test_a_probe_that_takes_too_long_is_an_error(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(table, tmp_path / "ratings.parquet")
    monkeypatch.setattr(parquet, "BASE_TIMEOUT", 0.2)
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path / "python", "exec sleep 60"))
    with pytest.raises(InvalidInput, match=r"takes more than 0 s to read. Is it damaged"):
        read_frame(path)


def test_a_file_from_a_browser_has_its_own_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is compressed, so that only the probe sees how much it is."""
    path = tmp_path / "items.parquet"
    pl.DataFrame({"item_id": ["1"], "response": ["a" * 100_000]}).write_parquet(path)
    monkeypatch.setattr(limits, "UPLOAD_BYTES", 50_000)
    assert read_frame(path).height == 1
    with limits.restrict_to_upload(), pytest.raises(InvalidInput, match="holds text that is larger than") as caught:
        read_frame(path)
    assert limits.UPLOAD_REMEDY in str(caught.value)
    assert limits.VARIABLE not in str(caught.value)
