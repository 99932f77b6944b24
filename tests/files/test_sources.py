"""Ratings from files of every kind: spreadsheets, wide tables, LeWiDi, rows in memory."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest
from tests.support.foreign_files import lewidi_entries
from tests.support.spreadsheets import Cell, write_spreadsheet

import dissensus as ds
from dissensus.errors import InvalidInput
from dissensus.files.raw.table_reader import read_frame

ROWS: list[list[Cell]] = [
    ["item_id", "rater_id", "label", "age"],
    ["1", "a", 3, 41],
    ["1", "b", 4.0, 29],
    ["2", "a", None, 41],
    ["2", "b", "NA", 29],
    ["3", "a", 1, 41],
]
WIDE = pl.DataFrame(
    {
        "post_id": ["7", "8", "9"],
        "text": ["it is a good morning", "go away from here", "who would say this"],
        "annotator_1": ["fine", "rude", "fine"],
        "annotator_2": ["fine", "rude", None],
    }
)


def test_a_spreadsheet_is_read_as_text(tmp_path: Path) -> None:
    path = write_spreadsheet(tmp_path / "ratings.xlsx", {"Tabelle1": ROWS, "Tabelle2": []})
    ratings = ds.read_ratings(path, answer="label", rater_attributes=["age"])
    assert ratings.scale("label") == ("1", "3", "4")
    assert ratings.n_ratings == 3
    assert ratings.group_codes("age")[1] == ("29", "41")


def test_two_filled_sheets_are_refused(tmp_path: Path) -> None:
    path = write_spreadsheet(tmp_path / "ratings.xlsx", {"one": ROWS, "two": ROWS})
    with pytest.raises(InvalidInput, match=r"rows in the sheets 'one', 'two', and one sheet is read\. Save"):
        ds.read_ratings(path)


def test_headers_of_a_spreadsheet_are_those_of_its_first_filled_row(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [
        [None],
        ["item_id", "rater_id", None, "Q_overall"],
        ["1", "a", 2, "Yes"],
        ["1", "b", 3, "No"],
    ]
    path = write_spreadsheet(tmp_path / "ratings.xlsx", {"one": rows})
    assert read_frame(path).rows(named=True)[0] == {"item_id": "1", "rater_id": "a", "": "2", "Q_overall": "Yes"}
    for name in ("Q_overall", None):
        twice = [*rows[:1], [*rows[1], name], *([*row, "No"] for row in rows[2:])]
        path = write_spreadsheet(tmp_path / "ratings.xlsx", {"one": twice})
        with pytest.raises(InvalidInput, match=f"two columns are named '{name or ''}'. Rename or drop one"):
            ds.read_ratings(path)


def test_damaged_and_oversized_spreadsheets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_spreadsheet(tmp_path / "ratings.xlsx", {"one": ROWS})
    whole = path.read_bytes()
    newer = whole.replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xf4")
    for data in (b"PK\x03\x04", whole[: len(whole) // 2], newer, b"item_id,rater_id\n1,2\n"):
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match="is not a spreadsheet"):
            ds.read_ratings(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * (3 << 20))
    monkeypatch.setenv("DISSENSUS_MAX_GIB", "0.001")
    with pytest.raises(InvalidInput, match="unpacks to something larger than"):
        ds.read_ratings(path)


def test_a_spreadsheet_with_a_damaged_name_inside_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ratings.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/é.xml", "")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(InvalidInput, match="is not a spreadsheet"):
        ds.read_ratings(path)


WITHOUT_FASTEXCEL = """
import sys
sys.modules["fastexcel"] = None
import dissensus as ds
try:
    ds.read_ratings(sys.argv[1])
except ds.Unavailable as error:
    print(error)
