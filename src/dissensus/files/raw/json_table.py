"""JSON lines, or an array of objects, to a table of text: numbers stay as they are written."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from json import JSONDecodeError
from pathlib import Path

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.raw import limits
from dissensus.files.raw.content import check_lines, decoded
from dissensus.schema.hints import format_value

Row = dict[str, object]

BATCH = 2**20
"""Cells that are held as Python objects at a time."""

WHOLE = 2**26
"""Bytes of a file that is one object, all of which are held as Python objects."""

FEW = 2**22
"""Bytes of a file that is read again as one object, to say what it is."""

_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\[")
_FIRST = re.compile(r"[ \t\n\r]*\[[ \t\n\r]*(\]?)")
_NEXT = re.compile(r"[ \t\n\r]*(?:,[ \t\n\r]*|(\]))")


class _NotJsonError(InvalidInput):
    """What was read as one object a line, or as an array of them, is neither."""


class _UnusableError(ValueError):
    """JSON that would lose a value, or is none by the letter."""


def parse(data: bytes, path: Path) -> pl.DataFrame:
    """Return one row per object, all values as text, with null for what is null or not there."""
    try:
        return _rows(data, path)
    except _NotJsonError:
        if len(data) > FEW or one_object(data, path) is None:
            raise
    raise InvalidInput(
        f"{path} is one JSON object, not one a row. If it is a LeWiDi file, `dissensus convert` turns it into one "
        "rating a row."
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
    """Return the object that a file is as a whole; None where it is an array, is large, or has one object a line."""
    if len(data) > WHOLE:
        return None
    text = decoded(data, path)
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] != "{":
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = _loaded(text, path, 1), len(text)
    return value if isinstance(value, dict) and not text[end:].strip() else None


def _batches(rows: Iterator[Row]) -> Iterator[tuple[list[Row], list[str]]]:
    """Yield rows in turn with all their keys, few enough for a small table."""
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
    lines = BytesIO(data if b"\n" in data else data.replace(b"\r", b"\n"))
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            text = line.decode("utf-8" if number > 1 else "utf-8-sig")
        except UnicodeDecodeError:
            decoded(data, path)
            raise
        yield _row(_loaded(text.rstrip("\r\n"), path, number), f"{path}, line {number:,}")


def _elements(data: bytes, path: Path) -> Iterator[Row]:
    """Yield the elements of an array; a window of its text is held at a time, with two longest rows or more ahead."""
    stream = TextIOWrapper(BytesIO(data), "utf-8-sig", newline="")
    number, start, place = 0, 0, 0
    try:
        text = stream.read(3 * limits.ROW)
        found = _FIRST.match(text)
        while found and not found[1]:
            number, place = number + 1, found.end()
            value, place = _DECODER.raw_decode(text, place)
            yield _row(value, f"{path}, element {number:,}")
            if place > limits.ROW:
                text, start, place = text[place:] + stream.read(place), start + place, 0
            found = _NEXT.match(text, place)
        if not found:
            raise JSONDecodeError("Expecting ',' delimiter", text, place)
        if (text[found.end() :] + stream.read()).strip():
            raise JSONDecodeError("Extra data", text, found.end())
    except UnicodeDecodeError:
        decoded(data, path)
        raise
    except (JSONDecodeError, _UnusableError, RecursionError) as error:
        if _is_cut(error, text) and stream.read(1):
            raise InvalidInput(
                f"{path}, element {number:,}: a quote or a bracket is not closed within "
                f"{limits.ROW / 2**20:.0f} MiB, the most that is read."
            ) from None
        before = decoded(data, path)[: start + (error.pos if isinstance(error, JSONDecodeError) else place)]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise _refusal(error, path, line, column) from None


def _is_cut(error: Exception, text: str) -> bool:
    """Tell whether text may be wrong only because it ends."""
    if not isinstance(error, JSONDecodeError):
        return False
    return error.pos + 1 >= len(text) or error.msg.startswith("Unterminated string")


def _row(value: object, where: str) -> Row:
    """Return an object, with text for all that it holds."""
    if not isinstance(value, dict) or not value:
        raise InvalidInput(f'{where} is not an object with values. Each row is one like {{"item_id": "1", …}}.')
    for key, held in value.items():
        if held is not None and held.__class__ is not str:
            try:
                value[key] = json.dumps(held, ensure_ascii=False)
            except RecursionError:
                raise InvalidInput(f"{where}: the values are nested too deeply.") from None
    return value


def _is_text(row: Row) -> bool:
    try:
        return bool("".join(f"{key}{value}" for key, value in row.items()).encode())
    except UnicodeEncodeError:
        return False


def _loaded(text: str, path: Path, line: int) -> object:
    """Return parsed JSON whose numbers are text; `line` is where the text begins in the file."""
    try:
        return _DECODER.decode(text)
    except JSONDecodeError as error:
        raise _refusal(error, path, line + error.lineno - 1, error.colno) from None
    except (_UnusableError, RecursionError) as error:
        raise _refusal(error, path, line, 0) from None


def _refusal(error: Exception, path: Path, line: int, column: int) -> InvalidInput:
    if isinstance(error, JSONDecodeError):
        return _NotJsonError(f"{path}, line {line:,}, column {column:,}: not JSON ({error.msg}).")
    reason = "the values are nested too deeply" if isinstance(error, RecursionError) else error
    return InvalidInput(f"{path}, line {line:,} or later: {reason}.")


def _unique(pairs: list[tuple[str, object]]) -> Row:
    record = dict(pairs)
    if len(record) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _UnusableError(f"an object names {format_value(key)} twice")
    return record


def _not_a_number(name: str) -> object:
    raise _UnusableError(f"{name} is no JSON; write null for a value that is missing")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_not_a_number)


def dump(frame: pl.DataFrame, *, lines: bool) -> bytes:
    """Return a table of text as one object a line, or as one array; every object has every column."""
    buffer = BytesIO()
    if lines:
        frame.write_ndjson(buffer)
    else:
        frame.write_json(buffer)
    return buffer.getvalue()
