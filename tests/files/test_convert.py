"""Conversion between kinds of ratings files: detection, options, atomic writes."""

import gzip
import json
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.files.ratings.conversion import convert_ratings, read_long, write_long
from dissensus.files.ratings.kinds import KINDS, RatingsFileOptions
from dissensus.files.raw.table_reader import read_frame
from dissensus.files.raw.table_writer import write_frame
from dissensus.files.record_kinds import ATTEMPT_KINDS, PAIR_KINDS

LONG = pl.DataFrame(
    {
        "item_id": ["007", "007", "1e5"],
        "rater_id": ["ann", "bob", "ann"],
        "rater_gender": ["Woman", "Man", "Woman"],
        "context": ['a "b", c\nd', 'a "b", c\nd', " é "],
        "Q_overall": ["Yes", "No", "Unsure"],
    }
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ratings.csv", "long"),
        ("ratings.wide.csv", "wide"),
        ("Ratings.WIDE.TSV", "wide"),
        ("ratings.wide.parquet", "wide"),
        ("ratings.wide.jsonl.gz", "wide"),
        ("ratings.lewidi.json", "lewidi"),
        ("ratings.lewidi.json.gz", "lewidi"),
        ("wide.csv", "long"),
        ("ratings.json", "long"),
    ],
)
def test_the_target_kind_follows_from_the_name_and_the_source_kind_from_the_content(
    tmp_path: Path, name: str, kind: str
) -> None:
    table = LONG.vstack(LONG[1:2].with_columns(item_id=pl.lit("1e5"), context=pl.lit(" é "), Q_overall=pl.lit("Yes")))
    write_frame(table, tmp_path / "in.csv")
    options = RatingsFileOptions(question="Q_overall") if kind != "long" else RatingsFileOptions()
    source, target = convert_ratings(tmp_path / "in.csv", tmp_path / name, options=options)
    assert (source.kind, target.kind) == ("long", kind)
    assert read_long(tmp_path / name).kind == kind


@pytest.mark.parametrize("name", ["dices-350", "dices-990"])
def test_official_names_ask_for_official_files(tmp_path: Path, name: str) -> None:
    official = f"diverse_safety_adversarial_dialog_{name[-3:]}.csv"
    for target in (official, f"mine.{name}.csv", f"mine.{name}.csv.gz"):
        with pytest.raises(NotFound, match="The official file has"):
            write_long(LONG, tmp_path / target)


