"""Second ratings of repeated items in a ratings table."""

from collections.abc import Callable

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.ratings import columns as names

_FIRST, _SECOND = _SHOWINGS = ("1", "2")
FIRST, SECOND = 1, 2


def _name_row(row: int) -> str:
    return f"Row {row + 1:,}"


def mark_second_showings(frame: pl.DataFrame, name_row: Callable[[int], str] = _name_row) -> pl.Series:
    """Return which rows are second ratings of an item by its rater; no row without a column for it.

    Examples
    --------
    >>> table = pl.DataFrame({"item_id": ["7", "7", "8"], "repeat": [1, 2, 1]})
    >>> mark_second_showings(table).to_list()
    [False, True, False]
    """
    if names.REPEAT not in frame.columns:
        return pl.repeat(value=False, n=frame.height, dtype=pl.Boolean, eager=True)
    showing = frame[names.REPEAT].cast(pl.String).str.strip_chars().str.strip_suffix(".0").fill_null(_FIRST)
    invalid = (~showing.is_in(_SHOWINGS)).arg_true()
    if invalid.len():
        row = int(invalid[0])
        raise InvalidInput(
            f"{name_row(row)}: {names.REPEAT} is {format_value(frame[names.REPEAT][row])}. Write 1 for the first "
            "rating of an item by a rater and 2 for the second, or give the column another name."
        )
    return showing == _SECOND


def describe_second_showings(n: int) -> tuple[str, ...]:
    """Return a note on second ratings, if there are any."""
    ratings = "rating of repeated items (repeat = 2) is" if n == 1 else "ratings of repeated items (repeat = 2) are"
    return (f"{n:,} second {ratings} left out; the consistency of raters alone counts them.",) * bool(n)
