"""Reader of tables from files and from memory."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
from narwhals.exceptions import DuplicateError
from polars.exceptions import PolarsError

from dissensus.errors import InvalidInput, NotFound, Unavailable
from dissensus.files.raw import content, delimited, json_table, limits, parquet


def to_polars(source: Any) -> pl.DataFrame:
    """Return a pandas, polars or Arrow table as a polars one.

    Examples
    --------
    >>> to_polars(pl.DataFrame({"item_id": ["1"]})).columns
    ['item_id']
    """
    if isinstance(source, pl.LazyFrame):
        raise InvalidInput("The table is lazy. Call .collect() on it first.")
    try:
        table: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except ImportError as error:
        missing = error.name or "pyarrow"
        raise Unavailable(
            f"To read a {type(source).__module__.split('.')[0]} table {missing} is needed, and it is not "
            "installed. Install it with: pip install 'dissensus[frames]'"
        ) from None
    except DuplicateError as error:
        raise InvalidInput(f"Two columns have the same name. Rename or drop one of them. ({error})") from None
    except (TypeError, ValueError, OverflowError, PolarsError) as error:
        if hasattr(source, "columns") or hasattr(source, "column_names"):
            raise InvalidInput(f"The table cannot be read: {error}") from None
        raise InvalidInput(
            f"Give the path of a file, or a pandas, polars or Arrow table in memory, not {type(source).__name__}."
        ) from None
    return table


PARSERS: dict[str, Callable[[bytes, Path], pl.DataFrame]] = {
    "csv": partial(delimited.parse, separator=","),
    "tsv": partial(delimited.parse, separator="\t"),
    "json": json_table.parse,
}


def read_frame(source: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a file: csv, tsv, jsonl, json (these also gzipped) or parquet."""
    path = Path(source)
    kind = content.detect_format(path)
    frame = parquet.read(path) if kind == "parquet" else PARSERS[kind](content.read_content(path), path)
    if frame.is_empty():
        raise InvalidInput(f"{path} has no rows.")
    limits.check_rows(frame.height, path)
    return frame


def to_frame(source: Any) -> pl.DataFrame:
    """Return a table from a file or from memory."""
    return read_frame(source) if is_path(source) else to_polars(source)


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
        raise type(error)(f"{Path(source)}: {error}") from None
