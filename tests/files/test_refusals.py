"""What a file is refused for, and what the message says."""

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from tests.files.conftest import write

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.files.tables import read_frame, read_ratings


def assert_refused(path: Path, data: bytes | str, message: str) -> None:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InvalidInput, match=message) as error:
        read_frame(path)
    assert str(path) in str(error.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*ratings\.csv"):
        read_frame(tmp_path / "ratings.csv")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is a folder\. Name a file in it"):
        read_frame(tmp_path)


def test_an_unknown_extension(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.xlsx", "x", r"\.csv, \.csv\.gz, .*\.jsonl, .*\.parquet")


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "nul\0.csv"])
def test_no_possible_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="is no path of a file"):
        read_frame(tmp_path / name)


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_what_may_not_be_read(closed: str) -> None:
    with somebody_else(), tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "folder"
        folder.mkdir()
        path = folder / "ratings.csv"
        path.write_text("x")
        (path if closed == "file" else folder).chmod(0)
        with pytest.raises(NotAllowed, match="may not be"):
            read_frame(path)
        folder.chmod(0o700)


@contextmanager
def somebody_else() -> Iterator[None]:
    """Root may read everything, so be nobody meanwhile."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".json", ".parquet"])
def test_an_empty_file(tmp_path: Path, extension: str) -> None:
    assert_refused(tmp_path / f"ratings{extension}", "", "is empty")


def test_only_a_byte_order_mark(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", b"\xef\xbb\xbf\n\n", "is empty")


def test_only_white_space(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", "\n \r\n", "is empty")
    assert_refused(tmp_path / "ratings.csv.gz", gzip.compress(b"\n"), "is empty")


@pytest.mark.parametrize("text", ["item_id,rater_id,Q_overall\n", "item_id,rater_id,Q_overall", "a,b\n\n\n"])
def test_a_header_alone(tmp_path: Path, text: str) -> None:
    assert_refused(tmp_path / "ratings.csv", text, "no rows")


def test_no_objects(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.json", "[]", "no rows")


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    text = "item_id,rater_id,context\n1,2,caf\xe9\n".encode("latin-1")
    assert_refused(tmp_path / "ratings.csv", text, "byte 32, counted from 0, is 0xe9. Save it as UTF-8")
    assert_refused(tmp_path / "ratings.csv", b"\xef\xbb\xbf" + text, "byte 35, ")
    assert_refused(tmp_path / "ratings.jsonl", b'{"a": "\xe9"}', "byte 7, ")


def test_utf_16(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16 text. Save it as UTF-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3: 2 fields, but the header has 3"),
        ("a,b,c\n1,2,3\n4,5,6,7\n", "line 3: 4 fields, but the header has 3"),
        ('a,b\n1,"x\ny"\n2\n', "line 4: 1 fields, but the header has 2"),
    ],
)
def test_a_row_of_another_length(tmp_path: Path, text: str, message: str) -> None:
    assert_refused(tmp_path / "ratings.csv", text, message)


@pytest.mark.parametrize("text", ['a,b\n1,"x\n2,y\n', 'a,b\n1,2\n3,"x"y\n'])
def test_quotes_that_do_not_match(tmp_path: Path, text: str) -> None:
    assert_refused(tmp_path / "ratings.csv", text, "line 3: the quotes do not match")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", "a,b,a\n1,2,3\n", "two columns are named 'a'")
    assert_refused(tmp_path / "ratings.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n', "line 2 .*names 'a' twice")


@pytest.mark.parametrize("name", ["ratings.csv", "ratings.tsv"])
def test_another_separator(tmp_path: Path, name: str) -> None:
    assert_refused(tmp_path / name, "a;b\n1;2\n", "single column 'a;b': .*Save it with commas as .csv, or with tabs")


def test_gzip_cut_short(tmp_path: Path) -> None:
    data = gzip.compress(b"item_id,rater_id,Q_overall\n" + os.urandom(1000))
    assert_refused(tmp_path / "ratings.csv.gz", data[:500], "cut short")


def test_damaged_gzip(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv.gz", gzip.compress(b"a,b")[:-8] + bytes(8), "damaged gzip data")


def test_not_a_parquet_file(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.parquet", "a,b\n1,2\n", "not a Parquet file: it does not begin with PAR1")


def test_a_damaged_parquet_file(table: pl.DataFrame, tmp_path: Path) -> None:
    path = write(table, tmp_path / "ratings.parquet")
    assert_refused(path, path.read_bytes()[:-10], "damaged Parquet file")


def test_a_parquet_file_under_another_name(table: pl.DataFrame, tmp_path: Path) -> None:
    path = write(table, tmp_path / "ratings.parquet").rename(tmp_path / "ratings.csv")
    assert_refused(path, path.read_bytes(), r"holds a Parquet file. Rename it so that it ends in \.parquet")


def test_a_spreadsheet(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", b"PK\x03\x04rest", "spreadsheet or a ZIP archive")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2, column .*not JSON"),
        ('\n[{"a": 1},\n{"a" 1}]', "line 3, column .*not JSON"),
        ('{"a": 1}\n[1]\n', "line 2 is not an object"),
        ('[{"a": 1}, 7]', "element 2 is not an object"),
        ('{"a": "\\ud800"}\n', "surrogate"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_json(tmp_path: Path, text: str, message: str) -> None:
    assert_refused(tmp_path / "ratings.json", text, message)


def test_errors_in_the_table_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item_id,rater_id,Q_overall\n1,2,yes\n")
    with pytest.raises(InvalidInput, match=r"ratings\.csv: Row 1: 'yes' is not an answer"):
        read_ratings(path)
    path.write_text("item,rater_id,Q_overall\n1,2,Yes\n")
    with pytest.raises(NotFound, match=r"ratings\.csv: There is no column 'item_id'"):
        read_ratings(path)


def test_errors_in_the_table_of_items_name_its_file(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item_id,topic\n007,a\n")
    with pytest.raises(InvalidInput, match=r"items\.csv: .* no row for 1 of the 2 rated items: '1e5'"):
        read_ratings(table, items=path)
