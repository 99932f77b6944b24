"""Names of the columns of a table without surrounding spaces."""

import polars as pl

from dissensus.schema.hints import format_list


def strip_headers(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a table whose column names have no surrounding spaces, and a note; names that would clash stay."""
    stripped = [name.strip() for name in frame.columns]
    renamed = {
        name: plain
        for name, plain in zip(frame.columns, stripped, strict=True)
        if plain and plain != name and stripped.count(plain) == 1
    }
    if not renamed:
        return frame, ()
    note = f"Spaces around the names of columns are left out: {format_list(list(renamed.values()))}."
    return frame.rename(renamed), (note,)
