"""Resource limits for reading files, checked before memory is used."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

VARIABLE: Final = "DISSENSUS_MAX_GIB"
"""Environment variable with the maximum GiB of text in a file; memory limits follow from it."""

DEFAULT_GIB: Final = 1.0
MAX_COLUMNS: Final = 10_000
MAX_NAME_LENGTH: Final = 1_000
"""Characters in the name of a column."""

MAX_ROW: Final = 2**24
"""Bytes of a line of text, characters of a field or of a JSON object."""

REMEDY: Final = f"If you trust it, allow more with the environment variable {VARIABLE}, in GiB."


def max_text_bytes() -> int:
    """Return the maximum number of bytes of text in a file."""
    text = os.environ.get(VARIABLE, "") or str(DEFAULT_GIB)
    try:
        gib = float(text)
    except ValueError:
        gib = math.nan
    if not 0 < gib < math.inf:
        raise InvalidInput(
            f"The environment variable {VARIABLE} is {format_value(text)}. Give a number of GiB, such as 4."
        )
    return math.ceil(gib * 2**30)


def max_cells() -> int:
    """Return the maximum number of cells of a table; a cell takes sixteen bytes in memory, and one or more as text."""
    return max_text_bytes() // 4


def max_memory() -> int:
    """Return the maximum number of bytes of memory for reading a file, besides those of the program."""
    return 2**30 + 10 * max_text_bytes()


def check_bytes(count: int, path: Path, state: str = "is") -> None:
    """Raise if there is too much text."""
    if count > max_text_bytes():
        raise InvalidInput(f"{path} {state} larger than {max_text_bytes() / 2**30:.3g} GiB, the maximum. {REMEDY}")


def check_cells(rows: int, columns: int, path: Path) -> None:
    """Raise if a table has too many cells."""
    if rows * columns > max_cells():
        raise InvalidInput(
            f"{path} has {rows:,} rows or more, of {columns:,} columns: over {max_cells():,} cells, the maximum. "
            f"{REMEDY}"
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
