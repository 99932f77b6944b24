"""Readers of single columns: ids, answers, attributes, times and flags as text, codes or numbers.

Each passes failed checks to a report. If the report does not raise, invalid values become null, or -1 among codes.
"""

import math
import re
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.findings import CheckReport, FailedCheck, to_row_indices

FLAG_VALUES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

DECIMAL = re.compile(r"^\d+(\.0+|(\.\d+)?[eE]\+?\d+)$")
MANY_VALUES = 1000
"""Distinct values of a column beyond which it is not searched for groups."""
_TEXT = (pl.String, pl.Categorical, pl.Enum)
WHOLE = r"^-?\d+\.0+$"
"""Pattern of ids that a program has taken for numbers."""

NORMALISE = Advice(
    "To read other spellings of the same answer: --normalise (in Python: normalise=True).",
    site="Write each answer in one way.",
)
CATEGORIES = Advice(
    "Correct the file, or name the answers in order with --categories (in Python: categories=[...]).",
    site="Correct the file.",
)

Rows: TypeAlias = NDArray[np.int64]


def read_ids(column: pl.Series, report: CheckReport, *, trim: bool = True) -> pl.Series:
    """Return ids as text, without surrounding spaces."""
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
    if _have_decimals(text):
        raise InvalidInput(
            f"The ids in column {name} are written as decimal numbers (row 1: {format_value(text[0])}): a program has "
            "taken them for numbers, and large ones are rounded. Go back to the original file and read the ids as text."
        )
    if trim:
        text = text.str.strip_chars()
        _check_spelling_of_numbers(text, report)
    missing = (text.is_null() | (text == "")).arg_true()
    if not len(missing):
        return text
    report(
        FailedCheck(
            check="missing id",
            column=name,
            rows=to_row_indices(missing),
            value=lambda _: None,
            message=lambda row: f"Row {row + 1:,}: {name} is empty.",
            allowed="Every rating needs the ids of its item and its rater.",
            remedy="Fill it in or drop the row.",
        )
    )
    return text.set(text == "", None)


def are_plain_ids(values: pl.Series) -> bool:
    """Return whether no id is missing, in spaces or a decimal number, so that `read_ids` returns them as they are."""
    is_decimal = values.str.contains(f"{DECIMAL.pattern}|{WHOLE}")
    is_plain = (values != "") & (values.str.strip_chars() == values) & ~is_decimal
    return bool(is_plain.fill_null(value=False).all())


def _check_spelling_of_numbers(ids: pl.Series, report: CheckReport) -> None:
    """Report ids like 1.0 that are also written as 1."""
    if not ids.str.contains(".0", literal=True).any():
        return
    decimal = ids.filter(ids.str.contains(WHOLE)).unique()
    spelt = pl.DataFrame({"decimal": decimal, "whole": decimal.str.replace(r"\.0+$", "")})
    spelt = spelt.filter(spelt["whole"].is_in(ids.unique().implode()))
    if spelt.is_empty():
        return
    whole = dict(spelt.iter_rows())
    report(
        FailedCheck(
            check="id written in two ways",
            column=ids.name,
            rows=to_row_indices(ids.is_in(spelt["decimal"].implode()).fill_null(value=False).arg_true()),
            value=ids.__getitem__,
            message=lambda row: (
                f"Row {row + 1:,}: {ids.name} is {format_value(ids[row])}, and other rows have "
                f"{format_value(whole[ids[row]])}."
            ),
            allowed="These would be two ids.",
            remedy="Write each id in one way. Was one of two joined tables read as numbers? Read its ids as text.",
        )
    )


def _have_decimals(text: pl.Series) -> bool:
    """Return whether all ids are formatted as decimal numbers; an id like 1e5 alone is valid."""
    first = text[0] if len(text) else None
    if first is None or not DECIMAL.match(first):
        return False
    ids = text.drop_nulls()
    return bool(ids.str.contains(DECIMAL.pattern).all() and ids.str.contains(".", literal=True).any())


