"""Times of a release: durations in steps, and moments by day or month."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.columns import DURATIONS, MOMENTS
from dissensus.schema.hints import format_value
from dissensus.schema.release.plan import ReleasePlan, Timestamps

FIRST_SECOND: Final = 946_684_800
"""Unix time of the beginning of 2000; a smaller number is taken for a date without hyphens, such as 20260301."""
LAST_SECOND: Final = 4_102_444_800
"""Unix time of the beginning of 2100; a larger number is taken for milliseconds."""
_UNITS: Final[Mapping[Timestamps, str]] = {"month": "1mo", "day": "1d"}
_TEXTS: Final[Mapping[Timestamps, str]] = {"month": r"\d{4}-\d{2}", "day": r"\d{4}-\d{2}-\d{2}"}


def coarsen_times(table: pl.DataFrame, plan: ReleasePlan) -> pl.DataFrame:
    """Return the table with rounded durations, and moments of the plan's precision."""
    step = plan.round_times_ms
    durations = [
        ((pl.col(name).cast(pl.String).str.strip_chars().replace("", None).cast(pl.Float64) / step).round() * step)
        .cast(pl.Int64)
        .alias(name)
        for name in DURATIONS
        if name in table.columns
    ]
    moments = [_coarsen_moment(table[name], plan.timestamps) for name in MOMENTS if name in table.columns]
    return table.with_columns(*durations, *moments)


def _coarsen_moment(column: pl.Series, precision: Timestamps) -> pl.Series:
    """Return the first moment of the month or day of each moment, in its own format; nothing for "none"."""
    if precision == "none" or column.null_count() == len(column):
        return pl.Series(column.name, [None] * len(column), column.dtype)
    if column.dtype.is_temporal():
        return _truncate(column, precision)
    if column.dtype == pl.String:
        column = column.str.strip_chars().replace("", None)
    seconds = column.cast(pl.Float64, strict=False)
    if seconds.null_count() == column.null_count():
        _check_seconds(seconds)
        start = pl.from_epoch(seconds.floor().cast(pl.Int64), time_unit="s").dt.truncate(_UNITS[precision])
        return start.dt.epoch("s").cast(column.dtype).alias(column.name)
    starts = [None if text is None else _start_of(text, column.name, precision) for text in column]
    return pl.Series(column.name, starts, pl.String)


def _truncate(column: pl.Series, precision: Timestamps) -> pl.Series:
    if column.dtype not in (pl.Date, pl.Datetime):
        raise InvalidInput(f"{column.name} has times without a day. Correct it, or drop the column.")
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.convert_time_zone("UTC")
    return column.dt.truncate(_UNITS[precision])


def _check_seconds(seconds: pl.Series) -> None:
    invalid = seconds.drop_nulls().filter(~seconds.drop_nulls().is_between(FIRST_SECOND, LAST_SECOND))
    if len(invalid):
        raise InvalidInput(
            f"{seconds.name}: {invalid[0]:.15g} is not a Unix time in seconds between 2000 and 2100. If it is in "
            "milliseconds, divide the column by 1,000. If it is a date, write it like 2026-03-01. Or drop the column."
        )


def _start_of(text: str, column: str, precision: Timestamps) -> str:
    try:
        moment = datetime.fromisoformat(text)
        day = (moment.astimezone(UTC) if moment.tzinfo else moment).date().isoformat()
    except (ValueError, OverflowError):  # the latter by a time zone at the ends of the calendar
        raise InvalidInput(
            f"{column}: {format_value(text)} is not a time in ISO 8601 or Unix seconds. Correct it, or drop the column."
        ) from None
    return day[: len("2026-01")] if precision == "month" else day


def is_coarse(moments: pl.Series, precision: Timestamps) -> bool:
    """Return whether every moment is the beginning of its month or day, and whether there is none for "none".

    Examples
    --------
    >>> is_coarse(pl.Series([1_772_323_200]), "day"), is_coarse(pl.Series([1_772_323_201]), "day")
    (True, False)
    """
    values = moments.drop_nulls().unique()
    return values.is_empty() if precision == "none" else all(_is_begin(value, precision) for value in values)


def _is_begin(value: Any, precision: Timestamps) -> bool:
    if isinstance(value, str) and not value.isdecimal():
        return re.fullmatch(_TEXTS[precision], value) is not None
    if not isinstance(value, date):
        value = datetime.fromtimestamp(float(value), UTC)
    midnight = not isinstance(value, datetime) or value.time() == time()
    return midnight and (precision == "day" or value.day == 1)
