"""`dissensus export`, `backup` and `restore`."""

import json
from pathlib import Path

import pytest
from tests.support.campaigns import NOW
from tests.support.commands import RunCommand
from tests.support.pair_campaigns import open_pair_campaign, prefer
from tests.support.rated_campaigns import rated_campaign
from tests.support.raters import enter

from dissensus.store.core import schema
from dissensus.store.core.database import connect
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import rating


@pytest.fixture
def rated(tmp_path: Path) -> str:
    """The address of a database with a closed campaign."""
    url = f"sqlite:///{tmp_path / 'dissensus.db'}"
    platform = Platform(connect(url))
    schema.upgrade(platform.database)
    rated_campaign(platform, 6, 4)
    platform.close()
    return url


def test_exported_ratings_can_be_analysed(run: RunCommand, rated: str, tmp_path: Path) -> None:
    done = run("export", "crowded", "-o", "out.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Wrote out.csv: 24 ratings by 4 raters, internal." in done.stderr
    assert (tmp_path / "out.csv.README.txt").exists()
    valid = run("validate", "out.csv")
    assert (valid.returncode, valid.stdout.splitlines()[0]) == (0, "out.csv: valid, 0 errors, 0 warnings")
    again = run("export", "crowded", "-o", "out.csv")
    assert (again.returncode, again.stdout) == (1, "")
    assert "out.csv is there already" in again.stderr
    assert run("export", "crowded", "-o", "out.csv", "--force").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("export", "nothing", "-o", "a.csv"), "There is no campaign 'nothing'"),
        (("export", "crowded", "-o", "a.txt"), "a.txt cannot be written: name a file that ends in one of"),
        (("export", "crowded", "-o", "a.csv", "--purpose", "fun"), "'fun' is not a purpose of crowded"),
        (("export", "crowded", "-o", "no/a.csv"), "cannot be written"),
        (("backup", "no/a.zip"), "cannot be written"),
        (("restore", "nowhere.zip"), "There is no file nowhere.zip"),
        (("restore", "dissensus.db"), "is not a backup of Dissensus"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors_are_one_line(run: RunCommand, rated: str, words: tuple[str, ...], says: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_platform_moves_to_another_database(run: RunCommand, rated: str, tmp_path: Path) -> None:
    done = run("backup", "monday.zip")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Wrote monday.zip: " in done.stderr
    refused = run("restore", "monday.zip")
    assert refused.returncode == 1
    assert "The database is not empty" in refused.stderr
    there = f"sqlite:///{tmp_path / 'moved.db'}"
    assert "Restored " in run("restore", "monday.zip", database_url=there).stderr
    assert "24 ratings by 4 raters" in run("export", "crowded", "-o", "a.csv", database_url=there).stderr


def test_exported_pairs_train_a_model_of_groups(run: RunCommand, tmp_path: Path) -> None:
    platform = Platform(connect(f"sqlite:///{tmp_path / 'dissensus.db'}"))
    schema.upgrade(platform.database)
    campaign_row = open_pair_campaign(platform, 12)
    for age, towards_long in (("old", 3), ("young", -2)):
        rater = enter(platform, campaign_row.key)
        prefer(platform, rater, towards_long)
        rating.declare_attributes(platform, rater, {"rater_age": age}, now=NOW)
    platform.close()
    done = run("export", "pilot", "-o", "out")
    assert done.returncode == 0
    assert "Wrote out: 24 preferences by 2 raters, internal." in done.stderr
    assert "They make 12 pairs. out/README.txt lists what was left out." in done.stderr
    trained = run("preference", "train", "out/pairs/helpful-base/train.jsonl.gz", "-o", "model")
    assert trained.returncode == 0, trained.stderr
    evaluated = run("preference", "evaluate", "out/helpful-by-rater.jsonl", "--model", "model", "--format", "json")
    document = json.loads(evaluated.stdout)
    groups = {one["value"]: one["accuracy"]["estimate"] for one in document["slices"] if one["by"] == "rater_age"}
    assert groups == {"old": 1.0, "young": 0.0}
    assert run("export", "pilot", "-o", "out.csv").returncode == 0
    analysed = run("analyse", "out.csv", "--question", "Q_preference", "--by", "rater_age", "--format", "json")
    assert analysed.returncode == 0, analysed.stderr
    assert {row["group"] for row in json.loads(analysed.stdout)["rows"]} >= {"old", "young"}
