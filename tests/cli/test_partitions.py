"""Folders and globs of Parquet files as input of commands."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand


@pytest.fixture
def folder(ratings_csv: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "ratings"
    folder.mkdir()
    table = pl.read_csv(ratings_csv, infer_schema=False)
    table = table.with_columns(pl.col("item_id").str.extract(r"(\d+)").cast(pl.Int64))
    table.write_csv(ratings_csv)
    for number in range(2):
        part = table.filter(pl.int_range(pl.len()) % 2 == number)
        part.write_parquet(folder / f"{number}.parquet")
    return folder


def test_a_folder_and_a_glob_are_analysed_as_one_file(run: RunCommand, ratings_csv: Path, folder: Path) -> None:
    options = ("--by", "race", "--permutations", "9", "--format", "json")
    expected = json.loads(run("analyse", ratings_csv, *options).stdout)
    for source in (folder, folder / "*.parquet"):
        result = json.loads(run("analyse", source, *options).stdout)
        for row, other in zip(result["rows"], expected["rows"], strict=True):
            numbers = {name: number for name, number in other.items() if isinstance(number, float)}
            assert row == other | {name: pytest.approx(n, rel=1e-12, abs=1e-12) for name, n in numbers.items()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("vet", "ratings"), "ratings is a folder or a glob, which this command does not read"),
        (("report", "ratings/*.parquet", "-o", "x.html"), "read by dissensus analyse"),
        (("analyse", "ratings", "ratings"), "one folder or glob is read at a time"),
        (("analyse", "ratings", "--no-raters"), "--no-raters does not apply to ratings"),
        (("analyse", "ratings", "--items", "items.csv"), "--items does not apply to ratings"),
        (("analyse", "ratings", "--normalise"), "--normalise does not apply to ratings"),
        (("analyse", "ratings", "--by-item", "topic"), "by attributes of items (--by-item) is not computed from a"),
        (("analyse", "ratings", "--level", "ordinal"), "at the ordinal level is not computed from a folder"),
        (("analyse", "no/*.parquet"), "No file matches no/*.parquet"),
    ],
)
def test_what_folders_do_not_have_is_refused(
    run: RunCommand, folder: Path, words: tuple[str, ...], message: str
) -> None:
    result = run(*words)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr
