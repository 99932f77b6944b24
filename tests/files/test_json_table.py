"""Parsers of text tables against the standard library, and damaged text as clear errors."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.files.conftest import write
from tests.support.rating_tables import tables

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw import delimited, json_table, limits
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.ratings.table import Ratings


def test_numbers_of_any_length_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text(f'{{"a": {"7" * 1_000_000}, "b": 1e999999, "c": -0.0}}\n')
    assert read_frame(path).row(0) == ("7" * 1_000_000, "1e999999", "-0.0")


@pytest.mark.parametrize("text", ["x^,b\n1,2\n", "x\x01,b\n1,2\n", 'a"b,c\n1,2\n', '\ufeff"a",b\n1,2'])
def test_headers_that_look_like_zlib_or_have_quotes(text: str) -> None:
    """Two begin like zlib data, which polars would decompress."""
    assert delimited.parse(text.encode(), Path("x.csv"), separator=",").rows() == [("1", "2")]


def test_quotes_amid_text_do_not_join_rows() -> None:
    """Polars silently merges the first three rows."""
    text = 'a,b\n"4, 5",5" nail\nnail,12\n12,5" nail\n"4, 5",12\n"4, 5",nail\n"4, 5",12\n'
    rows = delimited.parse(text.encode(), Path("x.csv"), separator=",").rows()
    assert rows[:3] == [("4, 5", '5" nail'), ("nail", "12"), ("12", '5" nail')]
    assert rows[3:] == [("4, 5", "12"), ("4, 5", "nail"), ("4, 5", "12")]


@pytest.mark.parametrize("name", ["ratings.csv", "returns.csv", "ratings.jsonl", "ratings.json"])
def test_batches_give_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rows = [{"a": str(row), "b": "é" * (row % 50), "cd"[row % 2]: '"'} for row in range(1000)]
    table = pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.String)).with_columns(pl.col("b").replace("", None))
    path = tmp_path / name
    if name.endswith(".csv"):
        table.write_csv(path, line_terminator="\r" if name == "returns.csv" else "\n")
    else:
        path.write_text(json.dumps(rows, indent=3) if name == "ratings.json" else "\n".join(map(json.dumps, rows)))
    for module in (delimited, json_table):
        monkeypatch.setattr(module, "BATCH", 70)
    monkeypatch.setattr(limits, "MAX_ROW", 400)
    frame = read_frame(path)
    assert frame.with_columns(pl.col("b").replace("", None)).equals(table)


@pytest.mark.parametrize("value", ["[" + "1," * 50 + "1]", json.dumps("x" * 100), "[" + '"x",' * 20, '"' + "x" * 100])
def test_an_object_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setattr(limits, "MAX_ROW", 20)
    text = '[{"a": 1}, {"a": ' + value + "}, " + '{"a": 1}, ' * 50
    with pytest.raises(InvalidInput, match=r"element 2: a quote or a bracket is not closed within "):
        json_table.parse(text.encode(), Path("x.json"))


PIECES = ('"', ",", "\n", "\r", "\t", "\0", "\ufeff", "{", "}", "[", "]", ":", "1e999", "NaN", "\\ud800", "Yes", "é")
DAMAGE = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 6), st.sampled_from(PIECES).map(str.encode) | st.binary(max_size=3)),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".json", ".csv.gz"])
@given(table=tables(), damage=DAMAGE, inside=st.booleans())
@settings(max_examples=60, deadline=None)
def test_damaged_tables_are_ratings_or_a_clear_error(
    extension: str, table: pl.DataFrame, damage: list[tuple[int, int, bytes]], inside: bool
) -> None:
    with TemporaryDirectory() as folder:
        path = write(table, Path(folder, f"ratings{extension}"))
        packed = inside and extension.endswith(".gz")
        data = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        for offset, length, piece in damage:
            offset %= len(data) + 1
            data = data[:offset] + piece + data[offset + length :]
        path.write_bytes(gzip.compress(data) if packed else data)
        with suppress(DissensusError):
            assert isinstance(read_ratings(path), Ratings)


FIELDS = st.sampled_from(
    ["", "a", "1", " ", "é", "5'", 'x"', '""', '"x"', '"x,y"', '"x\ny"', '"\r\n"', '"x""y"', '"', "a b"]
)
LINES = st.lists(st.lists(FIELDS, min_size=2, max_size=2) | st.lists(FIELDS, max_size=3), max_size=5)


@pytest.mark.slow
@given(
    lines=LINES, end=st.sampled_from(["\n", "\r\n", "\r"]), ended=st.booleans(), mark=st.sampled_from(["", "\ufeff"])
)
@example(lines=[["1", '"x'], ["2", '"y']], end="\n", ended=True, mark="")
@example(lines=[["1", "2", ""]], end="\n", ended=False, mark="")
@example(lines=[["1", '"""']], end="\n", ended=False, mark="")
@settings(max_examples=1000, deadline=None)
def test_separated_text_is_parsed_like_the_csv_module(lines: list[list[str]], end: str, ended: bool, mark: str) -> None:
    """Rows of other lengths are refused; only stray quotes inside a field are accepted."""
    text = end.join(["a,b", *(",".join(line) for line in lines)]) + end * ended
    with suppress(csv.Error):
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        fits = all(len(row) == 2 for row in rows)
        try:
            parsed = delimited.parse((mark + text).encode(), Path("x.csv"), separator=",")
        except InvalidInput:
            assert not fits
            return
        assert fits
        assert non_empty_rows(parsed.rows()) == non_empty_rows(rows[1:])


def non_empty_rows(rows: Iterable[Sequence[str | None]]) -> list[tuple[str, ...]]:
    """Return the rows with a value, with empty text for null."""
    plain = [tuple(cell or "" for cell in row) for row in rows]
    return [row for row in plain if any(row)]


VALUES = st.text(max_size=4).map(lambda text: (json.dumps(text), text)) | st.sampled_from(
    [("null", None), *((text, text) for text in ("true", "1", "1.0", "1e999999", "[]", '{"a": "é"}', '[["{"]]'))]
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "", "é"]), VALUES, min_size=1), min_size=1, max_size=6)


@given(
    rows=ROWS,
    space=st.sampled_from(["", " ", "\n", "\r\n\t"]),
    array=st.booleans(),
    mark=st.sampled_from(["", "\ufeff"]),
)
@settings(max_examples=500, deadline=None)
def test_json_with_any_spacing_is_read(
    rows: list[dict[str, tuple[str, str | None]]], space: str, array: bool, mark: str
) -> None:
    objects = ["{" + ",".join(f"{json.dumps(key)}: {text}" for key, (text, _) in row.items()) + "}" for row in rows]
    text = f"{space}[{space}{f'{space},{space}'.join(objects)}{space}]{space}" if array else "\n\n".join(objects)
    parsed = json_table.parse((mark + text).encode(), Path("x.json"))
    assert parsed.columns == list(dict.fromkeys(key for row in rows for key in row))
    assert parsed.to_dicts() == [{key: row.get(key, (None, None))[1] for key in parsed.columns} for row in rows]


@pytest.mark.parametrize(
    "cell", ["[1, 2.50, -3e5, 12345678901234567890]", '{"k": [1, "2", null, true], "1": 0}', '["1"]']
)
def test_numbers_in_lists_and_objects_keep_their_notation(cell: str) -> None:
    parsed = json_table.parse(f'{{"item_tags": {cell}, "n": 2.50}}'.encode(), Path("a.jsonl"))
    assert parsed.rows() == [(cell, "2.50")]
