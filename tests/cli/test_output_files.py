"""Output files that a command reads: refused before any work."""

from pathlib import Path

import pytest
from tests.support.commands import RunCommand

FILES = ("ratings.csv", "scores.csv", "labels.csv", "items.csv", "people.csv", "fold/a.csv", "judged/ratings.csv")


@pytest.fixture
def files(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("content\n", encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        "benchmark ratings.csv --scores scores.csv --by gender -o scores.csv",
        "benchmark ratings.csv --scores scores.csv --population-labels labels.csv -o labels.csv",
        "aggregate ratings.csv --population people.csv -o people.csv",
        "analyse ratings.csv --annotators people.csv -o people.csv",
        "report ratings.csv --reviews labels.csv -o labels.csv",
        "validate ratings.csv --items items.csv -o items.csv",
        "validate ratings.csv --raters people.csv -o people.csv",
        "validate fold -o fold/a.csv",
        "vet fold/*.csv -o fold/a.csv",
        "vet ratings.csv --figure people.csv --raters people.csv",
        "judge audit judged --ratings ratings.csv -o ratings.csv",
        "judge audit judged -o judged/ratings.csv",
        "judge run items.csv --judge tern.toml --persona-by race --ratings judged/ratings.csv -o judged",
        "jury predict items.csv --model model -o items.csv",
        "preference score items.csv --model model -o items.csv",
        "plan groups ratings.csv -o ratings.csv",
        "curate items.csv -n 3 --plan items.csv",
        "convert ratings.csv people.csv --annotators people.csv --force",
    ],
)
@pytest.mark.usefixtures("files")
def test_files_that_are_read_are_not_written(run: RunCommand, tmp_path: Path, command: str) -> None:
    done = run(*command.split())
    assert done.returncode == 1
    assert "read here, and" in done.stderr
    assert {(tmp_path / name).read_text(encoding="utf-8") for name in FILES} == {"content\n"}