"""


def test_without_its_reader_a_spreadsheet_says_what_to_do(tmp_path: Path) -> None:
    path = write_spreadsheet(tmp_path / "ratings.xlsx", {"one": ROWS})
    done = subprocess.run([sys.executable, "-c", WITHOUT_FASTEXCEL, path], capture_output=True, text=True, check=True)
    assert "pip install 'dissensus[excel]'; or save the sheet as CSV" in done.stdout


def test_semicolons_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text('\ufeffitem_id;rater_id;Q_overall\r\n"1;x";a;Yes\r\n"1;x";b;No\r\n')
    assert ds.read_ratings(path).items["item_id"].to_list() == ["1;x"]


def test_rows_as_dicts_are_a_table() -> None:
    rows = [{"item_id": "1", "rater_id": rater, "Q_overall": answer} for rater, answer in (("a", "Yes"), ("b", "No"))]
    assert ds.read_ratings(rows).n_ratings == 2
    with pytest.raises(InvalidInput, match="or a list of dicts, not list"):
        ds.read_ratings([["1", "a", "Yes"]])


def test_a_wide_table_is_read_without_a_detour(tmp_path: Path) -> None:
    WIDE.write_csv(tmp_path / "posts.csv")
    for source in (WIDE, tmp_path / "posts.csv"):
        ratings = ds.read_ratings(source, categories=["fine", "rude"])
        assert (ratings.n_ratings, ratings.n_items, ratings.n_raters) == (5, 3, 2)
        assert ratings.items["item_text"][0] == "it is a good morning"
        assert any("2 columns are read as raters" in note for note in ratings.notes)
        assert ds.validate(source, categories=["fine", "rude"]).ok


def test_a_wide_table_with_raters_in_rows_needs_a_template() -> None:
    frame = pl.DataFrame({"annotator": ["1", "2"], "item_5": ["a", "b"], "item_6": ["b", "b"]})
    ratings = ds.read_ratings(frame, item_columns="item_{item_id}", rater="annotator", categories=["a", "b"])
    assert (ratings.n_items, ratings.n_raters) == (2, 2)


def test_a_lewidi_file_is_read_with_its_annotators(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text(json.dumps(lewidi_entries()))
    (tmp_path / "people.json").write_text(
        '{"Ann0": {"Gender": "F", "Age": 30.0,}, "Ann1": {"Gender": NaN, "Age": 41.0},\n'
        ' "2": {"Gender": "say \\"NaN,}\\"", "Age": NaN},}'
    )
    ratings = ds.read_ratings(tmp_path / "train.json", annotators=tmp_path / "people.json")
    assert (ratings.n_items, ratings.n_raters, ratings.axes) == (4, 3, ("rater_gender", "rater_age"))
    assert ratings.raters["rater_gender"].to_list() == ["F", None, 'say "NaN,}"']
    assert ratings.raters["rater_age"].to_list() == ["30", "41", None]
    assert any("has NaN, which is read as missing, or commas" in note for note in ratings.notes)


def test_all_faulty_entries_of_a_lewidi_file_are_listed(tmp_path: Path) -> None:
    entries = lewidi_entries(6)
    entries["1"]["soft_label"] = {"0": 0.9, "1": 0.1}
    entries["3"]["annotators"] = "Ann0,Ann1"
    entries["4"].pop("annotations")
    (tmp_path / "train.json").write_text(json.dumps(entries))
    result = ds.validate(tmp_path / "train.json")
    assert not result.ok
    assert [problem.message.split(":")[0] for problem in result.problems()] == ["Entry '1'", "Entry '3'", "Entry '4'"]
    assert (result.kind, result.n_items) == ("lewidi file", 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"annotators": "people.json"}, "--annotators is an option of LeWiDi files"),
        ({"kind": "lewidi"}, "is not a LeWiDi file"),
        ({"kind": "narrow"}, "There is no kind 'narrow'"),
        ({"rater_columns": "label_{rater_id}"}, "No column is named like"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item_id,rater_id,Q_overall\n1,a,Yes\n")
    with pytest.raises(ds.DissensusError, match=message):
        ds.read_ratings(path, **options)  # type: ignore[arg-type]


def test_a_table_in_memory_becomes_a_long_one() -> None:
    table, kind, _ = ds.read_long(WIDE.to_pandas())
    assert (kind, table.height) == ("wide", 5)
