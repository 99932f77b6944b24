"""`dissensus aggregate`: soft labels and plurality."""

import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run


def test_soft_labels_as_csv(run: Run, ratings_csv: Path) -> None:
    done = run("aggregate", ratings_csv, "--format", "csv")
    assert done.returncode == 0, done.stderr
    frame = pl.read_csv(io.StringIO(done.stdout))
    assert frame.columns == ["item_id", "n_ratings", "No", "Unsure", "Yes"]
    assert frame.height == 30
    assert frame.select(pl.sum_horizontal("No", "Unsure", "Yes")).to_series().to_list() == pytest.approx([1] * 30)


def test_labels_by_group_as_json(run: Run, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("aggregate", ratings_csv, "--by", "gender", "-o", "labels.json")
    assert (done.returncode, done.stdout) == (0, "")
    rows = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert len(rows) == 60
    assert set(rows[0]) == {"item_id", "group", "n_ratings", "No", "Unsure", "Yes"}
    assert {row["group"] for row in rows} == {"Man", "Woman"}


def test_ties_of_the_plurality_are_joined_by_a_bar_in_csv(run: Run, tmp_path: Path) -> None:
    lines = ["item_id,rater_id,Q_overall", "1,a,Yes", "1,b,No", "2,a,Yes", "2,b,Yes"]
    (tmp_path / "two.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("aggregate", "two.csv", "--rule", "plurality", "--format", "csv")
    assert done.stdout.splitlines() == [
        "item_id,n_ratings,answers,share,tied",
        "1,2,No|Yes,0.5,true",
        "2,2,Yes,1.0,false",
    ]
    rows = json.loads(run("aggregate", "two.csv", "--rule", "plurality", "--format", "json").stdout)
    assert rows[0]["answers"] == ["No", "Yes"]


def test_the_table_shows_every_item(run: Run, ratings_csv: Path) -> None:
    done = run("aggregate", ratings_csv)
    assert all(f"item-{i:03}" in done.stdout for i in range(30))


def test_foreign_columns(run: Run, foreign_csv: Path) -> None:
    done = run(
        *("aggregate", foreign_csv, "--item", "post", "--rater", "worker", "--answer", "label", "--format", "csv"),
        *("--categories", "fine,rude,hateful", "--rater-attribute", "country", "--where", "country=Asian"),
    )
    assert done.returncode == 0, done.stderr
    frame = pl.read_csv(io.StringIO(done.stdout))
    assert frame.columns == ["item_id", "n_ratings", "fine", "rude", "hateful"]
    assert set(frame["n_ratings"]) == {10}


def test_what_was_left_out_is_said(run: Run, tmp_path: Path) -> None:
    lines = ["item_id,rater_id,Q_overall", "1,a,Yes", "1,b,No", "2,a,", "2,b,Unsure"]
    (tmp_path / "blank.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("aggregate", "blank.csv", "--format", "csv")
    assert "Note: 1 row has no answer to Q_overall" in done.stderr


def test_the_table_cuts_nothing(run: Run, tmp_path: Path) -> None:
    item = "conversation " * 12 + "end"
    lines = ["item_id,rater_id,label", *(f"{item},r{n},{n}" for n in range(7))]
    (tmp_path / "long.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("aggregate", "long.csv", "--answer", "label", "--rule", "plurality")
    assert item in done.stdout
    assert "0|1|2|3|4|5|6" in done.stdout


def test_answers_with_commas_are_declared_in_quotes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "commas.csv").write_text('item_id,rater_id,label\n1,a,"Yes, a bit"\n1,b,No\n', encoding="utf-8")
    words = ("aggregate", "commas.csv", "--answer", "label", "--format", "csv")
    assert """--categories 'No,"Yes, a bit"'""" in run(*words).stderr
    assert run(*words, "--categories", 'No,"Yes, a bit"').stdout.startswith('item_id,n_ratings,No,"Yes, a bit"')


def test_a_file_of_an_unknown_kind_is_not_written(run: Run, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("aggregate", ratings_csv, "-o", "labels.xlsx")
    assert done.returncode == 1
    assert "name a .json, .csv or .txt file" in done.stderr
    assert not (tmp_path / "labels.xlsx").exists()
