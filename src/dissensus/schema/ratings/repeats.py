"""Second ratings of repeated items in a ratings table."""

from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.ratings import columns as names

_SHOWINGS: Final = ("1", "2")


def select_first_showings(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the first ratings of items that raters saw twice, and a note of the others.

    Examples
    --------
    >>> table = pl.DataFrame({"item_id": ["7", "7", "8"], "repeat": [1, 2, 1]})
    >>> select_first_showings(table)[1]
    ('1 second rating of repeated items (repeat = 2) is left out. Rows are counted without them.',)
    """
    if names.REPEAT not in frame.columns:
        return frame, ()
    showing = frame[names.REPEAT].cast(pl.String).str.strip_chars().str.strip_suffix(".0")
    invalid = (~showing.fill_null("1").is_in(_SHOWINGS)).arg_true()
    if invalid.len():
        row = int(invalid[0])
        raise InvalidInput(
            f"Row {row + 1}: {names.REPEAT} is {format_value(frame[names.REPEAT][row])}. Write 1 for the first rating "
            "of an item by a rater and 2 for the second, or give the column another name."
        )
    second = showing.fill_null("1") == "2"
    n = int(second.sum())
    if not n:
        return frame, ()
    ratings = "rating of repeated items (repeat = 2) is" if n == 1 else "ratings of repeated items (repeat = 2) are"
    return frame.filter(~second), (f"{n:,} second {ratings} left out. Rows are counted without them.",)
