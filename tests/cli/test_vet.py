"""`dissensus vet`: evidence, flags, figure and audit."""

import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.careless import LINERS, SPEEDERS, careless_frame
from tests.support.commands import RunCommand

FLAGGED = list(SPEEDERS + LINERS)


@pytest.fixture
def timed_csv(tmp_path: Path) -> Path:
    path = tmp_path / "timed.csv"
    careless_frame().write_csv(path)
    return path


def test_the_table_shows_who_is_flagged(run: RunCommand, timed_csv: Path) -> None:
    done = run("vet", timed_csv)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Q_overall: 1,800 ratings of 60 items by 30 raters. 5 raters meet a criterion.")
    assert [line[:3] for line in done.stdout.splitlines() if line[:1] == "r" and line[1].isdigit()] == FLAGGED
    assert "No rater is left out" in done.stdout


def test_json_has_everything_and_thresholds_are_options(run: RunCommand, timed_csv: Path) -> None:
    words = ("--below-half", "1", "--below-third", "1", "--below-quarter", "1", "--same-label", ".2")
    report = json.loads(run("vet", timed_csv, *words, "--min-ratings", "60", "--format", "json").stdout)
    speed = {"below_half": 1, "below_third": 1, "below_quarter": 1}
    assert report["criteria"] == {**speed, "same_label": 0.2, "min_ratings": 60}
    assert all(rater["rater_flagged"] for rater in report["raters"])
    assert report["raters"][0]["flat"] is not None  # the granular questions are read as well
    assert report["audit"] is None


def test_a_named_question_is_the_only_one_read(run: RunCommand, timed_csv: Path) -> None:
    report = json.loads(run("vet", timed_csv, "--question", "Q_overall", "--format", "json").stdout)
    assert report["n_flagged"] == 5
    assert "flat" in report["absent"]


def test_the_csv_flags_raters_for_other_commands(run: RunCommand, timed_csv: Path, tmp_path: Path) -> None:
    done = run("vet", timed_csv, "--audit", "--draws", "9", "-o", "raters.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Note: csv has the raters alone; --format json has the audit too." in done.stderr
    assert pl.read_csv(tmp_path / "raters.csv").filter("rater_flagged")["rater_id"].to_list() == FLAGGED
    labels = run("aggregate", timed_csv, "--raters", "raters.csv", "--exclude-flagged", "--format", "csv")
    assert labels.returncode == 0, labels.stderr
    assert pl.read_csv(io.StringIO(labels.stdout))["n_ratings"].unique().to_list() == [25]


def test_without_flags_the_audit_is_of_raters_who_meet_a_criterion(run: RunCommand, timed_csv: Path) -> None:
    done = run("vet", timed_csv, "--audit", "--draws", "99", "--by", "gender", "--within", "gender")
    assert done.returncode == 0, done.stderr
    assert "Filter of 5 of 30 raters, flagged by the criteria" in done.stdout
    assert "Fisher's exact test of independence" in done.stdout
    assert "99 times 5 raters with like numbers of ratings within the groups of rater_gender" in done.stdout


def test_the_audit_of_dices_350(run: RunCommand, dices_350: Path) -> None:
    done = run("vet", dices_350, "--audit", "--format", "json")
    audit = json.loads(done.stdout)["audit"]
    assert audit["source"] == "the file"
    gender = next(axis for axis in audit["axes"] if axis["axis"] == "rater_gender")
    assert round(gender["p"], 4) == 0.0262
    assert round(gender["groups"][0]["odds_ratio"], 2) == 3.36
    moves = {move["measure"]: move["observed"] for move in audit["moves"]}
    assert (round(moves["mean_total_variation"], 5), moves["changed"], moves["disjoint"]) == (0.01556, 9, 5)


def test_the_figure(run: RunCommand, timed_csv: Path, tmp_path: Path) -> None:
    done = run("vet", timed_csv, "--figure", "raters.SVG")
    assert done.returncode == 0, done.stderr
    assert "Wrote raters.SVG." in done.stderr
    assert "meets a criterion" in (tmp_path / "raters.SVG").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--figure", "f.eps"), "name a .svg, .png, .pdf or .json (Vega-Lite) file"),
        (("--figure", "nowhere/f.svg"), "cannot be written"),
        (("--audit", "--min-ratings", "100"), "no filter to audit"),
    ],
)
def test_refusals(run: RunCommand, timed_csv: Path, words: tuple[str, ...], says: str) -> None:
    done = run("vet", timed_csv, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_draws_are_those_of_the_audit(run: RunCommand, timed_csv: Path) -> None:
    done = run("vet", timed_csv, "--draws", "99")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--draws 99 applies to the audit" in done.stderr


def test_the_folder_of_the_figure_is_checked_before_the_ratings_are_read(run: RunCommand) -> None:
    done = run("vet", "absent.csv", "--figure", "nowhere/f.json")
    assert "nowhere/f.json cannot be written" in done.stderr


def test_ids_like_formulas_are_found_in_csv_of_the_program(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(ratings_csv, infer_schema=False)
    prefixed = frame.with_columns(rater_id="@" + pl.col("rater_id"), item_id="=" + pl.col("item_id"))
    prefixed.write_csv(tmp_path / "ratings.csv")
    assert run("vet", "ratings.csv", "--format", "csv", "-o", "vet.csv").returncode == 0
    assert "\n'@" in (tmp_path / "vet.csv").read_text()
    labels = run("aggregate", "ratings.csv", "--format", "csv", "-o", "labels.csv")
    assert labels.returncode == 0, labels.stderr
    assert "\n'=" in (tmp_path / "labels.csv").read_text()
    done = run("analyse", "ratings.csv", "--raters", "vet.csv", "--items", "labels.csv", "--permutations", "0")
    assert done.returncode == 0, done.stderr
