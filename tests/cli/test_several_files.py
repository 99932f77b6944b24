"""Commands on several files, and renames of columns and values."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame
from tests.support.commands import RunCommand

import dissensus as ds


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "first.csv", tmp_path / "second.parquet"]
    simulate_frame(1, n_items=8).write_csv(paths[0])
    simulate_frame(2, n_items=6).with_columns(rater_sex=pl.col("rater_gender").str.slice(0, 1)).drop(
        "rater_gender"
    ).write_parquet(paths[1])
    return paths


RENAMES = ("--rename", "rater_sex=rater_gender", "--rename", "rater_sex:M=Man", "--rename", "rater_sex:W=Woman")


@pytest.mark.slow
def test_commands_read_several_files(run: RunCommand, files: list[Path]) -> None:
    renames = {"rater_sex": "rater_gender", "rater_gender": {"M": "Man", "W": "Woman"}}
    words = ("--rename", "rater_sex=rater_gender", "--rename", "rater_gender:M=Man", "--rename", "rater_gender:W=Woman")
    done = run("analyse", *files, *words, "--by", "gender", "--by-item", "item_file", "--format", "json")
    assert done.returncode == 0, done.stderr
    expected = ds.analyse(files, rename=renames, by="gender", by_item="item_file")
    assert json.loads(done.stdout) == expected.to_dict() | {"settings": json.loads(done.stdout)["settings"]}
    for command in ("vet", "aggregate"):
        assert run(command, *files, *words).returncode == 0


def test_unclear_renames_and_names(run: RunCommand, files: list[Path]) -> None:
    assert "is not OLD=NEW" in run("analyse", files[0], "--rename", "rater_sex").stderr
    assert "names the column 'rater_sex' twice" in run("analyse", *files, *RENAMES).stderr
    assert "is named twice. Name each file once." in run("analyse", files[0], files[0]).stderr
    conflict = run("analyse", *files, "--rename", "rater_sex=rater_gender")
    assert "has rater_gender 'Man' in first, 'M' in second." in conflict.stderr


@pytest.mark.slow
def test_a_report_of_several_files(run: RunCommand, files: list[Path], tmp_path: Path) -> None:
    words = ("--rename", "rater_sex=rater_gender", "--rename", "rater_gender:M=Man", "--rename", "rater_gender:W=Woman")
    page = tmp_path / "page.html"
    done = run(
        "report", *files, *words, "--by-item", "item_file", "--permutations", "0", "--bootstrap", "0", "-o", page
    )
    assert done.returncode == 0, done.stderr
    html = page.read_text(encoding="utf-8")
    assert "Ratings of 14 items" in html
    for name in ("first", "second", "Man", "Woman"):
        assert name in html
