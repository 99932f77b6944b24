"""`dissensus analyse`: formats, files and reading options."""

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame
from tests.support.commands import RunCommand

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.analyse import analyse

METRICS = (
    *("answer_share", "mean_difference", "pairwise_agreement", "group_distance", "between_share"),
    *(
        "irr",
        "xrr",
        "negentropy",
        "cross_negentropy",
        "plurality_size",
        "voting_agreement",
        "gai",
        "corrected_gai",
        "dsi",
    ),
)
OPTIONS = ("--by", "race", "--cross", "race*gender", "--permutations", "50", "--bootstrap", "50", "--seed", "3")


def test_json_is_that_of_the_library(run: RunCommand, ratings_csv: Path) -> None:
    done = run("analyse", ratings_csv, *OPTIONS, "--format", "json")
    assert done.returncode == 0, done.stderr
    expected = analyse(
        read_ratings(ratings_csv), by=["race"], cross=["race*gender"], permutations=50, bootstrap=50, seed=3
    )
    assert done.stdout == expected.to_json() + "\n"
    document = json.loads(done.stdout)
    assert document["schema_version"] == 1
    assert set(document["overall"]) == set(METRICS)


def test_csv_has_one_line_a_row(run: RunCommand, ratings_csv: Path) -> None:
    done = run("analyse", ratings_csv, "--by", "race", "--format", "csv")
    frame = pl.read_csv(io.StringIO(done.stdout))
    assert frame.height == len(METRICS) + 3 * 12 + 2
    assert frame.columns[:5] == ["axis", "group", "against", "metric", "estimate"]
    assert set(frame["metric"]) == set(METRICS)


def test_the_table_is_the_text_of_the_library(run: RunCommand, ratings_csv: Path) -> None:
    expected = str(analyse(read_ratings(ratings_csv), by=["gender"])) + "\n"
    for words in ((), ("--format", "table")):
        assert run("analyse", ratings_csv, "--by", "gender", *words).stdout == expected


@pytest.mark.parametrize(
    ("name", "starts"), [("out.json", "{"), ("out.csv", "axis,"), ("out.txt", "Q_overall: "), ("OUT.JSON", "{")]
)
def test_the_suffix_of_the_file_sets_the_format(
    run: RunCommand, ratings_csv: Path, tmp_path: Path, name: str, starts: str
) -> None:
    done = run("analyse", ratings_csv, "--by", "race", "-o", name)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"Wrote {name}." in done.stderr
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith(starts)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_the_format_option_overrides_the_suffix(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    assert run("analyse", ratings_csv, "--format", "json", "--output", "out.txt").returncode == 0
    json.loads((tmp_path / "out.txt").read_text(encoding="utf-8"))


def test_foreign_columns(run: RunCommand, foreign_csv: Path) -> None:
    done = run(
        *("analyse", foreign_csv, "--item", "post", "--rater", "worker", "--answer", "label"),
        *("--rater-attribute", "country", "--by", "country", "--categories", "fine, rude,hateful"),
        *("--format", "json"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["categories"] == ["fine", "rude", "hateful"]
    assert document["settings"]["question"] == "label"
    native = analyse(read_ratings(simulate_frame(11)), by=["race"])
    assert [row["estimate"] for row in document["rows"]] == [row.estimate for row in native.rows]


def test_where_keeps_raters_or_items(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    items = pl.DataFrame({"item_id": [f"item-{i:03}" for i in range(30)], "phase": ["one", "two"] * 15})
    items.write_csv(tmp_path / "items.csv")
    done = run(
        *("analyse", ratings_csv, "--items", "items.csv", "--where", "phase=one", "--where", "rater_gender=Man"),
        *("--format", "json"),
    )
    document = json.loads(done.stdout)
    assert (document["n_items"], document["n_raters"]) == (15, 12)
    assert document["notes"][-2:] == ["Only ratings whose phase is one.", "Only ratings whose rater_gender is Man."]


def test_exclude_flagged(run: RunCommand, tmp_path: Path) -> None:
    frame = simulate_frame(11)
    frame.with_columns(rater_flagged=frame["rater_id"] < "rater-005").write_csv(tmp_path / "flagged.csv")
    document = json.loads(run("analyse", "flagged.csv", "--exclude-flagged", "--format", "json").stdout)
    assert document["n_raters"] == 19
    assert document["notes"] == ["5 flagged raters are left out."]


def test_one_of_several_questions(run: RunCommand, tmp_path: Path) -> None:
    frame = simulate_frame(11)
    frame.with_columns(Q1_other=pl.lit("No")).write_csv(tmp_path / "two.csv")
    by_default = json.loads(run("analyse", "two.csv", "--format", "json").stdout)
    assert by_default["settings"]["question"] == "Q_overall"
    done = run("analyse", "two.csv", "--question", "Q1_other", "--categories", "No,Yes", "--format", "json")
    other = json.loads(done.stdout)
    assert other["settings"]["question"] == "Q1_other"
    assert other["overall"]["irr"]["estimate"] is None
    assert other["overall"]["irr"]["reason"]


@pytest.mark.parametrize("suffix", ["csv.gz", "jsonl", "json", "parquet"])
def test_every_format_of_ratings_gives_the_same(
    run: RunCommand, ratings_csv: Path, tmp_path: Path, suffix: str
) -> None:
    frame = pl.read_csv(ratings_csv)
    path = tmp_path / f"ratings.{suffix}"
    if suffix == "csv.gz":
        path.write_bytes(gzip.compress(ratings_csv.read_bytes()))
    elif suffix == "parquet":
        frame.write_parquet(path)
    else:
        path.write_text(frame.write_json() if suffix == "json" else frame.write_ndjson(), encoding="utf-8")
    words = ("--by", "race", "--format", "csv")
    assert run("analyse", path, *words).stdout == run("analyse", ratings_csv, *words).stdout


def test_warnings_reach_the_table_and_the_json(run: RunCommand, tmp_path: Path) -> None:
    simulate_frame(11, share_rated=0.4).write_csv(tmp_path / "sparse.csv")
    words = ("analyse", "sparse.csv", "--by", "race", "--permutations", "99")
    assert "--permute-within COLUMN" in run(*words).stdout
    assert json.loads(run(*words, "--format", "json").stdout)["warnings"]
    within = run(*words, "--permute-within", "gender", "--format", "json")
    assert json.loads(within.stdout)["warnings"] == []


def test_the_readme_analysis_of_dices(run: RunCommand, dices_350: Path) -> None:
    done = run("analyse", dices_350, "--exclude-flagged", "--by", "race", "--format", "json")
    document = json.loads(done.stdout)
    assert document["n_ratings"] == 36_400
    assert document["overall"]["irr"]["estimate"] == pytest.approx(0.17274, abs=5e-6)
