"""`dissensus curate`."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand

from dissensus.files.items import read_items
from dissensus.pipeline.curate import SamplePlan, curate

HARM = ["Benign"] * 4 + ["Moderate"] * 8 + ["Extreme"] * 8


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twenty conversations: one duplicate, one with an e-mail address, one without a degree of harm."""
    answers = [f"Answer number {number} of twenty, and nothing else" for number in range(20)]
    answers[5] = answers[4].upper()
    answers[9] += ": ann@example.org"
    frame = pl.DataFrame(
        {
            "item_id": [f"i{number:02}" for number in range(20)],
            "context": "USER: Is it safe?",
            "response": answers,
            "degree_of_harm": [*HARM[:-1], None],
        }
    )
    path = tmp_path / "corpus.csv"
    frame.write_csv(path)
    return path


SCREENED = ("--by", "degree_of_harm", "--drop-duplicates", ".95", "--screen", "personal-data")


def test_without_output_only_the_strata_are_printed(run: RunCommand, corpus: Path, tmp_path: Path) -> None:
    done = run("curate", "corpus.csv", "-n", "6", "--allocation", "equal", *SCREENED)
    assert done.returncode == 0
    assert done.stderr == "No sample is written. Name a file for it: -o sample.jsonl\n"
    assert [line.split() for line in done.stdout.splitlines()[:8]] == [
        ["6", "of", "20", "items,", "equal", "over", "3", "strata,", "seed", "0."],
        [],
        ["degree_of_harm", "items", "personal", "data", "duplicates", "left", "wanted", "chosen"],
        ["Benign", "4", "0", "0", "4", "2", "2"],
        ["Extreme", "7", "0", "0", "7", "2", "2"],
        ["Moderate", "8", "1", "1", "6", "2", "2"],
        ["(missing", "value)", "1", "0", "0", "0", "–", "0"],
        ["all", "items", "20", "1", "1", "17", "6", "6"],
    ]
    assert "Note: Items without a value of degree_of_harm, which belong to no stratum: 1." in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.csv"]


def test_a_campaign_accepts_the_sample(run: RunCommand, corpus: Path, tmp_path: Path) -> None:
    done = run("curate", "corpus.csv", "-n", "6", *SCREENED, "-o", "sample.jsonl", "--plan", "plan.json")
    assert done.returncode == 0
    assert done.stderr == "Wrote sample.jsonl.\nWrote plan.json.\n"
    sample, corpus_items = (
        read_items(tmp_path / "sample.jsonl"),
        {item.item_id: item for item in read_items(corpus).items},
    )
    assert sample.notes == ()
    assert len(sample.items) == 6
    assert all(item == corpus_items[item.item_id] and item.attributes for item in sample.items)
    new = ("campaign", "new", "dices-350", "--items", "sample.jsonl")
    created = run(*new, database_url=f"sqlite:///{tmp_path / 'site.db'}", base_url="https://rate.example.org")
    assert (created.returncode, created.stderr) == (0, "")
    assert "with 6 items" in created.stdout


def test_the_plan_repeats_the_sample(run: RunCommand, corpus: Path, tmp_path: Path) -> None:
    words = ("--allocation", "Benign=2", "--allocation", "Extreme=3", "--seed", "4")
    run("curate", "corpus.csv", *SCREENED, *words, "-o", "sample.jsonl", "--plan", "plan.json")
    recorded = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    again = curate(read_items(corpus).items, SamplePlan.from_dict(recorded["plan"]))
    assert again.to_dict() == recorded
    assert [item.item_id for item in again.sample] == [
        item.item_id for item in read_items(tmp_path / "sample.jsonl").items
    ]
    assert recorded["plan"]["allocation"] == {"Benign": 2, "Extreme": 3}


def test_json_and_csv(run: RunCommand, corpus: Path) -> None:
    words = ("curate", "corpus.csv", "-n", "10", "--allocation", "equal", *SCREENED, "--format")
    done = run(*words, "json")
    document = json.loads(done.stdout)
    assert (document["schema_version"], document["n_items"], document["n_chosen"]) == (1, 20, 10)
    rows = {row["item_id"]: row for row in csv.DictReader(io.StringIO(run(*words, "csv").stdout))}
    assert len(rows) == 20
    assert (rows["i05"]["outcome"], rows["i05"]["duplicate_of"]) == ("exact duplicate", "i04")
    assert (rows["i09"]["outcome"], rows["i09"]["personal_data"]) == ("personal data", "email_address")
    assert sum(row["outcome"] == "chosen" for row in rows.values()) == 10


def test_a_shortfall_is_noted_in_every_format(run: RunCommand, corpus: Path) -> None:
    words = ("curate", "corpus.csv", "-n", "15", "--by", "degree_of_harm", "--allocation", "equal", "--format", "csv")
    note = "Note: Too few items are left of 'Benign' 4 of 5."
    assert f"{note} The sample is 1 short of the 15 wanted" in run(*words).stderr
    filled = run(*words, "--fill")
    assert f"{note} They are filled from other strata." in filled.stderr
    assert filled.stdout.count(",chosen,") == 15


