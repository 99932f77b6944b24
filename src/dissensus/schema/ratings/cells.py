"""Readers of single columns: ids, answers, attributes, times and flags as text, codes or numbers.

Each takes a report and hands it what is wrong. Where the report does not raise, what could not be read is null, or -1
among codes.
"""

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.findings import CheckReport, FailedCheck, to_row_indices

FLAG_VALUES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

DECIMAL = re.compile(r"^\d+(\.0+|(\.\d+)?[eE]\+?\d+)$")
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def read_ids(column: pl.Series, report: CheckReport) -> pl.Series:
    """Return ids as text."""
    name = column.name
    if column.dtype.is_float():
        raise InvalidInput(
            f"Column {name} holds decimal numbers (row 1: {column[0]}), so its ids are no longer "
            "what they were: large ones are rounded. Read the column as text, "
            f"in pandas with dtype={{{name!r}: str}}."
        )
    if not (column.dtype in _TEXT or column.dtype.is_integer() or column.dtype == pl.Null):
        raise InvalidInput(f"Column {name} holds {column.dtype}; ids are text or whole numbers.")
    text = column.cast(pl.String)
    if _were_numbers(text):
        raise InvalidInput(
            f"The ids in column {name} are written as decimal numbers (row 1: {format_value(text[0])}): a program has "
            "taken "
            "them for numbers, and large ones are rounded. Go back to the file as it was, and read the ids as text."
        )
    missing = (text.is_null() | (text == "")).arg_true()
    if not len(missing):
        return text
    report(
        FailedCheck(
            check="missing id",
            column=name,
            rows=to_row_indices(missing),
            value=lambda _: None,
            what=lambda row: f"Row {row + 1:,}: {name} is empty.",
            allowed="Every rating needs the ids of its item and its rater.",
            remedy="Fill it in or drop the row.",
        )
    )
    return text.set(text == "", None)


def _were_numbers(text: pl.Series) -> bool:
    """Tell whether all ids are written as programs write decimal numbers; an id like 1e5 alone is just an id."""
    first = text[0] if len(text) else None
    if first is None or not DECIMAL.match(first):
        return False
    given = text.drop_nulls()
    return bool(given.str.contains(DECIMAL.pattern).all() and given.str.contains(".", literal=True).any())


def encode_values(text: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """Return the sorted distinct values, and for each row the index of its value among them, -1 for null."""
    values = text.drop_nulls().unique().sort()
    return values, text.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def to_text(column: pl.Series) -> pl.Series:
    """Return answers or attributes as text, with null for what is missing or empty.

    Whole numbers that a missing value has turned into floats are written as whole numbers again.
    """
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration):
        raise InvalidInput(f"Column {column.name} holds {column.dtype}, not one value a row. Make it text first.")
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.cast(pl.Int64, strict=False)
        column = whole if (whole.is_null() == column.is_null()).all() and (whole == column).all() else column
    written = column.cast(pl.String)
    return written.set(written == "", None) if (written == "").any() else written


def read_answers(column: pl.Series, scale: tuple[str, ...], report: CheckReport) -> pl.Series:
    """Return answers as an Enum of their scale."""
    coded = column.cast(pl.Enum(scale), strict=False)
    if coded.null_count() == column.null_count():
        return coded

    def what(row: int) -> str:
        given = column[row]
        return f"Row {row + 1:,}: {format_value(given)} is not an answer to {column.name}.{suggest(given, scale)}"

    report(
        FailedCheck(
            check="unknown answer",
            column=column.name,
            rows=to_row_indices((coded.is_null() & column.is_not_null()).arg_true()),
            value=column.__getitem__,
            what=what,
            allowed=f"Allowed are {format_list(scale)}.",
            remedy="Correct the file, or name the answers in order with --categories (in Python: categories=[...]).",
        )
    )
    return coded


def read_times(column: pl.Series, report: CheckReport) -> pl.Series:
    """Return durations in milliseconds."""
    given = to_text(column)
    read = given.cast(pl.Float64, strict=False)
    wrong = (read.is_null() & given.is_not_null()) | (read < 0) | ~read.is_finite()
    if not wrong.any():
        return read
    report(
        FailedCheck(
            check="impossible time",
            column=column.name,
            rows=to_row_indices(wrong.fill_null(value=False).arg_true()),
            value=given.__getitem__,
            what=lambda row: f"Row {row + 1:,}: {column.name} is {format_value(given[row])}.",
            allowed="A time is a number of milliseconds, 0 or more.",
            remedy="Correct it, or leave it empty where it is not known.",
        )
    )
    return read.set(wrong.fill_null(value=False), None)


def read_attribute(
    column: pl.Series, codes: NDArray[np.int64], owners: pl.Series, who: str, report: CheckReport
) -> pl.Series:
    """Return the one value that each owner (a rater or an item) has in the column, null where it has none.

    Rows that leave it empty, or have no owner, take no part: the other rows of the same owner tell.
    """
    column = to_text(column)
    given = np.flatnonzero(column.is_not_null().to_numpy() & (codes >= 0))[::-1]
    first = np.full(len(owners), -1, dtype=np.int64)
    first[codes[given]] = given  # reversed above, so the first row of each owner is written last and stays
    rows = pl.Series(first, dtype=pl.Int64).replace(-1, None)
    value = column.gather(rows)
    expected = value.gather(pl.Series(codes).replace(-1, None)) if (codes < 0).any() else value.gather(codes)
    differs = (column != expected).arg_true()
    if not len(differs):
        return value

    def what(row: int) -> str:
        owner = int(codes[row])
        return (
            f"{who.capitalize()} {format_value(owners[owner])} has two values of {column.name}: "
            f"{format_value(value[owner])} in row {first[owner] + 1:,} and {format_value(column[row])} in row "
            f"{row + 1:,}."
        )

    report(
        FailedCheck(
            check=f"{who} with two values",
            column=column.name,
            rows=to_row_indices(differs),
            value=column.__getitem__,
            what=what,
            allowed=f"Each {who} has one.",
            remedy="Correct the file or drop the column.",
        )
    )
    return value


def read_flags(column: pl.Series, codes: NDArray[np.int64], raters: pl.Series, report: CheckReport) -> pl.Series:
    """Return whether each rater is flagged, null where it cannot be told."""
    given = to_text(column)
    read = given.str.to_lowercase().replace_strict(FLAG_VALUES, default=None, return_dtype=pl.Boolean)
    wrong = read.is_null().arg_true()
    if len(wrong):
        report(
            FailedCheck(
                check="unknown flag",
                column=column.name,
                rows=to_row_indices(wrong),
                value=given.__getitem__,
                what=lambda row: (
                    f"Row {row + 1:,}: {column.name} is {'empty' if given[row] is None else format_value(given[row])}."
                ),
                allowed="Allowed are true, false, 1, 0, yes and no, in every row.",
                remedy="Correct it or drop the column.",
            )
        )
    return read_attribute(read, codes, raters, "rater", report) == "true"
