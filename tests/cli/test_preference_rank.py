"""`dissensus preference rank`."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.bot_comparisons import BOTS, draw_comparisons
from tests.support.commands import RunCommand


@pytest.fixture
def comparisons(tmp_path: Path) -> Path:
    simulated = draw_comparisons(600)
    assert simulated.rater is not None
    names = {1.0: "a", 0.0: "b", 0.5: "tie"}
    frame = pl.DataFrame(
        {
            "bot_a": [BOTS[index] for index in simulated.a],
            "bot_b": [BOTS[index] for index in simulated.b],
            "winner": [names[one] for one in simulated.outcome.tolist()],
            "rater_id": [f"r{number}" for number in simulated.rater],
            "rater_gender": ["Woman" if number % 2 else "Man" for number in simulated.rater],
        }
    )
    path = tmp_path / "comparisons.csv"
    frame.write_csv(path)
    return path


def test_chatbots_are_ranked(run: RunCommand, comparisons: Path) -> None:
    done = run("preference", "rank", comparisons, "--bootstrap", "50", "--by", "rater_gender")
    assert done.returncode == 0, done.stderr
    assert "600 comparisons by 40 raters." in done.stdout
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(BOTS)][: len(BOTS)] == list(BOTS)
    assert "rater_gender: Woman" in done.stdout
    words = ("preference", "rank", comparisons, "--bootstrap", "50", "--by", "rater_gender", "--format")
    document = json.loads(run(*words, "json").stdout)
    assert [row["bot"] for row in document["rows"]] == list(BOTS)
    assert set(document["groups"]) == {"Man", "Woman"}
    rows = list(csv.DictReader(io.StringIO(run(*words, "csv").stdout)))
    assert [row["group"] for row in rows] == [""] * 4 + ["Man"] * 4 + ["Woman"] * 4
    assert float(rows[0]["ci_low"]) < float(rows[0]["bradley_terry"]) < float(rows[0]["ci_high"])


def test_a_report_is_one_page(run: RunCommand, comparisons: Path, tmp_path: Path) -> None:
    done = run("preference", "rank", comparisons, "--bootstrap", "50", "--by", "rater_gender", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "Ranking of chatbots" in page
    assert "Raters by gender: Woman" in page
    assert "best and good" in page


def test_an_unrankable_group_has_a_reason(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text(
        "bot_a,bot_b,winner,rater_age\na,b,a,young\nb,a,a,young\nc,d,c,young\nd,c,d,young\nb,c,b,old\nc,b,c,old\n"
    )
    done = run("preference", "rank", "some.csv", "--by", "rater_age")
    assert done.returncode == 0, done.stderr
    assert "fall into 2 parts" in done.stdout
    assert "There are no intervals, since the rater of each comparison is unknown" in done.stderr
    document = json.loads(run("preference", "rank", "some.csv", "--by", "rater_age", "--format", "json").stdout)
    assert document["groups"]["young"]["rows"] == []
    assert len(document["groups"]["old"]["rows"]) == 2


def test_errors(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "parts.csv").write_text("bot_a,bot_b,winner\na,b,a\nb,a,a\nc,d,c\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for name, says in (("parts.csv", "fall into 2 parts"), ("other.csv", "There is no column 'bot_a'")):
        done = run("preference", "rank", name)
        assert (done.returncode, done.stdout) == (1, "")
        assert says in done.stderr
