"""Commands that errors suggest: each runs, and reads the ratings that the file means."""

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from tests.support.commands import RunCommand
from tests.support.foreign_files import ForeignFile, foreign_files

from dissensus.pipeline.analyse import analyse
from dissensus.schema.ratings.table import Ratings

MOST_STEPS = 5


def suggested_words(err: str) -> list[str]:
    """Return the words of the suggested command as a shell splits them."""
    (line,) = (line.removeprefix("Run: dissensus ") for line in err.split("\n") if line.startswith("Run: "))
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def follow(run: RunCommand, *words: str) -> str:
    """Run a command, then what each refusal suggests, until one succeeds; return its output."""
    for _ in range(MOST_STEPS):
        done = run(*words)
        if done.returncode == 0:
            return done.stdout
        assert "Traceback" not in done.stderr
        words = tuple(suggested_words(done.stderr))
    raise AssertionError(f"{words} is refused: {done.stderr}")


@pytest.mark.slow
@given(file=foreign_files())
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_suggestion_runs_and_keeps_the_meaning(run: RunCommand, tmp_path: Path, file: ForeignFile) -> None:
    (tmp_path / "foreign.csv").write_text(file.text)
    result = json.loads(follow(run, "analyse", "foreign.csv", "--format", "json"))
    scale = sorted(set(file.meaning["answer"]))
    ratings = Ratings.from_frame(file.meaning, item="item", rater="rater", answer="answer", categories=scale)
    (compared,) = (name for name in scale if fold(name) == fold(result["settings"]["share_of"]))
    meant = analyse(ratings, share_of=compared)
    assert (result["n_ratings"], result["n_items"], result["n_raters"]) == (20, 5, 4)
    assert sorted(fold(name) for name in result["categories"]) == sorted(fold(name) for name in scale)
    for row in meant.overall:
        if row.estimate is not None:
            assert result["overall"][row.metric]["estimate"] == pytest.approx(row.estimate, abs=1e-12)


@given(file=foreign_files())
@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_validate_suggests_what_it_accepts(run: RunCommand, tmp_path: Path, file: ForeignFile) -> None:
    (tmp_path / "foreign.csv").write_text(file.text)
    assert "foreign.csv: valid" in follow(run, "validate", "foreign.csv")


def fold(name: str) -> str:
    return name.strip().casefold()


def test_a_suggestion_replaces_an_option_that_was_wrong(run: RunCommand, tmp_path: Path) -> None:
    pl.DataFrame({"post_id": ["1", "1"], "who": ["a", "b"], "label": ["Yes", "No"]}).write_csv(tmp_path / "x.csv")
    done = run("analyse", "x.csv", "--item", "post", "--rater", "who", "--answer=label")
    assert done.stderr.endswith("Run: dissensus analyse x.csv --rater who --answer=label --item post_id\n")
    assert run(*suggested_words(done.stderr)).returncode == 0


def test_all_missing_columns_are_listed_together(run: RunCommand, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "instance_id": ["1", "1", "2", "2"],
            "user_id": ["a", "b", "a", "b"],
            "label": ["Yes", "No", "No", "No"],
            "gender": ["f", "m", "f", "m"],
        }
    )
    frame.write_csv(tmp_path / "x.csv")
    done = run("analyse", "x.csv")
    for text in ("no column 'item_id'", "no column 'rater_id'", "No column has a name like Q_overall"):
        assert text in done.stderr
    command = "dissensus analyse x.csv --item instance_id --rater user_id --answer label --rater-attribute gender"
    assert f"Run: {command}\n" in done.stderr


def test_doubles_with_different_answers_are_a_decision(run: RunCommand, tmp_path: Path) -> None:
    rows = "item_id,rater_id,Q_overall\n1,a,Yes\n1,b,No\n1,a,No\n2,a,No\n2,b,No\n"
    (tmp_path / "x.csv").write_text(rows)
    done = run("analyse", "x.csv")
    assert "--duplicates first|last|drop" in done.stderr
    assert "Run:" not in done.stderr
    sizes = {}
    for choice in ("first", "last", "drop"):
        result = json.loads(run("analyse", "x.csv", "--duplicates", choice, "--format", "json").stdout)
        sizes[choice] = (result["n_ratings"], result["overall"]["plurality_size"]["estimate"])
        assert f"(--duplicates {choice})" in result["notes"][0]
    assert sizes == {"first": (4, 0.75), "last": (4, 1.0), "drop": (3, 1.0)}