@pytest.mark.parametrize(
    ("target", "kind", "message"),
    [
        ("out.xlsx", None, "name a file that ends in one of .csv, .csv.gz, "),
        ("out", None, "name a file that ends in one of"),
        ("out.csv", "lewidi", r"ends in one of \.json, \.json\.gz"),
        ("out.parquet", "dices-350", r"ends in one of \.csv, \.csv\.gz"),
        ("out.csv", "wid", "There is no kind 'wid'; .* Did you mean 'wide'"),
    ],
)
def test_invalid_targets_are_refused(tmp_path: Path, target: str, kind: str | None, message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        write_long(LONG, tmp_path / target, kind)
    assert not list(tmp_path.iterdir())


def test_ids_and_answers_under_other_names(tmp_path: Path) -> None:
    names = {"item_id": "post", "rater_id": "worker", "Q_overall": "label"}
    write_frame(LONG.rename(names), tmp_path / "in.csv")
    table = read_long(tmp_path / "in.csv", item="post", rater="worker", answer="label").table
    assert table.columns == ["item_id", "rater_id", "rater_gender", "context", "Q_label"]
    table = read_long(tmp_path / "in.csv", item="post", rater="worker", answer="label", question="Q_overall").table
    assert table.equals(LONG)
    with pytest.raises(NotFound, match=r"There is no column 'wrker'. Did you mean 'worker'"):
        read_long(tmp_path / "in.csv", "long", rater="wrker")
    write_frame(LONG.with_columns(post=pl.lit("1")), tmp_path / "twice.csv")
    with pytest.raises(InvalidInput, match="'item_id', 'post' would all be called 'item_id'"):
        read_long(tmp_path / "twice.csv", item="post")


@pytest.mark.parametrize(
    ("target", "options", "option"),
    [
        ("out.csv", {"rater_columns": "{rater_id}"}, "--rater-columns"),
        ("out.csv", {"item_columns": "{item_id}"}, "--item-columns"),
        ("out.csv", {"annotators": Path("meta.json")}, "--annotators"),
        ("out.csv", {"question": "Q_overall"}, "--question"),
        ("out.wide.csv", {"annotators": Path("meta.json")}, "--annotators"),
        ("out.lewidi.json", {"rater_columns": "{rater_id}"}, "--rater-columns"),
    ],
)
def test_options_without_effect_are_refused(tmp_path: Path, target: str, options: dict[str, str], option: str) -> None:
    write_frame(LONG, tmp_path / "in.csv")
    with pytest.raises(
        InvalidInput, match=rf"{option} has no effect here: .*in\.csv is long and .*{re.escape(target)} "
    ):
        convert_ratings(tmp_path / "in.csv", tmp_path / target, options=RatingsFileOptions(**options))  # type: ignore[arg-type]
    assert not (tmp_path / target).exists()


def test_counts_without_raters_are_long_too(tmp_path: Path) -> None:
    write_frame(LONG.drop("rater_id", "rater_gender"), tmp_path / "counts.csv")
    assert read_long(tmp_path / "counts.csv").kind == "long"
    write_frame(LONG.drop("rater_id", "rater_gender")[1:], tmp_path / "unclear.csv")
    with pytest.raises(InvalidInput, match=r"No columns share .*--from long"):
        read_long(tmp_path / "unclear.csv")
    assert read_long(tmp_path / "unclear.csv", "long").table.height == 2


def test_an_existing_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("mine")
    for write in (lambda: write_frame(LONG, path), lambda: write_long(LONG, path), lambda: convert_ratings(path, path)):
        with pytest.raises(Conflict, match=r"is there already. .*--force \(in Python: overwrite=True\)"):
            write()
    assert path.read_text() == "mine"
    write_frame(LONG, path, overwrite=True)
    assert read_frame(path).equals(LONG)


def test_a_file_may_be_converted_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "ratings.json"
    write_frame(LONG, path)
    convert_ratings(path, path, target_kind="lewidi", options=RatingsFileOptions(question="Q_overall"), overwrite=True)
    assert read_long(path).kind == "lewidi"


def test_a_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "no" / "such" / "folder.csv", tmp_path / "folder.csv", tmp_path / f"{'x' * 250}.csv"):
        with pytest.raises(Unavailable, match="cannot be written: "):
            write_frame(LONG, path, overwrite=True)
    with pytest.raises(Unavailable, match="cannot be written: "):
        write_frame(LONG, tmp_path / "nul\0.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_frame(LONG, tmp_path / "link.csv", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert read_frame(tmp_path / "real.csv").equals(LONG)


@pytest.mark.parametrize("extension", [".csv", ".csv.gz", ".jsonl.gz", ".parquet"])
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, extension: str) -> None:
    for name in ("one", "two"):
        write_frame(LONG, tmp_path / f"{name}{extension}")
    first, second = ((tmp_path / f"{name}{extension}").read_bytes() for name in ("one", "two"))
    assert first == second
    if extension.endswith(".gz"):
        assert first[3] == 0  # no name in the header
        assert first[4:8] == bytes(4)  # no time either
        assert gzip.decompress(first)


