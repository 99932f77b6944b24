"""Invalid files and their messages."""

import gzip
import os
import tempfile
from pathlib import Path

import polars as pl
import pytest
from tests.files.conftest import write
from tests.support.file_refusals import as_unprivileged_user, assert_refused

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.ratings.headers import strip_headers
from dissensus.schema.ratings.table import Ratings


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*ratings\.csv"):
        read_frame(tmp_path / "ratings.csv")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is a folder\. Name a file in it"):
        read_frame(tmp_path)


def test_an_unknown_extension(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.ods", "x", r"\.csv, \.csv\.gz, .*\.jsonl, .*\.parquet, \.xlsx")


def test_an_impossible_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not the path of a file"):
        read_frame(tmp_path / ("x" * 300 + ".csv"))


@pytest.mark.parametrize("name", ["nul\0.csv", "two\nlines.csv", "red\x1b[31m.csv", os.fsdecode(b"caf\xe9.csv")])
def test_a_name_with_control_characters(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"in its name, .*Rename it\.") as error:
        read_frame(tmp_path / name)
    assert str(error.value).isprintable()


def test_circular_links(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(InvalidInput, match="is not the path of a file"):
        read_frame(tmp_path / "a.csv")


def test_irregular_files_are_refused(tmp_path: Path) -> None:
    """Reading either would never end."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.parquet").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.parquet"):
        with pytest.raises(InvalidInput, match=f"{name} is a pipe or a device"):
            read_frame(tmp_path / name)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    """Like a file that is written while it is read; files of /proc always report another size."""
    (tmp_path / "ratings.csv").symlink_to("/proc/self/status")
    with pytest.raises(InvalidInput, match="changed while it was read"):
        read_frame(tmp_path / "ratings.csv")


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_unreadable_files(closed: str) -> None:
    with as_unprivileged_user(), tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "folder"
        folder.mkdir()
        path = folder / "ratings.csv"
        path.write_text("x")
        (path if closed == "file" else folder).chmod(0)
        with pytest.raises(NotAllowed, match=r"is not (accessible|readable)"):
            read_frame(path)
        folder.chmod(0o700)


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
    assert_refused(
        tmp_path / "ratings.csv",
        text,
        "line 2: byte 32 .* counted from 0, is 0xe9, .* not UTF-8 text. Save it as UTF-8",
    )
    assert_refused(tmp_path / "ratings.csv", b"\xef\xbb\xbf" + text, "byte 35 ")
    assert_refused(tmp_path / "ratings.csv", b"item_id,caf\xe9\n1,2\n", "line 1: byte 11 ")
    assert_refused(tmp_path / "ratings.csv", text.replace(b"\n", b"\r"), "line 2: byte 32 ")
    assert_refused(tmp_path / "ratings.jsonl", b'{"a": 1}\n{"a": "\xe9"}', "line 2: byte 16 ")
    assert_refused(tmp_path / "ratings.json", b'[{"a": 1},\n{"a": "\xe9"}]', "line 2: byte 18 ")


def test_utf_16(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16 text. Save it as UTF-8")
    assert_refused(tmp_path / "ratings.csv", "a,b\n1,2\n".encode("utf-16-le"), "line 1: byte 1 .* NUL, .* UTF-16")


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".json.gz"])
def test_nul(tmp_path: Path, extension: str) -> None:
    assert_refused(
        tmp_path / f"ratings{extension}", b"a,b\n1,\0\n", "line 2: byte 6 .* is NUL, which text does not contain"
    )


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


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('a,b\n1,2\n3,"x\n4,y\n5,z\n', (3, 5)),
        ('a,b\n1,2\n3,"x\n4,"y\n5,z\n', (3, 4)),
        ('a,b\n1,2\n3,"x"y\n', (3, 3)),
        ('a,b\n1,2\n3,"x', (3, 3)),
        ('a,b\n1,2\n3,"""', (3, 3)),
    ],
)
def test_quotes_that_do_not_match(tmp_path: Path, text: str, lines: tuple[int, int]) -> None:
    message = "line {}: the quotes of the row that begins here do not match .*, line {}"
    assert_refused(tmp_path / "ratings.csv", text, message.format(*lines))
    assert_refused(tmp_path / "ratings.tsv", text.replace(",", "\t"), message.format(*lines))


