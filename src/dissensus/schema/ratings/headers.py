"""Names of the columns of a table: those that are patterns are refused, and surrounding spaces are left out."""

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list


def check_headers(frame: pl.DataFrame) -> None:
    """Raise if polars would read the name of a column as a pattern that selects others."""
    patterns = [name for name in frame.columns if _is_pattern(name)]
    if patterns:
        raise InvalidInput(
            f"Columns are named {format_list(patterns, 3)}. '*' and names from '^' to '$' are patterns that stand for "
            "other columns. Rename them."
        )


def _is_pattern(name: str) -> bool:
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def strip_headers(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a table whose column names have no surrounding spaces, and a note; names that would clash stay."""
    check_headers(frame)
    stripped = [name.strip() for name in frame.columns]
    renamed = {
        name: plain
        for name, plain in zip(frame.columns, stripped, strict=True)
        if plain and plain != name and stripped.count(plain) == 1 and not _is_pattern(plain)
    }
    if not renamed:
        return frame, ()
    note = f"Spaces around the names of columns are left out: {format_list(list(renamed.values()))}."
    return frame.rename(renamed), (note,)