def test_quotes_are_minimal_and_line_ends_uniform(tmp_path: Path) -> None:
    write_frame(LONG, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == (
        b"item_id,rater_id,rater_gender,context,Q_overall\n"
        b'007,ann,Woman,"a ""b"", c\nd",Yes\n007,bob,Man,"a ""b"", c\nd",No\n1e5,ann,Woman, \xc3\xa9 ,Unsure\n'
    )
    write_frame(LONG.head(1), tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8")) == LONG.row(0, named=True)


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_empty_text_and_null_are_equal(tmp_path: Path, extension: str) -> None:
    table = pl.DataFrame({"item_id": ["1", "2"], "rater_id": ["a", "b"], "context": ["", None], "Q_x": [None, " "]})
    write_frame(table, tmp_path / f"a{extension}")
    result = read_long(tmp_path / f"a{extension}").table
    assert result.rows() == [("1", "a", None, None), ("2", "b", None, " ")]


def test_empty_rows_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"item_id": "1", "rater_id": "a"}\n{"item_id": null, "rater_id": ""}\n')
    assert read_long(tmp_path / "a.jsonl").table.rows() == [("1", "a")]
    (tmp_path / "a.jsonl").write_text('{"item_id": "", "Q_x": null}\n')
    with pytest.raises(InvalidInput, match=r"a\.jsonl has no row with a value"):
        read_long(tmp_path / "a.jsonl")


def test_tables_of_any_library_are_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"item_id": [1, 2], "rater_id": ["a", "b"], "Q_x": [0.0, None], "when": [True, False]})
    write_long(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "item_id,rater_id,Q_x,when\n1,a,0,true\n2,b,,false\n"
    write_long(frame, tmp_path / "a.parquet")
    assert read_frame(tmp_path / "a.parquet").schema["item_id"] == pl.String


def test_declared_scales_stay_in_parquet(tmp_path: Path) -> None:
    table = LONG.with_columns(pl.Series("Q_tone", ["rude", "fine", "rude"], dtype=pl.Enum(["rude", "so-so", "fine"])))
    write_long(table, tmp_path / "a.parquet")
    convert_ratings(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert read_long(tmp_path / "b.parquet").table.schema["Q_tone"] == pl.Enum(["rude", "so-so", "fine"])


def test_values_that_text_cannot_hold_are_refused(tmp_path: Path) -> None:
    nested = pl.DataFrame({"item_id": ["1"], "tags": [["a", "b"]], "Q_x": ["0"]})
    for extension in (".csv", ".jsonl"):
        with pytest.raises(InvalidInput, match="Column tags holds List"):
            write_long(nested, tmp_path / f"a{extension}")
    with pytest.raises(InvalidInput, match=r"rater_id holds decimal numbers .*rounded"):
        write_long(LONG.with_columns(rater_id=pl.lit(296708581782793.0)), tmp_path / "a.csv")
    with pytest.raises(InvalidInput, match=r"'context', row 2, has a NUL.*\.jsonl or \.parquet"):
        write_long(LONG.with_columns(context=pl.Series([None, "a\0b", None])), tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.lewidi.json"])
def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path, name: str) -> None:
    rows = '{"item_id": "1", "rater_id": "\\ud800", "Q_x": "0"}\n'
    (tmp_path / name).write_text('{"1": {"annotations": {"\\ud800": "0"}}}' if "lewidi" in name else rows)
    with pytest.raises(InvalidInput, match="surrogate"):
        read_long(tmp_path / name)


def test_the_kinds_are_those_of_the_command() -> None:
    from typing import get_args

    from dissensus.cli.convert import Kind

    assert set(get_args(Kind)) == {*KINDS, *PAIR_KINDS, *ATTEMPT_KINDS}


def test_no_ratings_are_told_from_ratings_by_models(tmp_path: Path) -> None:
    empty = pl.DataFrame(schema={"item_id": pl.String, "rater_id": pl.String, "Q_overall": pl.String})
    for name in ("out.csv", "out.wide.csv"):
        with pytest.raises(InvalidInput, match="There are no ratings to write"):
            write_long(empty, tmp_path / name)
    table = pl.DataFrame(
        {
            "item_id": ["1", "1"],
            "rater_id": ["ann", "gpt"],
            "rater_kind": ["person", "model"],
            "Q_overall": ["Yes", "No"],
        }
    )
    notes = write_long(table, tmp_path / "out.wide.csv").notes
    assert "1 rating by a rater of kind model is left out, which wide files cannot tell." in notes
