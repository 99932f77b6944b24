"""`dissensus benchmark`: scorecards of chatbots."""

import csv
import io
import json
from pathlib import Path

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
    assert run("benchmark", ratings, "--unsafe", "Perhaps").returncode == 1
