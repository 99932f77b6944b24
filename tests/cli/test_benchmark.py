"""`dissensus benchmark`: scorecards of chatbots and of models."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand


@pytest.fixture
def ratings(run: RunCommand, tmp_path: Path) -> Path:
    path = tmp_path / "simulated.csv"
    words = ("--items", "12", "--raters-per-cell", "3", "--seed", "1", "-o", path)
    assert run("simulate", *words).returncode == 0
    return path


def test_table_json_and_csv_have_the_same_shares(run: RunCommand, ratings: Path) -> None:
    words = ("benchmark", ratings, "--by", "gender", "--by-item", "degree_of_harm")
    table, csv_text = run(*words), run(*words, "--format", "csv").stdout
    assert table.returncode == 0, table.stderr
    card = json.loads(run(*words, "--format", "json").stdout)
    assert card["schema_version"] == 1
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    assert [row["metric"] for row in rows] == [row["metric"] for row in card["rows"]]
    assert float(rows[0]["estimate"]) == pytest.approx(card["rows"][0]["estimate"])
    assert f"{100 * card['rows'][0]['estimate']:.1f}" in table.stdout
    assert {gap["axis"] for gap in card["gaps"]} == {"rater_gender"}
    assert "gap between groups" in table.stdout


def test_errors_name_the_remedy(run: RunCommand, ratings: Path) -> None:
    done = run("benchmark", ratings, "--chatbot", "degree_of_harms")
    assert done.returncode == 1
    assert "Did you mean 'degree_of_harm'?" in done.stderr
    done = run("benchmark", ratings, "--unsafe", "Perhaps")
    assert (done.returncode, "'Perhaps' is not an answer" in done.stderr) == (1, True)


def test_models_are_scored_from_files(run: RunCommand, ratings: Path, tmp_path: Path) -> None:
    items = pl.read_csv(ratings, infer_schema_length=0)["item_id"].unique().sort()
    first, second = tmp_path / "guard.csv", tmp_path / "judge.jsonl"
    pl.DataFrame({"item_id": items, "score": [0.25, 0.75] * (len(items) // 2)}).write_csv(first)
    pl.DataFrame({"item_id": items, "judge": ["Yes", "Unsure"] * (len(items) // 2)}).write_ndjson(second)
    words = ("benchmark", ratings, "--by", "gender", "--scores", first, "--scores", second, "--gold", "safety_gold")
    done = run(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    assert card["settings"]["models"] == ["guard", "judge"]
    assert card["settings"]["label_models"] == ["judge"]
    table = run(*words).stdout
    for text in ("rank by brier", "against safety_gold", "everybody else · rater_gender", "perfect score"):
        assert text in table
    assert run(*words, "--format", "csv").stdout.startswith("model,question,")


def test_options_of_the_other_scorecard_are_refused(run: RunCommand, ratings: Path, tmp_path: Path) -> None:
    done = run("benchmark", ratings, "--gold", "safety_gold")
    assert done.returncode == 1
    assert "--gold is an option of another scorecard. Leave it out, or add --scores FILE." in done.stderr
    for words in (("--threshold", "0.7"), ("--at-least", "0.3"), ("--decisions", "--rank-by", "auc")):
        assert "is an option of another scorecard" in run("benchmark", ratings, *words).stderr
    scores = tmp_path / "scores.csv"
    pl.DataFrame({"item_id": ["1"], "guard": [2.5]}).write_csv(scores)
    done = run("benchmark", ratings, "--scores", scores)
    assert done.returncode == 1
    assert "scores.csv: Item '1' has the score 2.5 of 'guard'" in done.stderr
    assert "leave out --scores" in run("benchmark", ratings, "--scores", scores, "--by-item", "harm_type").stderr


def test_decisions_are_compared(run: RunCommand, ratings: Path, tmp_path: Path) -> None:
    items = pl.read_csv(ratings, infer_schema_length=0)["item_id"].unique().sort()
    labels = tmp_path / "labels.csv"
    pl.DataFrame({"item_id": items, "population": "census", "No": 0.2, "Unsure": 0.2, "Yes": 0.6}).write_csv(labels)
    words = ("benchmark", ratings, "--by", "gender", "--decisions", "--costs", "1:1,1:3", "--population-labels", labels)
    done = run(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    decisions = {decision["name"]: decision for decision in json.loads(done.stdout)["decisions"]}
    assert decisions["poststratified: census at 1:1"]["n_blocked"] == len(items)
    assert "any-group: rater_gender ≥ 0.5 at 1:3" in decisions
    for wrong, message in (
        (("--costs", "1-3"), "--costs '1-3' is not like 1:5"),
        (("--population-labels", ratings), "There is no column 'population'"),
    ):
        done = run("benchmark", ratings, "--decisions", *wrong)
        assert done.returncode == 1
        assert message in done.stderr
    assert "add --decisions" in run("benchmark", ratings, "--rule", "plurality").stderr
    assert "add --decisions" in run("benchmark", ratings, "--seats", "gender=Woman:1").stderr
    seats = ("--rule", "jury", "--seats", "gender=Woman:2,gender=Man:1", "--min-raters", "2")
    jury = json.loads(run("benchmark", ratings, "--decisions", *seats, "--format", "json").stdout)
    assert jury["settings"]["seats"] == {"rater_gender=Woman": 2, "rater_gender=Man": 1}
    assert jury["settings"]["axes"] == ["rater_gender"]


def test_a_page_and_figures_are_written(run: RunCommand, ratings: Path, tmp_path: Path) -> None:
    page, folder = tmp_path / "card.html", tmp_path / "figures"
    words = ("--question", "Q_overall", "--by", "gender", "-o", page, "--figures", folder)
    done = run("benchmark", ratings, *words)
    assert done.returncode == 0, done.stderr
    assert "Scorecard of chatbots" in page.read_text()
    assert {path.name for path in folder.iterdir()} == {
        f"shares-Q_overall.{kind}" for kind in ("svg", "png", "pdf", "json")
    }