def encode_values(text: pl.Series, distinct: pl.Series | None = None) -> tuple[pl.Series, NDArray[np.int64]]:
    """Return the sorted distinct values, and the index of each row's value among them, -1 for null.

    `distinct` are the distinct values, if they are known, in any order.
    """
    values = (text.unique() if distinct is None else distinct).drop_nulls().sort()
    return values, text.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def to_text(column: pl.Series) -> pl.Series:
    """Return answers or attributes as text, null if missing or empty; floats become integers if all are whole."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration):
        raise InvalidInput(f"Column {column.name} holds {column.dtype}, not one value a row. Make it text first.")
    if column.dtype.is_float():
        column = column.fill_nan(None)
        integers = column.cast(pl.Int64, strict=False)
        is_whole = (integers.is_null() == column.is_null()).all() and (integers == column).all()
        column = integers if is_whole else column
    text = column.cast(pl.String)
    return text.set(text == "", None) if (text == "").any() else text


def read_answers(
    column: pl.Series, scale: tuple[str, ...], report: CheckReport, *, spelling_differs: bool = False
) -> pl.Series:
    """Return answers as an Enum of their scale."""
    coded = column.cast(pl.Enum(scale), strict=False)
    if coded.null_count() == column.null_count():
        return coded

    def describe(row: int) -> str:
        value = column[row]
        return f"Row {row + 1:,}: {format_value(value)} is not an answer to {column.name}.{suggest(value, scale)}"

    report(
        FailedCheck(
            check="unknown answer",
            column=column.name,
            rows=to_row_indices((coded.is_null() & column.is_not_null()).arg_true()),
            value=column.__getitem__,
            message=describe,
            allowed=f"Allowed are {format_list(scale)}.",
            remedy=NORMALISE if spelling_differs else CATEGORIES,
            options=("--normalise",) if spelling_differs else (),
        )
    )
    return coded


def read_times(column: pl.Series, report: CheckReport) -> pl.Series:
    """Return durations in milliseconds."""
    return _read_numbers(column, report, "impossible time", "A time is a number of milliseconds, 0 or more.")


def read_shares(column: pl.Series, report: CheckReport) -> pl.Series:
    """Return shares from 0 to 1."""
    return _read_numbers(column, report, "impossible share", "A share is a number from 0 to 1.", most=1)


def _read_numbers(
    column: pl.Series, report: CheckReport, check: str, allowed: str, most: float = math.inf
) -> pl.Series:
    """Return numbers from 0 to a limit, null for others, which are reported."""
    text = to_text(column)
    numbers = text.cast(pl.Float64, strict=False)
    invalid = (numbers.is_null() & text.is_not_null()) | (numbers < 0) | (numbers > most) | ~numbers.is_finite()
    if not invalid.any():
        return numbers
    report(
        FailedCheck(
            check=check,
            column=column.name,
            rows=to_row_indices(invalid.fill_null(value=False).arg_true()),
            value=text.__getitem__,
            message=lambda row: f"Row {row + 1:,}: {column.name} is {format_value(text[row])}.",
            allowed=allowed,
            remedy="Correct it, or leave it empty where it is not known.",
        )
    )
    return numbers.set(invalid.fill_null(value=False), None)


def read_attribute(
    column: pl.Series, codes: NDArray[np.int64], owners: pl.Series, owner_kind: str, report: CheckReport
) -> pl.Series:
    """Return the value of each owner (a rater or an item) in a column, null if all its rows are empty."""
    column = to_text(column)
    filled = np.flatnonzero(column.is_not_null().to_numpy() & (codes >= 0))[::-1]
    first = np.full(len(owners), -1, dtype=np.int64)
    first[codes[filled]] = filled  # in reverse order, so that the first row of each owner is written last
    rows = pl.Series(first, dtype=pl.Int64).replace(-1, None)
    value = column.gather(rows)
    expected = value.gather(pl.Series(codes).replace(-1, None)) if (codes < 0).any() else value.gather(codes)
    differs = (column != expected).arg_true()
    if not len(differs):
        return value

    def describe(row: int) -> str:
        owner = int(codes[row])
        return (
            f"{owner_kind.capitalize()} {format_value(owners[owner])} has two values of {column.name}: "
            f"{format_value(value[owner])} in row {first[owner] + 1:,} and {format_value(column[row])} in row "
            f"{row + 1:,}."
        )

    report(
        FailedCheck(
            check=f"{owner_kind} with two values",
            column=column.name,
            rows=to_row_indices(differs),
            value=column.__getitem__,
            message=describe,
            allowed=f"Each {owner_kind} has one.",
            remedy="Correct the file or drop the column.",
        )
    )
    return value


def read_flags(column: pl.Series, codes: NDArray[np.int64], raters: pl.Series, report: CheckReport) -> pl.Series:
    """Return whether each rater is flagged, null if unknown."""
    text = to_text(column)
    flag_of = {value: FLAG_VALUES.get(value.lower()) for value in text.unique().drop_nulls()}
    words = [None if flag is None else str(flag).lower() for flag in flag_of.values()]
    flags = text.replace_strict(list(flag_of), words, default=None, return_dtype=pl.String)
    invalid = flags.is_null().arg_true()
    if len(invalid):
        report(
            FailedCheck(
                check="unknown flag",
                column=column.name,
                rows=to_row_indices(invalid),
                value=text.__getitem__,
                message=lambda row: (
                    f"Row {row + 1:,}: {column.name} is {'empty' if text[row] is None else format_value(text[row])}."
                ),
                allowed="Allowed are true, false, 1, 0, yes and no, in every row.",
                remedy="Correct it or drop the column.",
            )
        )
    return read_attribute(flags, codes, raters, "rater", report) == "true"