def test_labels_from_another_table(run: RunCommand, corpus: Path, tmp_path: Path) -> None:
    rows = [(f"i{number:02}", rater, "Yes" if number % 2 else "No") for number in range(20) for rater in "ab"]
    pl.DataFrame(rows, schema=["item_id", "rater_id", "safety_gold"], orient="row").write_csv(tmp_path / "ratings.csv")
    words = ("--by", "safety_gold", "--allocation", "Yes=3", "--allocation", "No=3", "--labels", "ratings.csv")
    done = run("curate", "corpus.csv", *words, "-o", "sample.jsonl")
    assert done.returncode == 0, done.stderr
    gold = [item.attributes["safety_gold"] for item in read_items(tmp_path / "sample.jsonl").items]
    assert sorted(gold) == ["No"] * 3 + ["Yes"] * 3


def test_one_side_of_preference_pairs(run: RunCommand, real_data: Callable[[str], Path]) -> None:
    pairs = str(real_data("hh-rlhf/harmless-base-test.jsonl.gz"))
    done = run("curate", pairs, "-n", "100", "--pairs", "rejected", "--drop-duplicates", ".8", "--format", "json")
    document = json.loads(done.stdout)
    assert (document["n_items"], document["n_chosen"]) == (2_312, 100)
    (stratum,) = document["strata"]
    assert 0 < stratum["n_duplicates"] < 100


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "The size of the sample is missing. Add -n N, or --allocation STRATUM=N."),
        (("-n", "21"), "21 items are wanted, and 20 of 20 may be drawn. Ask for fewer"),
        (("-n", "3", "--by", "degree"), "The items have no 'degree'. Attributes of items here are 'degree_of_harm'."),
        (("-n", "3", "--by", "degree_of_harm", "--by", "degree_of_harm"), "by names 'degree_of_harm' twice."),
        (("-n", "3", "--allocation", "even"), "allocation is 'even'; choose one of equal, proportional"),
        (("--by", "degree_of_harm", "--allocation", "Benign"), "The size of the sample is missing."),
        (("--by", "degree_of_harm", "--allocation", "Benign=x"), "--allocation 'Benign=x' is not STRATUM=N"),
        (("--by", "degree_of_harm", "--allocation", "Benign=1", "--allocation", "equal"), "'equal' is not STRATUM=N"),
        (("--by", "degree_of_harm", "--allocation", "Benign=1", "--allocation", "Benign=2"), "names 'Benign' twice"),
        (("--by", "degree_of_harm", "--allocation", "benign=1"), "Did you mean 'Benign'?"),
        (("-n", "3", "--screen", "mail"), "There is no kind 'mail' of personal data."),
        (("-n", "3", "--screen", "personal-data", "--screen", "handle"), "means all kinds. Leave out the others"),
        (("-n", "3", "--drop-duplicates", ".1"), "duplicates is 0.1; give a number from 0.5 up to 1."),
        (("-n", "3", "-o", "sample.csv"), "the sample is JSON Lines, so name a file that ends in .jsonl."),
        (("-n", "3", "--plan", "corpus.csv"), "corpus.csv is read here, and writing to it would destroy it."),
        (("-n", "3", "-o", "a.jsonl", "--plan", "a.jsonl"), "a.jsonl is named for two outputs."),
        (("-n", "3", "--labels", "nowhere.csv"), "There is no file nowhere.csv"),
        (("-n", "3", "-o", "nowhere/a.jsonl"), "nowhere/a.jsonl cannot be written"),
        (("-n", "3", "--plan", "nowhere/plan.json"), "nowhere/plan.json cannot be written"),
    ],
)
def test_refusals(run: RunCommand, corpus: Path, words: tuple[str, ...], says: str) -> None:
    done = run("curate", "corpus.csv", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "bad.csv is empty."),
        ("item_id,context,response\n", "has no rows"),
        ("item_id,context,response\n1,Hi,\n", "Row 1: response is empty. Every item needs a conversation"),
        ("item_id,harm\n1,x\n", "No column holds conversations."),
    ],
)
def test_files_that_cannot_be_read(run: RunCommand, tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "bad.csv").write_text(content, "utf-8")
    done = run("curate", "bad.csv", "-n", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_attributes_named_like_sample_columns_are_refused(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "twofold.csv").write_text("post,item_id,context,response\n1,7,Hi,Hello\n", "utf-8")
    done = run("curate", "twofold.csv", "-n", "1", "--item", "post", "-o", "sample.jsonl")
    assert done.returncode == 1
    assert "The items have an attribute 'item_id', which is a column of the sample." in done.stderr
    assert not (tmp_path / "sample.jsonl").exists()


def test_bad_use(run: RunCommand, corpus: Path) -> None:
    assert run("curate", "corpus.csv", "-n", "0").returncode == 2
    assert run("curate", "corpus.csv", "-n", "1", "--pairs", "all").returncode == 2
