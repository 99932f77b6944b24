"""Single columns of a table on their way in: ids, answers, attributes and flags as text or codes."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.hints import did_you_mean, listed, more, shown

FLAG_VALUES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

_TEXT = (pl.String, pl.Categorical, pl.Enum)


def ids(column: pl.Series) -> pl.Series:
    """Return ids as text, or say which row has none.

    Raises
    ------
    InvalidInput
        An id is missing or empty, or the column holds something else than text or whole numbers.
    """
    if column.dtype.is_float():
        raise InvalidInput(
            f"Column {column.name} holds decimal numbers (row 1: {column[0]}), so its ids are no longer "
            "what they were: large ones are rounded. Read the column as text, "
            f"in pandas with dtype={{{column.name!r}: str}}."
        )
    if not (column.dtype in _TEXT or column.dtype.is_integer() or column.dtype == pl.Null):
        raise InvalidInput(f"Column {column.name} holds {column.dtype}; ids are text or whole numbers.")
    text = column.cast(pl.String)
    missing = (text.is_null() | (text == "")).arg_true()
    if len(missing):
        raise InvalidInput(
            f"Row {missing[0] + 1:,}: {column.name} is empty. Every rating needs the ids of its item and its "
            f"rater; fill it in or drop the row.{more(len(missing) - 1, 'such row')}"
        )
    return text


def encode(text: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """Return the sorted distinct values, and for each row the index of its value among them."""
    values = text.unique().sort()
    return values, text.cast(pl.Enum(values)).to_physical().to_numpy().astype(np.int64)


def text(column: pl.Series) -> pl.Series:
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


def answers(column: pl.Series, scale: tuple[str, ...]) -> pl.Series:
    """Return answers as an Enum of their scale.

    Raises
    ------
    InvalidInput
        An answer is not on the scale.
    """
    coded = column.cast(pl.Enum(scale), strict=False)
    if coded.null_count() == column.null_count():
        return coded
    unknown = (coded.is_null() & column.is_not_null()).arg_true()
    value = column[int(unknown[0])]
    raise InvalidInput(
        f"Row {unknown[0] + 1:,}: {shown(value)} is not an answer to {column.name}. Allowed are "
        f"{listed(scale)}.{did_you_mean(value, scale)}{more(len(unknown) - 1, 'such row')} "
        f"Correct the file, or name the answers in order with --categories (in Python: categories=[...])."
    )


def constant(column: pl.Series, codes: NDArray[np.int64], owners: pl.Series, who: str) -> pl.Series:
    """Return the one value that each owner (a rater or an item) has in the column, null where it has none.

    Rows that leave it empty take no part: the other rows of the same owner tell.

    Raises
    ------
    InvalidInput
        An owner has two different values.
    """
    column = text(column)
    given = column.is_not_null().arg_true().to_numpy()[::-1]
    first = np.full(len(owners), -1, dtype=np.int64)
    first[codes[given]] = given  # reversed above, so the first row of each owner is written last and stays
    rows = pl.Series(first, dtype=pl.Int64).replace(-1, None)
    value = column.gather(rows)
    differs = (column != value.gather(codes)).arg_true()
    if not len(differs):
        return value
    row = int(differs[0])
    owner = int(codes[row])
    raise InvalidInput(
        f"{who.capitalize()} {shown(owners[owner])} has two values of {column.name}: "
        f"{shown(value[owner])} in row {first[owner] + 1:,} and {shown(column[row])} in row {row + 1:,}. "
        f"Each {who} has one; correct the file or drop the column.{more(len(differs) - 1, 'such row')}"
    )


def flags(column: pl.Series, codes: NDArray[np.int64], raters: pl.Series) -> pl.Series:
    """Return whether each rater is flagged.

    Raises
    ------
    InvalidInput
        A value is missing or not one of true, false, 1, 0, yes and no, or a rater has both.
    """
    given = text(column)
    read = given.str.to_lowercase().replace_strict(FLAG_VALUES, default=None, return_dtype=pl.Boolean)
    wrong = read.is_null().arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInput(
            f"Row {row + 1:,}: {column.name} is {'empty' if given[row] is None else shown(given[row])}. "
            f"Allowed are true, false, 1, 0, yes and no, in every row.{more(len(wrong) - 1, 'such row')}"
        )
    return constant(read, codes, raters, "rater") == "true"
