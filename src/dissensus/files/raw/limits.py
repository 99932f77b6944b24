"""How much one file may ask for. What asks for more is refused before it is held in memory."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

VARIABLE: Final = "DISSENSUS_MAX_GIB"
"""Environment variable: GiB of text that one file may hold. All limits on memory follow from it."""

DEFAULT_GIB: Final = 1.0
COLUMNS: Final = 10_000
NAME: Final = 1_000
"""Characters in the name of a column."""

ROW: Final = 2**24
"""Bytes of a line of text, characters of a field or of a JSON object."""

REMEDY: Final = f"If you trust it, allow more with the environment variable {VARIABLE}, in GiB."


def text() -> int:
    """Return how many bytes of text a file may hold."""
    given = os.environ.get(VARIABLE, "") or str(DEFAULT_GIB)
    try:
        gib = float(given)
    except ValueError:
        gib = math.nan
    if not 0 < gib < math.inf:
        raise InvalidInput(f"The environment variable {VARIABLE} is {format_value(given)}. Give a number of GiB, such as 4.")
    return math.ceil(gib * 2**30)


def cells() -> int:
    """Return how many cells a table may have; one takes sixteen bytes in memory, and one or more as text."""
    return text() // 4


def memory() -> int:
    """Return how many bytes of memory a file may need while it is read, beside those of the program."""
    return 2**30 + 10 * text()


def check_bytes(count: int, path: Path, state: str = "is") -> None:
    """Make sure that there is not too much text."""
    if count > text():
        raise InvalidInput(f"{path} {state} larger than {text() / 2**30:.3g} GiB, the most that is read. {REMEDY}")


def check_cells(rows: int, columns: int, path: Path) -> None:
    """Make sure that a table does not have too many cells."""
    if rows * columns > cells():
        raise InvalidInput(
            f"{path} has {rows:,} rows or more, of {columns:,} columns: over {cells():,} cells, the most that is "
            f"read. {REMEDY}"
        )


def check_columns(names: Sequence[str], path: Path) -> None:
    """Make sure that columns are not too many, and that their names are not texts."""
    if len(names) > COLUMNS:
        raise InvalidInput(
            f"{path} has {len(names):,} columns or more, and at most {COLUMNS:,} are read. Is it a table with one row "
            "per rating?"
        )
    longest = max(names, key=len, default="")
    if len(longest) > NAME:
        raise InvalidInput(
            f"{path}: the column {format_value(longest)} has a name of {len(longest):,} characters, and at most {NAME:,} are "
            "read. Does the table begin with its header?"
        )
