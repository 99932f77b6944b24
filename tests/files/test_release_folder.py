"""Files of a release, and data files of other folders."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.releases import assess, make_source, make_table

from dissensus.files.releases.folder import MANIFEST, SIGNATURE, list_data_files, list_release_files, write_release
from dissensus.files.releases.verification import validate_release
from dissensus.pipeline.release.documents import RECORD


def test_data_files_are_those_of_each_format_in_order(tmp_path: Path) -> None:
    for name in ("b.tsv.gz", "a.csv", "c/d.JSONL", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list_data_files(tmp_path) == [tmp_path / name for name in ("a.csv", "b.tsv.gz", "c/d.JSONL")]


def test_files_of_git_do_not_belong_to_a_release(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in (MANIFEST, SIGNATURE, ".git/config", ".gitignore", "README.md"):
        (tmp_path / name).touch()
    assert list_release_files(tmp_path) == {".gitignore", "README.md"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bulk_share", pl.int_range(pl.len()).cast(pl.Float64) % 2),
        ("bulk_share", (pl.int_range(pl.len()) % 2).cast(pl.Float64) / 2),
        ("answer_time_ms", pl.col("answer_time_ms").cast(pl.Float64)),
        ("harmful", pl.int_range(pl.len()).cast(pl.Float64) % 5),
        ("harmful", pl.when(pl.int_range(pl.len()) % 5 > 0).then(1.5).otherwise(float("nan"))),
    ],
)
def test_a_release_with_decimal_numbers_is_valid(tmp_path: Path, name: str, values: pl.Expr) -> None:
    """Text has 1 where Parquet has 1.0."""
    source = make_source(make_table().with_columns(values.alias(name)), questions=("Q_overall", "harmful"))
    assessed = assess(source)
    table = assessed.publication.table
    record = {"name": "pilot", "version": "1.0", "question": "Q_overall", "k": 5, "ratings": table.height, "raters": 12}
    out = tmp_path / "out"
    write_release(table, assessed.derived, lambda _: {RECORD: json.dumps(record)}, out, register=lambda _: None)
    validation = validate_release(out)
    assert [problem.check for problem in validation.problems()] == []
    assert set(validation.questions) == {"Q_overall", "harmful"} & set(table.columns)
