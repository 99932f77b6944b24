"""Folders and globs of Parquet files as input of commands."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand


@pytest.fixture
def folder(ratings_csv: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "ratings"
    folder.mkdir()
    table = pl.read_csv(ratings_csv, infer_schema=False)
    table = table.with_columns(pl.col("item_id").str.extract(r"(\d+)").cast(pl.Int64))
    table.write_csv(ratings_csv)
    for number in range(2):
        part = table.filter(pl.int_range(pl.len()) % 2 == number)
        part.write_parquet(folder / f"{number}.parquet")
    return folder


def test_a_folder_and_a_glob_are_analysed_as_one_file(run: RunCommand, ratings_csv: Path, folder: Path) -> None:
    options = ("--by", "race", "--permutations", "9", "--format", "json")
    expected = json.loads(run("analyse", ratings_csv, *options).stdout)
    for source in (folder, folder / "*.parquet"):
        result = json.loads(run("analyse", source, *options).stdout)
        for row, other in zip(result["rows"], expected["rows"], strict=True):
            numbers = {name: number for name, number in other.items() if isinstance(number, float)}
            assert row == other | {name: pytest.approx(n, rel=1e-12, abs=1e-12) for name, n in numbers.items()}


@pytest.mark.parametrize(
    "options",
    [
        ("aggregate", "--format", "csv"),
        ("aggregate", "--by", "gender", "--format", "json"),
        ("aggregate", "--rule", "plurality", "--format", "csv"),
        ("aggregate", "--rule", "share", "--costs", "1:3", "--format", "csv"),
    ],
)
def test_labels_of_a_folder_are_those_of_one_file(
    run: RunCommand, ratings_csv: Path, folder: Path, options: tuple[str, ...]
) -> None:
    table = pl.read_csv(ratings_csv, infer_schema=False).with_columns(pl.col("item_id").str.zfill(5))
    table.write_csv(ratings_csv)
    for path in folder.iterdir():
        pl.read_parquet(path).with_columns(pl.col("item_id").cast(pl.String).str.zfill(5)).write_parquet(path)
    command, *remaining = options
    expected = run(command, ratings_csv, *remaining).stdout
    assert run(command, folder, *remaining).stdout == expected
    written = folder.parent / f"labels.{remaining[-1]}"
    run(command, folder / "*.parquet", *remaining[:-2], "-o", written)
    assert written.read_text("utf-8") == expected


def test_vetting_of_a_folder_is_that_of_one_file(run: RunCommand, ratings_csv: Path, folder: Path) -> None:
    options = ("--question", "Q_overall", "--min-ratings", "5", "--format", "json")
    expected = json.loads(run("vet", ratings_csv, *options).stdout)
    result = json.loads(run("vet", folder, *options).stdout)
    for rater, other in zip(result["raters"], expected["raters"], strict=True):
        numbers = {name: number for name, number in other.items() if isinstance(number, float)}
        assert rater == other | {name: pytest.approx(n, rel=1e-12, abs=1e-12) for name, n in numbers.items()}
    assert result["pool_median_ms"] == expected["pool_median_ms"]


@pytest.mark.parametrize("options", [("--by", "race"), ("--by", "race", "--scores", "guard.csv")])
def test_a_scorecard_of_a_folder_is_that_of_one_file(
    run: RunCommand, ratings_csv: Path, folder: Path, options: tuple[str, ...]
) -> None:
    items = pl.read_csv(ratings_csv, infer_schema=False)["item_id"].unique(maintain_order=True)
    scores = pl.DataFrame({"item_id": items, "guard": [number % 11 / 10 for number in range(len(items))]})
    scores.write_csv(folder.parent / "guard.csv")
    words = (*options, "--question", "Q_overall", "--min-raters", "2", "--format", "json")
    expected = json.loads(run("benchmark", ratings_csv, *words).stdout)
    result = json.loads(run("benchmark", folder, *words).stdout)
    for name in ("rows", "gaps", *(["ceilings", "bins", "thresholds"] if "--scores" in options else [])):
        assert expected[name]
        for row, other in zip(result[name], expected[name], strict=True):
            numbers = {key: number for key, number in other.items() if isinstance(number, float)}
            assert row == other | {key: pytest.approx(n, rel=1e-12, abs=1e-12) for key, n in numbers.items()}


@pytest.mark.slow
def test_a_report_of_a_folder_is_that_of_any_layout(run: RunCommand, folder: Path) -> None:
    whole = pl.concat([pl.read_parquet(path) for path in folder.iterdir()])
    flagged = whole.with_columns(rater_flagged=pl.col("rater_id") == whole["rater_id"][0])
    pages = []
    for name, table in (("one", flagged.sort("item_id")), ("other", flagged.reverse())):
        (folder.parent / name).mkdir()
        table.write_parquet(folder.parent / name / "part.parquet")
        options = ("--by", "race", "--permutations", "9", "--bootstrap", "5", "--exclude-flagged", "-o", "page.html")
        result = run("report", folder.parent / name, *options, "--title", "Folder")
        assert result.returncode == 0
        pages.append((folder.parent / "page.html").read_text("utf-8").replace(f"/{name}", ""))
    assert pages[0] == pages[1]
    assert "1 flagged rater is left out" in pages[0]
    assert "attributes of items are not read from a folder of Parquet files" in pages[0]


def test_a_model_of_a_folder_is_that_of_one_file(run: RunCommand, ratings_csv: Path, folder: Path) -> None:
    ids = pl.read_csv(ratings_csv, infer_schema=False)["item_id"].unique(maintain_order=True)
    pl.DataFrame({"item_id": ids, "length": [str(n % 7) for n in range(len(ids))]}).write_csv("lengths.csv")
    formula = "Q_overall ~ gender + length + (1|rater_id) + (1|item_id)"
    words = ("--items", "lengths.csv", "--formula", formula, "--draws", "26", "--format", "json")
    expected = run("model", ratings_csv, *words)
    assert expected.returncode == 0
    assert run("model", folder, *words).stdout == expected.stdout


@pytest.mark.slow
def test_populations_label_the_items_of_a_folder(run: RunCommand, ratings_csv: Path, folder: Path) -> None:
    Path("women.csv").write_text("rater_gender,count\nMan,1\nWoman,3\n")
    formula = "Q_overall ~ gender + (1|rater_id) + (1|item_id)"
    words = ("--rule", "poststratified", "--model", formula, "--population", "women.csv", "--draws", "26")
    expected = run("aggregate", ratings_csv, *words, "--format", "csv")
    assert expected.returncode == 0
    assert run("aggregate", folder, *words, "--format", "csv").stdout == expected.stdout
    page = ("report", folder, "--model", formula, "--population", "women.csv", "--draws", "26", "-o", "page.html")
    assert run(*page, "--permutations", "0", "--bootstrap", "0").returncode == 0
    assert "Labels of populations" in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("gold", "ratings"),
            "ratings is a folder or a glob, and this command needs all ratings in memory",
        ),
        (
            ("gold", "ratings/*.parquet"),
            "read by dissensus aggregate, analyse, benchmark, model, report, vet",
        ),
        (("model", "ratings", "--items", "a.csv", "--items", "b.csv"), "2 tables of items are given, and those of a"),
        (
            ("model", "ratings", "--formula", "Q_overall ~ topic + (1|rater_id)"),
            "names 'topic', and these ratings have",
        ),
        (("report", "ratings", "--by-item", "topic"), "by attributes of items (--by-item) is not computed from a"),
        (("report", "ratings", "--gold", "safety_gold"), "A comparison with experts (--gold, --unsafe) is not"),
        (("report", "no/*.parquet"), "No file matches no/*.parquet"),
        (("benchmark", "ratings", "--decisions"), "Decisions (--decisions) are not compared on a folder of Parquet"),
        (("benchmark", "ratings", "--chatbot", "item_chatbot"), "(--by-item, --chatbot) is not computed from a folder"),
        (("benchmark", "no/*.parquet"), "No file matches no/*.parquet"),
        (("vet", "ratings", "--audit"), "The audit of a filter is not computed from a folder"),
        (("aggregate", "ratings", "--rule", "mace"), "--rule mace is not computed from a folder of Parquet files"),
        (("aggregate", "ratings", "--rule", "dices"), "soft, plurality, share and poststratified are"),
        (("aggregate", "ratings", "--raters-per-item", "3"), "those of a folder of Parquet files are not in memory"),
        (("aggregate", "ratings", "--format", "table"), "Use --format csv or json"),
        (("aggregate", "ratings", "-o", "labels.txt"), "name a .csv or .json file"),
        (("analyse", "ratings", "ratings"), "one folder or glob is read at a time"),
        (("analyse", "ratings", "--no-raters"), "--no-raters does not apply to ratings"),
        (("analyse", "ratings", "--items", "items.csv"), "--items does not apply to ratings"),
        (("analyse", "ratings", "--normalise"), "--normalise does not apply to ratings"),
        (("analyse", "ratings", "--by-item", "topic"), "by attributes of items (--by-item) is not computed from a"),
        (("analyse", "ratings", "--level", "ordinal"), "at the ordinal level is not computed from a folder"),
        (("analyse", "no/*.parquet"), "No file matches no/*.parquet"),
    ],
)
def test_what_folders_do_not_have_is_refused(
    run: RunCommand, folder: Path, words: tuple[str, ...], message: str
) -> None:
    result = run(*words)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_spark_reads_folders_alone_and_names_what_to_install(
    run: RunCommand, ratings_csv: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = run("analyse", ratings_csv, "--engine", "spark").stderr
    assert "--engine spark reads a folder or a glob of Parquet files" in error
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert "pip install 'dissensus[spark]'" in run("analyse", folder, "--engine", "spark").stderr
