"""`dissensus simulate`: official files with a known truth."""

import csv
import io
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand

from dissensus.schema.questionnaire.shipped import load_questionnaire

SMALL = ("--items", "12", "--per-item", "20")


@pytest.fixture
def simulate(run: RunCommand) -> RunCommand:
    return partial(run, "simulate")


def test_a_full_campaign_is_written_and_can_be_analysed(run: RunCommand, tmp_path: Path) -> None:
    done = run("simulate", "-o", "campaign.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == ["Wrote campaign.csv.", "Wrote campaign.truth.json."]
    with (tmp_path / "campaign.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0]) == load_questionnaire("dices-350").columns
    assert len(rows) == 1 + 43_050
    assert {len(row) for row in rows} == {41}
    assert "" not in rows[1]
    done = run("analyse", "campaign.csv", "--by", "race", "--permutations", "0", "--bootstrap", "0")
    assert done.returncode == 0, done.stderr
    assert "43,050 ratings of 350 items by 123 raters" in done.stdout


def test_without_a_file_it_prints_ratings_fixed_by_the_seed(simulate: RunCommand, tmp_path: Path) -> None:
    first, again, other = (simulate(*SMALL, *words) for words in ((), ("--seed", "0"), ("--seed", "1")))
    assert first.stdout == again.stdout != other.stdout
    assert pl.read_csv(io.StringIO(first.stdout), infer_schema=False).height == 240
    assert (first.returncode, first.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "beside"),
    [
        ("a.csv", "a.truth.json"),
        ("b.jsonl.gz", "b.truth.json"),
        ("c.parquet", "c.truth.json"),
        ("d.e.csv", "d.e.truth.json"),
    ],
)
def test_the_truth_is_written_beside_the_file(simulate: RunCommand, tmp_path: Path, file: str, beside: str) -> None:
    done = simulate(*SMALL, "-o", file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"Wrote {file}.\nWrote {beside}.\n")
    assert {path.name for path in tmp_path.iterdir()} == {file, beside}
    truth = json.loads((tmp_path / beside).read_text(encoding="utf-8"))
    assert truth["campaign"]["items"]["count"] == len(truth["items"]) == 12
    assert sum(rater["n_ratings"] for rater in truth["raters"]) == 240


def test_the_truth_is_written_to_the_given_file(simulate: RunCommand, tmp_path: Path) -> None:
    assert simulate(*SMALL, "--truth", "t.json").stdout.startswith("id,rater_id")
    assert simulate(*SMALL, "-o", "a.csv", "--truth", "u.json").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"t.json", "a.csv", "u.json"}
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "u.json").read_bytes()


def test_every_option_reaches_the_campaign(simulate: RunCommand, tmp_path: Path) -> None:
    done = simulate(
        *("--preset", "dices-990", "--items", "30", "--raters-per-cell", "5", "--per-item", "7.5"),
        *("--missing", "0.1", "--dropout", "0.2", "--speeders", "3", "--straight-liners", "2", "--clickers", "1"),
        *("--group-sd", "rater_locale=0.4", "--group-sd", "age=1.5", "--seed", "9", "-o", "a.csv"),
    )
    assert done.returncode == 0, done.stderr
    truth = json.loads((tmp_path / "a.truth.json").read_text(encoding="utf-8"))
    campaign = truth["campaign"]
    assert (truth["seed"], campaign["questionnaire"], campaign["per_item"]) == (9, "dices-990", 7.5)
    assert (campaign["missing"], campaign["dropout"], len(truth["raters"]), len(truth["items"])) == (0.1, 0.2, 30, 30)
    kinds = pl.DataFrame(truth["raters"])["kind"].value_counts().rows()
    assert dict(kinds) == {"careful": 24, "speeder": 3, "straight-liner": 2, "clicker": 1}
    groups = campaign["effects"]["groups"]
    assert groups["rater_locale"]["item_sd"] == {"IN": 0.4, "US": 0.4}
    assert groups["rater_age"]["item_sd"] == {"gen z": 1.5, "millenial": 1.5, "gen x+": 1.5}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--group-sd rase=1", "Did you mean 'rater_race'?"),
        ("--group-sd race", "write it as race=0.4"),
        ("--group-sd race=much", "write it as race=0.4"),
        ("--group-sd race=-1", "item_sd of"),
        ("--group-sd race=nan", "item_sd of"),
        ("--per-item 124", "per_item is 124.0; give a number from 1 up to 123"),
        ("--missing 2", "missing is 2.0"),
        ("--dropout -1", "dropout is -1.0"),
        ("--speeders 200", "careless raters"),
        ("--items 1000000", "too many to draw at once"),
        ("--preset dices-990 --raters-per-cell 2", "per_item is 72.8313"),
        ("-o campaign.xlsx", "campaign.xlsx cannot be written"),
        ("-o no/such/folder.csv", "cannot be written"),
        ("-o old.csv", "old.csv is there already"),
        ("-o new.csv --truth old.csv", "old.csv is there already"),
        ("-o new.csv --truth new.csv", "Name two files"),
    ],
)
def test_bad_settings_are_refused_in_one_line(simulate: RunCommand, tmp_path: Path, words: str, says: str) -> None:
    (tmp_path / "old.csv").touch()
    done = simulate(*words.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]


@pytest.mark.parametrize("words", ["--items 0", "--seed -1", "--preset dices", "file.csv", "--raters-per-cell 0"])
def test_wrong_usage_exits_with_2(simulate: RunCommand, words: str) -> None:
    done = simulate(*words.split())
    assert done.returncode == 2
    assert "Usage: dissensus" in done.stderr


def test_force_replaces_a_file(simulate: RunCommand, tmp_path: Path) -> None:
    assert simulate(*SMALL, "-o", "a.csv").returncode == 0
    before = (tmp_path / "a.csv").read_bytes()
    assert simulate(*SMALL, "-o", "a.csv", "--seed", "5", "--force").returncode == 0
    assert (tmp_path / "a.csv").read_bytes() != before


@pytest.mark.slow
def test_red_team_attempts_are_written_and_read_again(simulate: RunCommand, run: RunCommand, tmp_path: Path) -> None:
    done = simulate("--preset", "red-team", "--seed", "1", "-o", "attempts.jsonl.gz")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Wrote attempts.jsonl.gz.\n")
    checked = run("validate", "attempts.jsonl.gz")
    assert "valid, 0 errors, 0 warnings\n  red-team: 38,961 rows" in checked.stdout
    assert simulate("--preset", "red-team", "-o", "attempts.jsonl.gz").returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["attempts.jsonl.gz"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--items", "3", "-o", "a.json"), "--items does not apply to red-team attempts"),
        (("--group-sd", "race=1", "-o", "a.json"), "--group-sd does not apply"),
        (("--truth", "t.json", "-o", "a.json"), "--truth does not apply"),
        ((), "Name it: -o attempts.json.gz"),
        (("-o", "a.txt"), "a.txt cannot be written: name a file that ends in one of"),
    ],
)
def test_options_that_do_not_apply_to_attempts_are_refused(
    simulate: RunCommand, words: tuple[str, ...], says: str
) -> None:
    done = simulate("--preset", "red-team", *words)
    assert done.returncode == 1
    assert says in " ".join(done.stderr.split())
