"""`dissensus convert`: conversion between formats, with notes on omissions."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand
from tests.support.rating_tables import official

POSTS = (
    "id,text,label_1_M,label_2_F\n"
    "7,good morning to all of you,fine,fine\n"
    "8,go away right now please,rude,fine\n"
    "9,what is it again then,,rude\n"
)


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    path = tmp_path / "posts.csv"
    path.write_text(POSTS, encoding="utf-8")
    return path


def test_the_example_of_the_help(run: RunCommand, posts: Path, tmp_path: Path) -> None:
    done = run("convert", posts, "ratings.parquet", "--rater-columns", "label_{rater_id}_{rater_gender}")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"Wrote ratings.parquet (long) from the 5 ratings of {posts} (wide).\n"
    table = pl.read_parquet(tmp_path / "ratings.parquet")
    assert table.columns == ["item_id", "item_text", "rater_id", "rater_gender", "Q_label"]
    analysed = run(*("analyse", "ratings.parquet", "--by", "gender", "--categories", "fine,rude", "--format", "csv"))
    assert analysed.returncode == 0, analysed.stderr


def test_notes_list_guesses_and_omissions(run: RunCommand, posts: Path) -> None:
    done = run("convert", posts, "ratings.csv")
    assert (
        "Note: 2 columns are read as raters: 'label_1_M', 'label_2_F'. Use --rater-columns to override that."
        in done.stderr
    )
    done = run(
        "convert",
        posts,
        "out.lewidi.json",
        "--rater-columns",
        "label_{rater_id}_{rater_gender}",
        "--question",
        "Q_tone",
    )
    assert "Note: Left out, because LeWiDi does not hold them: 'rater_gender'." in done.stderr
    assert "read it again with --question Q_tone." in done.stderr


def test_round_trip(run: RunCommand, posts: Path, tmp_path: Path) -> None:
    words = ("--rater-columns", "label_{rater_id}_{rater_gender}")
    assert run("convert", posts, "ratings.jsonl.gz", *words).returncode == 0
    assert run("convert", "ratings.jsonl.gz", "again.wide.csv", *words).returncode == 0
    again = (tmp_path / "again.wide.csv").read_text(encoding="utf-8")
    assert again == POSTS.replace("id,text", "item_id,item_text", 1)


@pytest.mark.slow
def test_official_files_round_trip(script: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "diverse_safety_adversarial_dialog_350.csv"
    official("dices-350", 60, 6).write_csv(path)
    assert "(dices-350)" in script("convert", path, "ours.csv").stderr
    done = script("convert", "ours.csv", "mine.csv", "--to", "dices-350")
    assert "Note: Left out, because dices-350 does not have them: 'rater_flagged'." in done.stderr
    assert (tmp_path / "mine.csv").read_bytes() == path.read_bytes()


def test_the_real_ratings_round_trip(run: RunCommand, real_data: Callable[[str], Path], tmp_path: Path) -> None:
    path = real_data("dices-350/ratings.csv")
    assert run("convert", path, "ours.parquet").returncode == 0
    assert run("convert", "ours.parquet", "again.csv").returncode == 0
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


def test_lewidi_with_the_attributes_of_its_raters(run: RunCommand, tmp_path: Path) -> None:
    entries = {"1": {"text": "a", "annotators": "Ann1,Ann2", "annotations": "0,1"}}
    (tmp_path / "in.json").write_text(json.dumps(entries), encoding="utf-8")
    (tmp_path / "meta.json").write_text(json.dumps({"Ann1": {"Gender": "x"}}), encoding="utf-8")
    done = run("convert", "in.json", "out.csv", "--annotators", "meta.json", "--question", "Q_irony")
    assert "Note: meta.json does not describe 1 of the 2 raters: 'Ann2'." in done.stderr
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines() == [
        "item_id,item_text,rater_id,rater_gender,Q_irony",
        "1,a,Ann1,x,0",
        "1,a,Ann2,,1",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("posts.csv", "posts.csv"), "posts.csv is there already. Name another file, or replace it with --force"),
        (("posts.csv", "out.xlsx"), "name a file that ends in one of .csv"),
        (("nowhere.csv", "out.csv"), "There is no file nowhere.csv"),
        (("posts.csv", "out.csv", "--from", "long", "--rater", "who"), "There is no column 'who'"),
        (
            ("posts.csv", "out.csv", "--item-columns", "label_{item_id}", "--rater-columns", "label_{rater_id}"),
            "not both",
        ),
        (("posts.csv", "out.csv", "--annotators", "meta.json"), "--annotators has no effect here"),
        (("posts.csv", "out.dices-350.csv"), "The official file has 41 columns"),
        (("posts.csv", "no/such/out.csv"), "cannot be written: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors(run: RunCommand, posts: Path, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = run("convert", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["posts.csv"]


def test_force(run: RunCommand, posts: Path) -> None:
    assert run("convert", posts, posts, "--force").returncode == 0
    assert posts.read_text(encoding="utf-8").startswith("item_id,item_text,rater_id,Q_label\n")


def test_unknown_kinds_are_bad_use(run: RunCommand, posts: Path) -> None:
    assert run("convert", posts, "out.csv", "--to", "croissant").returncode == 2
    assert run("convert", posts).returncode == 2
