"""CSV and TSV: tables of text without type inference, so that ids stay as written."""

import codecs
import csv
import re
from collections import Counter, deque
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from dissensus.errors import InvalidInput
from dissensus.files.raw import limits
from dissensus.files.raw.content import check_lines, decode_utf8
from dissensus.schema.hints import format_value

_ZLIB = (b"x\x01", b"x^")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
SEPARATORS = ",;\t"
"""Separators that are tried where a header has a single column; spreadsheets of many countries write semicolons."""

CHUNK = 2**20
"""Bytes that are surveyed at a time; they fit the processor cache."""

BATCH = 2**20
"""Cells that are held as Python objects at a time."""

VERSION = b"# dataset_version="
"""Beginning of the line that PyRIT writes before the header."""

PADDING = 8
"""Maximum cells per byte; complete rows have one or less, but blank and quoted lines are counted too."""


def parse(data: bytes, path: Path, *, separator: str) -> pl.DataFrame:
    """Return the rows of separated text, all as text, with null for empty fields.

    Polars is fast, but lenient with short rows and irregular quotes. If either is possible, or if polars fails, the
    standard library reads the lines or names the invalid one. Empty rows, which spreadsheets leave at the end, are
    dropped.
    """
    check_lines(data, path)
    data = _blank_version(data)
    header, separator = _header(data, path, separator)
    frame = _parse_with_polars(data, separator, header)
    if frame is None:
        frame = _parse_with_csv(data, path, separator)
    frame.columns = header
    if not frame[:, -1].null_count():
        return frame
    limits.check_lines(data, path)
    deque(_rows(data, path, separator), maxlen=0)
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _blank_version(data: bytes) -> bytes:
    """Replace a first line that states the version, as in files of PyRIT, by an empty one."""
    text = data.removeprefix(codecs.BOM_UTF8)
    return text[text.find(b"\n") :] if text.startswith(VERSION) and b"\n" in text else data


def _header(data: bytes, path: Path, separator: str) -> tuple[list[str], str]:
    """Return the names of the columns, and the separator: another usual one where this one does not occur."""
    header = _first_row(data, path, separator)
    if len(header) == 1:
        others = {other: _first_row(data, path, other) for other in SEPARATORS if other in header[0]}
        separator = max(others, key=lambda other: len(others[other]), default=separator)
        header = others.get(separator, header)
    check_header(header, path)
    return header, separator


def check_header(header: list[str], path: Path) -> None:
    """Raise for too many columns, and for two of one name."""
    limits.check_columns(header, path)
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise InvalidInput(f"{path}: two columns are named {format_value(name)}. Rename or drop one of them.")


def _first_row(data: bytes, path: Path, separator: str) -> list[str]:
    # The limit of the process is too low for long conversations. Other code may have raised it: never lower it.
    csv.field_size_limit(max(csv.field_size_limit(), limits.MAX_ROW))
    # Blank lines before it are passed over at once, however many they are.
    start = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    lines = TextIOWrapper(BytesIO(start), "utf-8", newline="")
    try:
        header = next((row for row in csv.reader(lines, delimiter=separator, strict=True) if row), None)
    except UnicodeDecodeError:
        decode_utf8(data, path)
        raise
    except csv.Error as error:
        raise InvalidInput(f"{path}: its first line cannot be read ({_reason(error)}). Is it a table?") from None
    if header is None:
        raise InvalidInput(f"{path} is empty.")
    return header


def _parse_with_polars(data: bytes, separator: str, header: list[str]) -> pl.DataFrame | None:
    """Parse with polars; None if it fails, would misread, or could exhaust memory."""
    lines, regular = _survey(data, separator)
    # Polars reads a lone \r as text, a quote inside text as an opening one, and "x^" as the magic number of zlib.
    if not regular or data.startswith(_ZLIB) or (b"\r" in data and _LONE_RETURN.search(data)):
        return None
    # Polars pads short rows, so a small file could exhaust memory.
    if lines * len(header) > min(limits.max_cells(), PADDING * len(data)):
        return None
    # Polars accepts a superfluous separator at the end of an unterminated last line.
    ended = data if data.endswith(b"\n") else data + b"\n"
    try:
        frame = pl.read_csv(ended, separator=separator, infer_schema=False)
    except (PolarsError, PanicException, OSError):
        return None
    return frame if frame.width == len(header) else None


def _survey(data: bytes, separator: str) -> tuple[int, bool]:
    """Count line ends, and return whether all quotes enclose whole fields or are doubled inside them.

    If so, quotes that open a field or come second in a pair alternate with quotes that close a field or come first.
    Before each of the former, and after each of the latter, there is a field edge or another quote.
    """
    text = np.frombuffer(data.removeprefix(codecs.BOM_UTF8), np.uint8)
    is_edge = np.zeros(256, np.bool_)
    is_edge[list(f'{separator}\r\n"'.encode())] = True
    lines, inside, regular = 0, 0, True
    for start in range(0, len(text), CHUNK):
        part = text[start : start + CHUNK]
        lines += int(np.count_nonzero(part == ord("\n")))
        quotes = np.flatnonzero(part == ord('"')) + start
        before, after = quotes[inside::2] - 1, quotes[1 - inside :: 2] + 1
        inside ^= len(quotes) & 1
        regular = regular and all(is_edge[text[at[(at >= 0) & (at < len(text))]]].all() for at in (before, after))
    return lines, regular and not inside


def _parse_with_csv(data: bytes, path: Path, separator: str) -> pl.DataFrame:
    limits.check_lines(data, path)
    rows = _rows(data, path, separator)
    schema = dict.fromkeys(next(rows), pl.String)
    frames = [pl.DataFrame(schema=schema)]
    height = 0
    while batch := list(islice(rows, max(1, BATCH // len(schema)))):
        height += len(batch)
        limits.check_cells(height, len(schema), path)
        columns = [[cell or None for cell in cells] for cells in zip(*batch, strict=True)]
        frames.append(pl.DataFrame(columns, schema, orient="col"))
    return pl.concat(frames)


def _rows(data: bytes, path: Path, separator: str) -> Iterator[list[str]]:
    """Yield the header and the rows without blank lines; raise for rows of another length."""
    reader = csv.reader(TextIOWrapper(BytesIO(data), "utf-8-sig", newline=""), delimiter=separator, strict=True)
    width, line = 0, 1
    try:
        for row in reader:
            width = width or len(row)
            if len(row) not in (0, width):
                raise InvalidInput(
                    f"{path}, line {line:,}: {len(row):,} fields, but the header has {width:,}. "
                    "Quote fields that contain the separator."
                )
            if row:
                yield row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(
            f"{path}, line {line:,}: the quotes of the row that begins here do not match ({_reason(error)}, line "
            f"{reader.line_num:,}). Close each quote, and double those inside a field."
        ) from None
    except UnicodeDecodeError:
        decode_utf8(data, path)
        raise


def _reason(error: csv.Error) -> str:
    return str(error).replace("\t", "\\t")


def dump(frame: pl.DataFrame, *, separator: str) -> bytes:
    r"""Return a table of text as separated text: minimal quotes, lines ended by \n, nulls empty."""
    buffer = BytesIO()
    frame.write_csv(buffer, separator=separator, quote_style="necessary", line_terminator="\n")
    return buffer.getvalue()
