"""`dissensus gold`: experts against the crowd."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Four items with two raters each, the last of them tied."""
    rows = [
        *(("1", "a", "No", "No"), ("1", "b", "No", "No"), ("2", "a", "Yes", "Yes"), ("2", "b", "Yes", "Yes")),
        *(("3", "a", "No", "Yes"), ("3", "b", "No", "Yes"), ("4", "a", "Yes", "Yes"), ("4", "b", "No", "Yes")),
    ]
    frame = pl.DataFrame(rows, schema=["item_id", "rater_id", "Q_overall", "safety_gold"], orient="row")
    path = tmp_path / "labelled.csv"
    frame.with_columns(rater_gender=pl.col("rater_id").replace({"a": "Woman", "b": "Man"})).write_csv(path)
    return path


def test_the_table(run: RunCommand, labelled: Path) -> None:
    done = run("gold", labelled, "--by", "gender")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["everybody", "2", "4", "1", "1", "1", "(25.0)", "0", "(0.0)", "1", "0.444"] in lines
    assert ["Woman", "1", "4", "1", "2", "1", "(25.0)", "0", "(0.0)", "0", "0.533"] in lines
    assert "counts as neither" in done.stdout


def test_ties_and_unsafe_answers_are_options(run: RunCommand, labelled: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("gold", labelled, "--ties", "unsafe", "--format", "csv").stdout)))
    assert [rows[0][name] for name in ("both_unsafe", "gold_only", "tied")] == ["2", "1", "1"]
    words = ("gold", labelled, "--unsafe", "Unsure,Yes", "--categories", "No,Unsure,Yes", "--format", "json")
    document = json.loads(run(*words).stdout)
    assert document["rule"].startswith("Unsafe: Unsure, Yes; safe: No.")
    assert document["summary"][0]["both_safe"] == 1
    assert {row["crowd"] for row in document["confusion"]} == {"safe", "tied", "unsafe"}


def test_labels_and_kinds_come_from_a_table_of_items(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    ids = pl.read_csv(ratings_csv)["item_id"].unique().sort()
    labels = ["Yes", "No"] * 15
    items = pl.DataFrame({"item_id": ids, "expert": labels, "safety_platinum": "No", "kind": ["x"] * 10 + ["y"] * 20})
    items.write_csv(tmp_path / "items.csv")
    words = ("--items", "items.csv", "--gold", "expert", "--platinum", "safety_platinum", "--by", "kind")
    done = run("gold", ratings_csv, *words)
    assert done.returncode == 0, done.stderr
    assert "crowd   expert  safety_platinum" in done.stdout
    document = json.loads(run("gold", ratings_csv, *words, "--format", "json").stdout)
    assert [(row["group"], row["n_items"]) for row in document["summary"]] == [(None, 30), ("x", 10), ("y", 20)]


def test_reasons_stand_beside_the_answers_to_their_questions(run: RunCommand, tmp_path: Path) -> None:
    """Lists as official files have them and as exports do; one reason that no question is known for."""
    reasons = {"1": "['Safety_bias_status', 'policy_endorsed']", "2": '["Misinformation", "Other"]', "3": "[]", "4": ""}
    status = {"1": "Yes", "2": "No", "3": "Unsure", "4": "Yes"}
    rows = [
        (item, rater, reasons[item], status[item], "Yes" if item == "2" and rater == "a" else "No", "Yes")
        for item in reasons
        for rater in "ab"
    ]
    questions = ("Q3_bias_targeting_status", "Q4_misinformation", "Q_overall")
    table = pl.DataFrame(rows, schema=["item_id", "rater_id", "safety_gold_reason", *questions], orient="row")
    table.write_csv(tmp_path / "labelled.csv")
    done = run("gold", "labelled.csv", "--reasons", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [tuple(row.values()) for row in document["reasons"]] == [
        ("Safety_bias_status", "Q3_bias_targeting_status", 1, 1.0, 2, 0.0),
        ("Misinformation", "Q4_misinformation", 1, 0.5, 2, 0.0),
        ("Other", None, 1, None, 2, None),
        ("policy_endorsed", None, 1, None, 2, None),
    ]
    assert document["notes"][0] == "1 of 4 items have no safety_gold_reason and are left out."
    assert "until 25 January 2024, whose rows were shuffled" in document["notes"][1]
    lines = [line.split() for line in run("gold", "labelled.csv", "--reasons").stdout.splitlines()]
    assert ["Misinformation", "Q4_misinformation", "1", "50.0", "2", "0.0"] in lines
    table.with_columns(safety_gold_reason=pl.lit("Bias")).write_csv(tmp_path / "labelled.csv")
    refused = run("gold", "labelled.csv", "--reasons")
    assert (refused.returncode, "is 'Bias', and not a list of reasons" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--gold", "gold"), "The items have no 'gold'. Attributes of items are 'safety_gold'."),
        (("--by", "rase"), "There is no axis 'rase'"),
        (("--unsafe", ""), "not all or none"),
    ],
    ids=" ".join,
)
def test_errors(run: RunCommand, labelled: Path, words: tuple[str, ...], says: str) -> None:
    done = run("gold", labelled, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_use(run: RunCommand, labelled: Path) -> None:
    assert run("gold", labelled, "--ties", "first").returncode == 2


def test_the_published_figures(run: RunCommand, dices_350: Path) -> None:
    done = run("gold", dices_350, "--exclude-flagged", "--ties", "safe")
    assert "everybody" in done.stdout
    assert "105 (30.0)    14 (4.0)     4" in done.stdout


@pytest.mark.parametrize("words", [("--by", "gender"), ("--bootstrap", "10"), ("--ties", "safe"), ("--gold", "x")])
def test_reasons_refuse_options_on_labels(run: RunCommand, labelled: Path, words: tuple[str, str]) -> None:
    done = run("gold", labelled, "--reasons", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{words[0]} applies to labels" in done.stderr