def test_an_unclosed_quote_in_the_header(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", 'a,"b\n1,2\n', "its first line cannot be read")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", "a,b,a\n1,2,3\n", "two columns are named 'a'")
    assert_refused(tmp_path / "ratings.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n', "line 2 .*names 'a' twice")


@pytest.mark.parametrize("name", ["*", "^.*$", "^x$"])
def test_a_column_name_that_selects_others(tmp_path: Path, name: str) -> None:
    """Polars takes such a name for a pattern wherever a column is selected."""
    message = r"Columns are named '.*' and names from .* are patterns .* Rename them\."
    assert_refused(tmp_path / "ratings.csv", f"item_id,{name},b\n1,Yes,No\n2,No,Yes\n", message)
    with pytest.raises(InvalidInput, match=message):
        Ratings.from_frame(pl.DataFrame({"item_id": ["1"], "rater_id": ["a"], name: ["Yes"]}), answer=name)


def test_a_header_with_spaces_around_a_pattern() -> None:
    """Without the spaces it would select other columns."""
    table = pl.DataFrame({"item_id": ["1"], "rater_id": ["a"], " * ": ["Yes"]})
    assert strip_headers(table)[0].columns == table.columns


def test_a_column_name_that_is_too_long(tmp_path: Path) -> None:
    assert_refused(tmp_path / "ratings.csv", f"a,{'x' * 2000}\n1,2\n", "has a name of 2,000 characters, and at most")
    assert_refused(tmp_path / "ratings.jsonl", f'{{"{"x" * 2000}": 1}}', "has a name of 2,000 characters, and at most")


def test_values_cannot_garble_a_message(tmp_path: Path) -> None:
    """A terminal would interpret escape sequences."""
    name = "\x1b[31m" + "x" * 300
    assert_refused(tmp_path / "ratings.csv", f"{name},{name}\n1,2\n", "two columns are named ")
    assert_refused(tmp_path / "ratings.csv", f"{name};{name}\n1;2\n", "two columns are named ")
    assert_refused(tmp_path / "ratings.jsonl", f'{{"{name[5:]}\\u001b": 1, "{name[5:]}\\u001b": 1}}', " twice")


@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("name", ["ratings.csv", "ratings.tsv"])
def test_another_separator_is_recognised(tmp_path: Path, name: str, separator: str) -> None:
    (tmp_path / name).write_text(f'a{separator}b\n1{separator}"2{separator}3"\n\n')
    assert read_frame(tmp_path / name).rows(named=True) == [{"a": "1", "b": f"2{separator}3"}]


def test_gzip_cut_short(tmp_path: Path) -> None:
    data = gzip.compress(b"item_id,rater_id,Q_overall\n" + os.urandom(1000))
    assert_refused(tmp_path / "ratings.csv.gz", data[:500], "cut short")


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"a,b\n1,2\n")[:-8] + bytes(8),
        gzip.compress(b"a,b\n1,2\n")[:-4] + b"\x07\0\0\0",
        gzip.compress(b"a,b\n1,2\n") + b"garbage",
        gzip.compress(b"a,b\n1,2\n")[:10] + b"\xff" * 20,
    ],
    ids=["checksum", "size", "garbage after it", "no such block"],
)
def test_damaged_gzip(tmp_path: Path, data: bytes) -> None:
    assert_refused(tmp_path / "ratings.csv.gz", data, "damaged gzip data")


def test_gzip_in_gzip(tmp_path: Path) -> None:
    data = gzip.compress(gzip.compress(b"a,b\n1,2\n"))
    assert_refused(tmp_path / "ratings.csv.gz", data, "gzip data inside gzip data. Unpack the file once")


def test_gzip_in_parts_is_one_text(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,") + gzip.compress(b"") + gzip.compress(b"2\n") + bytes(512))
    assert read_frame(path).rows() == [("1", "2")]


@pytest.mark.parametrize(("magic", "name"), [(b"(\xb5/\xfd", "zstd"), (b"\xfd7zXZ\0", "xz")])
def test_other_compression(tmp_path: Path, magic: bytes, name: str) -> None:
    assert_refused(tmp_path / "ratings.csv", magic + b"rest", f"compressed with {name}, and only gzip is read")


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
        ('{"a": 1}\n\n{"a": "\\ud800"}\n', "object 2: half of a surrogate pair"),
        ('{"\\ud800": 1}\n', "object 1: half of a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": 1}\n{"a": NaN}\n', "line 2 .*NaN is not valid JSON; write null for a missing value"),
        ('[{"a": 1},\n{"a": -Infinity}]', "line 2 .*-Infinity is not valid JSON"),
        ('[{"a": 1},\n{"b": 1, "b": 2}]', "line 2 .*names 'b' twice"),
        ('{"a": 1}\n{}\n', "line 2 is not an object with values"),
        ('[{"a": 1}, {}]', "element 2 is not an object with values"),
        ('[{"a": 1},]', "line 1, column 11: not JSON"),
        ('[{"a": 1}\n{"a": 1}]', "line 1, column 10: not JSON .*delimiter"),
        ('[{"a": 1}\n', "line 1, column 10: not JSON .*delimiter"),
        ('[{"a": 1}]\n[', "line 1, column 11: not JSON .*Extra data"),
        ('{"a": 1}{"a": 1}', "line 1, column 9: not JSON .*Extra data"),
    ],
)
def test_invalid_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
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


def test_a_single_object_is_not_a_row(tmp_path: Path) -> None:
    path = tmp_path / "entries.json"
    path.write_text('{"1": {"annotations": {"Ann1": "0"}},\n "2": {}}')
    with pytest.raises(InvalidInput, match=r"is one JSON object, not one per row.*dissensus convert"):
        read_frame(path)


@pytest.mark.parametrize("ids", [["1.0", "2.0"], ["2.967085817827937e14", "1e15"]])
def test_ids_converted_from_numbers(ids: list[str]) -> None:
    frame = pl.DataFrame({"item_id": ids, "rater_id": ["a", "b"], "Q_overall": ["No", "No"]})
    with pytest.raises(InvalidInput, match="ids in column item_id are written as decimal numbers"):
        read_ratings(frame)
