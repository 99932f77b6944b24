"""Order in which raters finished, from a table of their ratings."""

from datetime import UTC, datetime
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.ratings.cells import to_text
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.schema.ratings.headers import strip_headers

TIMESTAMP: Final = "answer_timestamp"


def order_raters(frame: pl.DataFrame) -> list[str]:
    """Return the ids of raters in the order of their last ratings: by time, or by row in a table without times.

    Raters without a time are left out where others have one.

    Examples
    --------
    >>> times = ["2026-03-01T09:00:00+09:00", "2026-03-01T01:00:00Z", "2026-03-01T00:30:00Z"]
    >>> order_raters(pl.DataFrame({"rater_id": ["ann", "bob", " eve"], "answer_timestamp": times}))
    ['ann', 'eve', 'bob']
    """
    frame, _ = strip_headers(frame)
    if RATER_ID not in frame.columns:
        raise InvalidInput(f"There is no column {RATER_ID}, by whose order raters count. Name the raters so.")
    last = pl.Series(range(frame.height), dtype=pl.Int64)
    if TIMESTAMP in frame.columns and frame[TIMESTAMP].null_count() < frame.height:
        last = _read_moments(frame[TIMESTAMP])
    ids = frame[RATER_ID].cast(pl.String).str.strip_chars()
    ratings = pl.DataFrame({"rater": ids, "last": last}).drop_nulls()
    return ratings.group_by("rater").agg(pl.col("last").max()).sort("last", "rater")["rater"].to_list()


def _read_moments(column: pl.Series) -> pl.Series:
    """Return moments as numbers of one unit, null for empty cells: of times with a zone, in UTC."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.to_physical()
    text = to_text(column).str.strip_chars().replace("", None)
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    moments = {value: _parse_moment(value, column.name) for value in text.unique().drop_nulls().to_list()}
    zoned = {moment.tzinfo is not None: value for value, moment in moments.items()}
    if len(zoned) > 1:
        raise InvalidInput(
            f"{column.name} has times with a zone, such as {format_value(zoned[True])}, and without one, such as "
            f"{format_value(zoned[False])}: their order is not known. Write all with their zone, or all without."
        )
    seconds = [moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() for moment in moments.values()]
    return text.replace_strict(list(moments), seconds, default=None, return_dtype=pl.Float64)


def _parse_moment(text: str, column: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{column}: {format_value(text)} is not a time in ISO 8601 or Unix seconds. Correct it, or drop the "
            "column, so that raters count by their rows."
        ) from None
