"""Commands on files as people have them, through pipes, into spreadsheets, interrupted."""

import csv
import io
import json
import signal
import subprocess
import sys
import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import polars as pl
import pytest
from tests.files.conftest import write
from tests.pipeline.tables import simulate_frame
from tests.support.commands import SCRIPT, CompletedCommand, RunCommand
from tests.support.foreign_files import lewidi_entries
from tests.support.spreadsheets import write_spreadsheet

from dissensus.cli import standard_input


@pytest.fixture
def piped(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    """Run `dissensus` with these bytes as its standard input, which a process reads once."""

    def dissensus(*words: str, data: bytes) -> CompletedCommand:
        standard_input._spool.cache_clear()
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
        return run(*words)

    return dissensus


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json", "parquet", "xlsx"])
def test_a_dash_reads_standard_input(piped: RunCommand, tmp_path: Path, form: str) -> None:
    frame = simulate_frame(3).cast(pl.String)
    path = tmp_path / f"x.{form}"
    if form == "xlsx":
        write_spreadsheet(path, {"one": [frame.columns, *frame.rows()]})
    else:
        write(frame, path)
    done = piped("analyse", "-", "--by", "race", "--format", "json", data=path.read_bytes())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_ratings"] == frame.height


def test_a_process_reads_its_standard_input(tmp_path: Path) -> None:
    data = simulate_frame(3).write_csv().encode()
    done = subprocess.run([SCRIPT, "validate", "-"], input=data, capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_standard_input_is_named_in_errors(piped: RunCommand) -> None:
    done = piped("analyse", "-", data=b"item_id,rater_id,Q_overall\n1,,Yes\n")
    assert done.returncode == 1
    assert "standard-input.csv: Row 1: rater_id is empty" in done.stderr
    assert piped("validate", "-", data=b"").returncode == 1


def test_a_spreadsheet_and_semicolons_are_read(run: RunCommand, tmp_path: Path) -> None:
    frame = simulate_frame(3).cast(pl.String)
    write_spreadsheet(tmp_path / "x.xlsx", {"one": [frame.columns, *frame.rows()]})
    frame.write_csv(tmp_path / "x.csv", separator=";")
    first, second = (run("analyse", name, "--by", "race") for name in ("x.xlsx", "x.csv"))
    assert (first.returncode, first.stdout) == (0, second.stdout)


def test_categories_may_hold_line_breaks(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('item_id,rater_id,Q_x\n1,a,"b,c"\n1,b,"a\nb"\n')
    for categories in ('a\nb,"b,c"', '"a\nb","b,c"'):
        done = run("analyse", "x.csv", "--categories", categories, "--format", "json")
        assert json.loads(done.stdout)["categories"] == ["a\nb", "b,c"]


@pytest.mark.slow
def test_wide_and_lewidi_files_need_no_detour(run: RunCommand, tmp_path: Path) -> None:
    entries = lewidi_entries(12)
    (tmp_path / "train.json").write_text(json.dumps(entries))
    people = '{"Ann0": {"Gender": "F",}, "Ann1": {"Gender": "M"}, "Ann2": {"Gender": "M", "Age": NaN}}'
    (tmp_path / "people.json").write_text(people)
    done = run("analyse", "train.json", "--annotators", "people.json", "--by", "gender", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["n_raters"]) == (0, 3)
    words = ("report", "train.json", "--annotators", "people.json", "--permutations", "0", "--bootstrap", "0")
    assert run(*words, "-o", "x.html").returncode == 0
    page = (tmp_path / "x.html").read_text()
    assert "post number 1" in page
    assert run("convert", "train.json", "x.wide.csv").returncode == 0
    wide = run("analyse", "x.wide.csv", "--format", "json", "--rater-columns", "rater_{rater_id}")
    assert (
        json.loads(wide.stdout)["overall"]
        == json.loads(run("analyse", "train.json", "--format", "json").stdout)["overall"]
    )
    entries["2"].pop("annotations")
    entries["5"].pop("annotations")
    (tmp_path / "train.json").write_text(json.dumps(entries))
    listed = run("validate", "train.json", "--annotators", "people.json")
    assert (listed.returncode, listed.stdout.count("it has no annotations")) == (1, 2)


@pytest.mark.slow
def test_the_text_of_items_is_shown(run: RunCommand, tmp_path: Path) -> None:
    frame = simulate_frame(3, n_items=6)
    frame.with_columns(comment="said in " + pl.col("item_id").cast(pl.String)).write_csv(tmp_path / "x.csv")
    words = ("report", "x.csv", "--by", "race", "--permutations", "0", "--bootstrap", "0", "-o", "x.html")
    assert run(*words).returncode == 0
    assert "--text-column COLUMN names theirs" in (tmp_path / "x.html").read_text()
    assert run(*words, "--text-column", "comment").returncode == 0
    assert "said in " in (tmp_path / "x.html").read_text()


def test_ages_are_grouped(run: RunCommand, tmp_path: Path) -> None:
    raters = pl.DataFrame({"rater_id": [f"r{n}" for n in range(40)], "rater_age": range(18, 58)})
    items = pl.DataFrame({"item_id": ["1", "2", "3"]})
    answers = pl.Series(["No", "Yes", "Unsure"] * 40)
    raters.join(items, how="cross").with_columns(Q_overall=answers).write_csv(tmp_path / "x.csv")
    note = run("analyse", "x.csv", "--by", "age").stdout
    assert "For intervals: --bins age=" in note
    done = run("analyse", "x.csv", "--by", "age", "--bins", "age=30,45", "--format", "json")
    groups = dict.fromkeys(row["group"] for row in json.loads(done.stdout)["rows"] if row["group"])
    assert list(groups) == ["under 30", "30–44", "45+"]
    assert "is not like age=18,30,45" in run("analyse", "x.csv", "--bins", "age=young").stderr


def test_pairs_are_not_ratings(run: RunCommand, tmp_path: Path) -> None:
    pair = {"chosen": "\n\nHuman: a\n\nAssistant: b", "rejected": "\n\nHuman: a\n\nAssistant: c"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    done = run("analyse", "pairs.jsonl")
    assert done.returncode == 1
    assert "holds preference pairs, and ratings are read here. For pairs: dissensus preference" in done.stderr


def test_conversion_keeps_attributes_of_raters(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("post,who,label,age,sex\n1,a,Yes,30,f\n1,b,No,40,m\n")
    words = ("--item", "post", "--rater", "who", "--answer", "label", "--rater-attribute", "age")
    assert run("convert", "x.csv", "y.csv", *words, "--rater-attribute", "sex").returncode == 0
    assert (tmp_path / "y.csv").read_text().startswith("item_id,rater_id,Q_label,rater_age,rater_sex\n")
    assert "There is no column 'race' to write" in run("convert", "x.csv", "z.csv", *words[:7], "race").stderr


FORMULA = "=cmd|' /C calc'!A0"


def test_no_formula_reaches_a_spreadsheet(run: RunCommand, tmp_path: Path) -> None:
    frame = simulate_frame(3).with_columns(
        rater_gender=pl.col("rater_gender").replace("Man", FORMULA),
        Q_overall=pl.col("Q_overall").replace({"Yes": "@SUM(1)", "Unsure": "-2", "No": "+x"}),
        rater_id="=" + pl.col("rater_id").cast(pl.String),
    )
    frame.rename({"Q_overall": "label"}).write_csv(tmp_path / "x.csv")
    reading = ("x.csv", "--answer", "label", "--categories", "-2,+x,@SUM(1)")
    commands = [
        ("analyse", *reading, "--by", "gender", "--format", "csv"),
        ("aggregate", *reading, "--by", "gender", "--format", "csv"),
        ("aggregate", *reading, "--rule", "plurality", "--format", "csv"),
        ("vet", *reading, "--format", "csv"),
        ("validate", "x.csv", "--answer", "label", "--categories", "nothing", "--format", "csv"),
    ]
    for words in commands:
        done = run(*words)
        cells = [cell for row in csv.reader(io.StringIO(done.stdout)) for cell in row]
        assert cells, done.stderr
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))], words
        assert [cell for cell in cells if cell.startswith(("'=", "'@", "'+"))], words


@pytest.mark.slow
def test_a_full_disk_is_named(script: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SCRIPT, "analyse", ratings_csv], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device: the output\n")


INTERRUPTED_EARLY = """
import builtins, sys
original = builtins.__import__
def interrupt(name, *rest):
    if name == "dissensus.cli.app":
        raise KeyboardInterrupt
    return original(name, *rest)
from dissensus.cli import main
builtins.__import__ = interrupt
sys.argv = ["dissensus", "--version"]
main()
"""


def test_an_interruption_while_the_program_loads_is_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


@pytest.mark.slow
def test_an_interrupted_report_leaves_no_folder(ratings_csv: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [
        SCRIPT,
        "report",
        ratings_csv,
        "--figures",
        "a/figures",
        "--permutations",
        "200000",
        "-o",
        "x.html",
    ]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(4)  # whether it still loads or computes, nothing may be left
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == [ratings_csv.name]


def test_validate_takes_the_options_of_analyse(run: RunCommand, tmp_path: Path) -> None:
    frame = simulate_frame(3)
    frame.with_columns(rater_age=pl.col("rater_id").rank("dense") + 17).write_csv(tmp_path / "x.csv")
    pl.DataFrame({"item_id": frame["item_id"].unique().sort(), "phase": "one"}).write_csv(tmp_path / "items.csv")
    assert run("validate", "x.csv", "--items", "items.csv", "--bins", "age=18,30").returncode == 0
    for words, message in (
        (("--bins", "height=18"), "There is no axis 'height'"),
        (("--items", "x.csv"), "is twice in the table of items"),
        (("--raters", "items.csv"), "There is no column 'rater_id'"),
    ):
        done = run("validate", "x.csv", *words)
        assert (done.returncode, message in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize(
    ("bins", "says"),
    [(("=18,30",), "'=18,30' is not like age=18,30,45"), (("age=18", "age=30"), "--bins names 'age' twice")],
)
def test_bins_name_each_axis_once(run: RunCommand, ratings_csv: Path, bins: tuple[str, ...], says: str) -> None:
    done = run("analyse", ratings_csv, *(word for one in bins for word in ("--bins", one)))
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
