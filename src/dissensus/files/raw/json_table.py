"""JSON Lines and arrays of objects as tables of text, with numbers as written."""

import re
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from json import JSONDecodeError
from pathlib import Path

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.raw import limits
from dissensus.files.raw.content import check_lines, decode_utf8
from dissensus.files.raw.json_decoder import (
    JsonObject,
    NumberText,
    UnusableJsonError,
    check_object,
    describe_decode_error,
    encode_value,
    is_unclosed,
    max_row_size,
    strict_decoder,
)

Row = JsonObject

BATCH = 2**17
"""Cells that are held as Python objects at a time, and become a table in one call, which blocks other requests."""

MAX_BYTES = 2**26
"""Maximum bytes of a file that is one object, which is held in memory as Python objects."""

FEW = 2**22
"""Maximum bytes of a file that is read again as one object, for a better message."""

_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\[")
_FIRST = re.compile(r"[ \t\n\r]*\[[ \t\n\r]*(\]?)")
_NEXT = re.compile(r"[ \t\n\r]*(?:,[ \t\n\r]*|(\]))")


class _NotJsonError(InvalidInput):
    """The text is neither JSON Lines nor an array of objects."""


def parse(data: bytes, path: Path) -> pl.DataFrame:
    """Return one row per object, all values as text, with null for null and missing values."""
    try:
        return _rows(data, path)
    except _NotJsonError:
        if len(data) > FEW or one_object(data, path) is None:
            raise
    raise InvalidInput(
        f"{path} is one JSON object, not one per row. If it is a LeWiDi file, `dissensus convert` turns it into one "
        "rating per row."
    )


def _rows(data: bytes, path: Path) -> pl.DataFrame:
    rows = _elements(data, path) if _ARRAY.match(data) else _lines(data, path)
    frames: list[pl.DataFrame] = []
    columns: dict[str, None] = {}
    height = 0
    for batch, keys in _batches(rows):
        columns |= dict.fromkeys(keys)
        limits.check_columns(list(columns), path)
        limits.check_cells(height + len(batch), len(columns), path)
        limits.check_rows(height + len(batch), path)
        try:
            frames.append(pl.from_dicts(batch, dict.fromkeys(keys, pl.String)))
        except UnicodeEncodeError:
            number = height + next(at for at, row in enumerate(batch, start=1) if not _is_text(row))
            raise InvalidInput(
                f"{path}, object {number:,}: half of a surrogate pair (like \\ud800), which is not text."
            ) from None
        height += len(batch)
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


def one_object(data: bytes, path: Path) -> Row | None:
    """Return the single object of a file; None for arrays, JSON Lines and large files."""
    if len(data) > MAX_BYTES:
        return None
    text = decode_utf8(data, path)
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] != "{":
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = _decode(text, path, 1), len(text)
    return value if isinstance(value, dict) and not text[end:].strip() else None


def _batches(rows: Iterator[Row]) -> Iterator[tuple[list[Row], list[str]]]:
    """Yield batches of rows with all their keys, of at most `BATCH` cells."""
    batch: list[Row] = []
    keys: Row = {}
    for row in rows:
        batch.append(row)
        keys |= row
        if len(batch) * len(keys) >= BATCH:
            yield batch, list(keys)
            batch, keys = [], {}
    if batch:
        yield batch, list(keys)


def _lines(data: bytes, path: Path) -> Iterator[Row]:
    check_lines(data, path)
    limits.check_lines(data, path)
    lines = BytesIO(data if b"\n" in data else data.replace(b"\r", b"\n"))
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            text = line.decode("utf-8" if number > 1 else "utf-8-sig")
        except UnicodeDecodeError:
            decode_utf8(data, path)
            raise
        yield _row(_decode(text.rstrip("\r\n"), path, number), f"{path}, line {number:,}")


def _elements(data: bytes, path: Path) -> Iterator[Row]:
    """Yield the elements of an array, decoded from a window of text that extends at least two longest rows ahead."""
    stream = TextIOWrapper(BytesIO(data), "utf-8-sig", newline="")
    number, start, position = 0, 0, 0
    try:
        text = stream.read(3 * limits.max_row())
        match = _FIRST.match(text)
        while match and not match[1]:
            number, position = number + 1, match.end()
            value, position = _DECODER.raw_decode(text, position)
            yield _row(value, f"{path}, element {number:,}")
            if position > limits.max_row():
                text, start, position = text[position:] + stream.read(position), start + position, 0
            match = _NEXT.match(text, position)
        if not match:
            raise JSONDecodeError("Expecting ',' delimiter", text, position)
        if (text[match.end() :] + stream.read()).strip():
            raise JSONDecodeError("Extra data", text, match.end())
    except UnicodeDecodeError:
        decode_utf8(data, path)
        raise
    except (JSONDecodeError, UnusableJsonError, RecursionError) as error:
        if is_unclosed(error, text) and stream.read(1):
            raise InvalidInput(
                f"{path}, element {number:,}: a quote or a bracket is not closed within {max_row_size()}."
            ) from None
        before = decode_utf8(data, path)[: start + (error.pos if isinstance(error, JSONDecodeError) else position)]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise _decode_error(error, path, line, column) from None


def _row(value: object, where: str) -> Row:
    """Return an object with all its values as text."""
    row = check_object(value, f'{where} is not an object with values. Each row is one like {{"item_id": "1", …}}.')
    for key, cell in row.items():
        if cell.__class__ is NumberText:
            row[key] = str(cell)
        elif cell is not None and cell.__class__ is not str:
            try:
                row[key] = encode_value(cell)
            except RecursionError:
                raise InvalidInput(f"{where}: the values are nested too deeply.") from None
    return row


def _is_text(row: Row) -> bool:
    try:
        return bool("".join(f"{key}{value}" for key, value in row.items()).encode())
    except UnicodeEncodeError:
        return False


def _decode(text: str, path: Path, line: int) -> object:
    """Decode JSON with numbers as text; `line` is the line of the file where the text begins."""
    try:
        return _DECODER.decode(text)
    except JSONDecodeError as error:
        raise _decode_error(error, path, line + error.lineno - 1, error.colno) from None
    except (UnusableJsonError, RecursionError) as error:
        raise _decode_error(error, path, line, 0) from None


def _decode_error(error: Exception, path: Path, line: int, column: int) -> InvalidInput:
    if isinstance(error, JSONDecodeError):
        return _NotJsonError(f"{path}, line {line:,}, column {column:,}: {describe_decode_error(error)}.")
    return InvalidInput(f"{path}, line {line:,} or later: {describe_decode_error(error)}.")


_DECODER = strict_decoder("an object", numbers_as_text=True)


def dump(frame: pl.DataFrame, *, lines: bool) -> bytes:
    """Return a table of text as JSON Lines, or as one array; every object has every column."""
    buffer = BytesIO()
    if lines:
        frame.write_ndjson(buffer)
    else:
        frame.write_json(buffer)
    return buffer.getvalue()
