"""Reader of tables from files and from memory."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from dissensus.errors import InvalidInput, MissingExtra, NotFound
from dissensus.files.raw import content, delimited, json_table, limits, parquet, spreadsheet
from dissensus.files.raw.formulas import unescape_ids
from dissensus.files.raw.json_stream import stream_records
from dissensus.schema.advice import error_message, join_messages
from dissensus.schema.ratings.headers import check_headers


def to_polars(source: Any) -> pl.DataFrame:
    """Return a pandas, polars or Arrow table as a polars one.

    Examples
    --------
    >>> to_polars(pl.DataFrame({"item_id": ["1"]})).columns
    ['item_id']
    """
    if isinstance(source, pl.LazyFrame):
        raise InvalidInput("The table is lazy. Call .collect() on it first.")
    if isinstance(source, list) and source and all(isinstance(row, dict) for row in source):
        source = _from_rows(source)
    table = source if isinstance(source, pl.DataFrame) else _convert(source)
    check_headers(table)
    orders = _find_orders(source)
    return table.with_columns(
        table[name].cast(pl.String).cast(pl.Enum(categories)) for name, categories in orders.items()
    )


def _convert(source: Any) -> pl.DataFrame:
    """Return a table of another library as a polars one."""
    # Imported here, since tables of files need no conversion.
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        table: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except ImportError as error:
        use = f"Reading a {type(source).__module__.split('.')[0]} table"
        raise MissingExtra(use, error.name or "pyarrow", "frames") from None
    except DuplicateError as error:
        raise InvalidInput(f"Two columns have the same name. Rename or drop one of them. ({error})") from None
    except (TypeError, ValueError, OverflowError, PolarsError) as error:
        if hasattr(source, "columns") or hasattr(source, "column_names"):
            raise InvalidInput(f"The table cannot be read: {error}") from None
        raise InvalidInput(
            f"Give the path of a file, or a pandas, polars or Arrow table in memory, or a list of dicts, not "
            f"{type(source).__name__}."
        ) from None
    return table


def _from_rows(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a table of dicts, one per row."""
    try:
        return pl.from_dicts(rows, infer_schema_length=None)
    except (TypeError, ValueError, OverflowError, PolarsError) as error:
        raise InvalidInput(f"The list of dicts cannot be read as a table: {error}") from None


def _find_orders(source: Any) -> dict[str, list[str]]:
    """Return the categories in order of each ordered categorical column of a pandas table."""
    dtypes = getattr(source, "dtypes", None)
    if dtypes is None or not hasattr(dtypes, "items"):
        return {}
    ordered = {str(name): dtype for name, dtype in dtypes.items() if getattr(dtype, "ordered", None) is True}
    return {name: [str(category) for category in dtype.categories] for name, dtype in ordered.items()}


PARSERS: dict[str, Callable[[bytes, Path], pl.DataFrame]] = {
    "csv": partial(delimited.parse, separator=","),
    "tsv": partial(delimited.parse, separator="\t"),
    "json": json_table.parse,
}


BINARY: dict[str, Callable[[Path], pl.DataFrame]] = {"parquet": parquet.read, "xlsx": spreadsheet.read}

ESCAPED: Final = ("csv", "tsv", "xlsx")
"""Formats in which texts may have an apostrophe against formulas of spreadsheets."""


def read_frame(source: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a file: csv, tsv, jsonl, json (these also gzipped), parquet or xlsx."""
    path = Path(source)
    kind = content.detect_format(path)
    frame = BINARY[kind](path) if kind in BINARY else PARSERS[kind](content.read_content(path), path)
    if frame.is_empty():
        raise InvalidInput(f"{path} has no rows.")
    limits.check_rows(frame.height, path)
    with name_source(path):
        check_headers(frame)
    return frame


def to_frame(source: Any) -> pl.DataFrame:
    """Return a table from a file or from memory."""
    return read_frame(source) if is_path(source) else to_polars(source)


def to_plain_frame(source: Any) -> pl.DataFrame:
    """Return a table from a file or from memory, its ids without apostrophes against formulas, to be found in others.

    `read_frame` leaves all texts as they are written, for conversions.
    """
    frame = to_frame(source)
    return unescape_ids(frame) if is_path(source) and content.detect_format(Path(source)) in ESCAPED else frame


def iterate_records(source: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file or a table; those of a JSON file are not in memory together."""
    if is_path(source) and content.detect_format(Path(source)) == "json":
        return stream_records(Path(source))
    return to_frame(source).iter_rows(named=True)


def is_path(source: Any) -> bool:
    """Return whether a source is the path of a file."""
    return isinstance(source, (str, os.PathLike))


@contextmanager
def name_source(source: Any) -> Iterator[None]:
    """Prefix errors with the name of the file."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        if not is_path(source):
            raise
        message = join_messages(f"{Path(source)}:", error_message(error))
        raise type(error)(message, options=error.options) from None
