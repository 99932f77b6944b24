"""Tables on a terminal: the numbers of those in a pipe, within its width, and no escape sequences of a file."""

import re
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand
from tests.support.terminal import run_on_terminal

ANALYSE = ("analyse", "ratings.csv", "--by", "race", "--permutations", "50", "--bootstrap", "20")


def list_numbers(text: str) -> list[str]:
    return sorted(re.findall(r"[-+]?\d*\.\d+[*†§]*", text))


@pytest.mark.parametrize("columns", [160, 90])
@pytest.mark.parametrize("words", [ANALYSE, ("vet", "ratings.csv")], ids=["analyse", "vet"])
def test_a_table_has_the_numbers_of_the_plain_one_within_the_width(
    run: RunCommand, ratings_csv: Path, words: tuple[str, ...], columns: int
) -> None:
    plain, shown = run(*words), run_on_terminal(*words, columns=columns, folder=ratings_csv.parent)
    assert (shown.returncode, shown.stderr) == (0, plain.stderr)
    assert list_numbers(shown.stdout) == list_numbers(plain.stdout)
    assert max(map(len, shown.stdout.splitlines())) <= columns
    assert "─" in shown.stdout


@pytest.mark.slow
def test_a_terminal_too_narrow_for_the_numbers_shows_the_plain_table(run: RunCommand, ratings_csv: Path) -> None:
    assert run_on_terminal(*ANALYSE, columns=40, folder=ratings_csv.parent).stdout == run(*ANALYSE).stdout


def test_names_of_a_file_write_no_escape_sequences(ratings_csv: Path) -> None:
    hostile = pl.col("rater_race").replace("White", "\x1b]0;owned\x07\x1b[2J[bold]White[/bold]")
    pl.read_csv(ratings_csv, infer_schema=False).with_columns(hostile).write_csv(ratings_csv)
    shown = run_on_terminal(*ANALYSE[:4], columns=160, folder=ratings_csv.parent).stdout
    assert "[bold]White[/bold]" in shown
    assert not re.search("[\x00-\x09\x0b-\x1f]", shown)
