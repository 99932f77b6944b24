"""Resource limits for reading files, checked before memory is used."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

VARIABLE: Final = "DISSENSUS_MAX_GIB"
"""Environment variable with the maximum GiB of text in a file; memory limits follow from it."""

DEFAULT_GIB: Final = 1.0
MAX_GIB: Final = 2**20
"""A pebibyte, from which no other limit overflows."""
MAX_COLUMNS: Final = 10_000
MAX_NAME_LENGTH: Final = 1_000
"""Characters in the name of a column."""

MAX_ROW: Final = 2**24
"""Bytes of a line of text, characters of a field or of a JSON object."""

REMEDY: Final = f"If you trust it, allow more with the environment variable {VARIABLE}, in GiB."
UPLOAD_REMEDY: Final = "Split it, or use the command line."
UPLOAD_BYTES: Final = 128 << 20
"""Maximum bytes of text of a file from a browser, unpacked."""
UPLOAD_ROWS: Final = 100_000
UPLOAD_ROW: Final = 2**20
"""As `MAX_ROW`; several calls handle a whole row, and block other requests."""
UPLOAD_TURNS: Final = 50_000
"""Turns of conversations, which garbage collection visits at once."""
LINE_BYTES: Final = 8
"""Bytes of text for which a line is allowed, where lines are read one by one."""


@dataclass
class _Upload:
    """State of reading an upload."""

    n_turns: int = 0


_upload: ContextVar[_Upload | None] = ContextVar("upload", default=None)


@contextmanager
def restrict_to_upload() -> Iterator[None]:
    """Apply the stricter limits of uploads, which block other requests while they are read."""
    token = _upload.set(_Upload())
    try:
        yield
    finally:
        _upload.reset(token)


def remedy() -> str:
    """Return what to do about a file that is too large."""
    return UPLOAD_REMEDY if _upload.get() else REMEDY


def max_text_bytes() -> int:
    """Return the maximum number of bytes of text in a file."""
    text = os.environ.get(VARIABLE, "") or str(DEFAULT_GIB)
    try:
        gib = float(text)
    except ValueError:
        gib = math.nan
    if not 0 < gib <= MAX_GIB:
        raise InvalidInput(
            f"The environment variable {VARIABLE} is {format_value(text)}. Give a number of GiB, such as 4."
        )
    most = math.ceil(gib * 2**30)
    return min(most, UPLOAD_BYTES) if _upload.get() else most


def max_row() -> int:
    """Return the maximum bytes of a line of text, characters of a field or of a JSON object."""
    return MAX_ROW if _upload.get() is None else UPLOAD_ROW


def check_lines(data: bytes, path: Path) -> None:
    """Raise if a text has too many lines to be read one by one; blank ones count."""
    most = max_text_bytes() // LINE_BYTES
    n = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    if n > most:
        raise InvalidInput(f"{path} has {n:,} lines, and at most {most:,} are read. Remove blank ones. {remedy()}")


def check_rows(rows: int, path: Path) -> None:
    """Raise if a file from a browser has too many rows."""
    if _upload.get() and rows > UPLOAD_ROWS:
        raise InvalidInput(f"{path} has {rows:,} rows, and a form takes at most {UPLOAD_ROWS:,}. {remedy()}")


def count_turns(n: int) -> None:
    """Count turns of a file from a browser; raise if there are too many."""
    upload = _upload.get()
    if upload is None:
        return
    upload.n_turns += n
    if upload.n_turns > UPLOAD_TURNS:
        raise InvalidInput(
            f"the conversations so far have {upload.n_turns:,} turns, and a form takes at most {UPLOAD_TURNS:,}. "
            f"{UPLOAD_REMEDY}"
        )


def max_cells() -> int:
    """Return the maximum number of cells of a table; a cell takes sixteen bytes in memory, and one or more as text."""
    return max_text_bytes() // 4


def max_memory() -> int:
    """Return the maximum number of bytes of memory for reading a file, besides those of the program."""
    return 2**30 + 10 * max_text_bytes()


def check_bytes(count: int, path: Path, state: str = "is") -> None:
    """Raise if there is too much text."""
    if count > max_text_bytes():
        raise InvalidInput(f"{path} {state} larger than {max_text_bytes() / 2**30:.3g} GiB, the maximum. {remedy()}")


def check_cells(rows: int, columns: int, path: Path) -> None:
    """Raise if a table has too many cells."""
    if rows * columns > max_cells():
        raise InvalidInput(
            f"{path} has {rows:,} rows or more, of {columns:,} columns: over {max_cells():,} cells, the maximum. "
            f"{remedy()}"
        )


def check_columns(names: Sequence[str], path: Path) -> None:
    """Raise if there are too many columns, or if their names are too long."""
    if len(names) > MAX_COLUMNS:
        raise InvalidInput(
            f"{path} has {len(names):,} columns or more, and at most {MAX_COLUMNS:,} are read. Is it a table with one "
            "row per rating?"
        )
    longest = max(names, key=len, default="")
    if len(longest) > MAX_NAME_LENGTH:
        raise InvalidInput(
            f"{path}: the column {format_value(longest)} has a name of {len(longest):,} characters, and at most "
            f"{MAX_NAME_LENGTH:,} are read. Does the table begin with its header?"
        )
