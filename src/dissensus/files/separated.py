"""Comma- and tab-separated text to a table of text: nothing is guessed, so ids stay as they are written."""

import csv
from collections import deque
from collections.abc import Iterator
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dissensus.errors import InvalidInput
from dissensus.files.content import decoded


def parse(data: bytes, path: Path, *, separator: str) -> pl.DataFrame:
    """Return the rows of separated text, all as text, with null for empty fields.

    Polars is fast, and lenient with rows that are too short; where it cannot read on, or rows might be short,
    the standard library goes through the lines and names the one that is wrong. Rows without a single value,
    which spreadsheets leave at the end, are left out.

    Raises
    ------
    InvalidInput
        The text is not UTF-8, a column is named twice, or a line does not fit the header.
    """
    header = _header(data, path, separator)
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False)
    except (PolarsError, PanicException):
        frame = None
    if frame is None or frame.width != len(header):
        frame = _slowly(data, path, separator)
    frame.columns = header
    if not frame[:, -1].null_count():
        return frame
    deque(_rows(decoded(data, path), path, separator), maxlen=0)
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _header(data: bytes, path: Path, separator: str) -> list[str]:
    # The limit is one of the process, and too low for long conversations: raise it, never lower it.
    csv.field_size_limit(max(csv.field_size_limit(), len(data)))
    lines = TextIOWrapper(BytesIO(data), "utf-8-sig", "replace", newline="")
    try:
        header = next((row for row in csv.reader(lines, delimiter=separator) if row), None)
    except csv.Error as error:
        raise InvalidInput(f"{path}: its first line cannot be read ({error}). Is it a table?") from None
    if header is None:
        raise InvalidInput(f"{path} is empty.")
    if len(header) == 1 and any(other in header[0] for other in ",;\t"):
        raise InvalidInput(
            f"{path} has the single column {header[0]!r}: its fields are not separated by {separator!r}. "
            "Save it with commas as .csv, or with tabs as .tsv."
        )
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{path}: two columns are named {twice!r}. Rename or drop one of them.")
    return header


def _slowly(data: bytes, path: Path, separator: str) -> pl.DataFrame:
    header, *rows = _rows(decoded(data, path), path, separator)
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    named = zip(header, columns, strict=True)
    series = [pl.Series(name, [value or None for value in values], dtype=pl.String) for name, values in named]
    return pl.DataFrame(series)


def _rows(text: str, path: Path, separator: str) -> Iterator[list[str]]:
    """Yield the header and the rows, blank lines left out; each row is as long as the header."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    width = 0
    try:
        for row in reader:
            width = width or len(row)
            if len(row) not in (0, width):
                raise InvalidInput(
                    f"{path}, line {reader.line_num:,}: {len(row)} fields, but the header has {width}. "
                    "Quote fields that contain the separator."
                )
            if row:
                yield row
    except csv.Error as error:
        raise InvalidInput(
            f"{path}, line {reader.line_num:,}: the quotes do not match ({error}). Double the quotes inside a field."
        ) from None
