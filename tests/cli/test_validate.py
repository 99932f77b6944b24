"""`dissensus validate` on files of all sorts."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.support.commands import RunCommand

GOOD = "item_id,rater_id,Q_overall\n1,a,Yes\n1,b,No\n"
BAD = "item_id,rater_id,rater_age,Q_overall\n1,a,x,Yes\n1,a,y,maybe\n2,b,,No\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(GOOD, encoding="utf-8")
    bad.write_text(BAD, encoding="utf-8")
    return good, bad


def test_a_valid_file_exits_with_0(run: RunCommand, files: tuple[Path, Path]) -> None:
    done = run("validate", files[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert "valid, 0 errors, 0 warnings" in done.stdout
    assert "long table: 2 rows, 1 item, 2 raters, 1 question" in done.stdout


def test_all_files_are_reported_and_errors_exit_with_1(script: RunCommand, files: tuple[Path, Path]) -> None:
    done = script("validate", *files, "nowhere.csv")
    assert (done.returncode, done.stderr) == (1, "")
    assert "bad.csv: not valid, 3 errors, 1 warning" in done.stdout
    assert "There is no file nowhere.csv." in done.stdout
    assert done.stdout.index("3 errors") < done.stdout.index("Rater 'a' rated item '1' twice, in row 1 and row 2.")


def test_warnings_exit_with_0(run: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item_id,rater_id,rater_age,Q_overall\n1,a,,Yes\n", encoding="utf-8")
    done = run("validate", path)
    assert done.returncode == 0
    assert "No rater has a rater_age." in done.stdout


def test_json_and_csv_have_every_problem(run: RunCommand, files: tuple[Path, Path]) -> None:
    report = json.loads(run("validate", *files, "--format", "json").stdout)
    assert report["schema_version"] == 1
    assert [file["ok"] for file in report["files"]] == [True, False]
    rows = list(csv.DictReader(io.StringIO(run("validate", files[1], "--format", "csv").stdout)))
    assert [(row["check"], row["row"]) for row in rows] == [
        (problem["check"], str(problem["row"])) for problem in report["files"][1]["problems"]
    ]


def test_files_without_raters(run: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("item_id,Q_overall\n1,Yes\n1,No\n", encoding="utf-8")
    assert run("validate", path).returncode == 1
    done = run("validate", path, "--no-raters")
    assert done.returncode == 0
    assert "unknown raters" in done.stdout
