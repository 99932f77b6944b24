"""Tables, from files and from memory."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw import content, delimited, json_table, parquet
from dissensus.files.raw.frames import to_polars

PARSERS: dict[str, Callable[[bytes, Path], pl.DataFrame]] = {
    "csv": partial(delimited.parse, separator=","),
    "tsv": partial(delimited.parse, separator="\t"),
    "json": json_table.parse,
}


def read_frame(source: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a file: csv, tsv, jsonl, json (these also gzipped) or parquet."""
    path = Path(source)
    kind = content.kind_of(path)
    frame = parquet.read(path) if kind == "parquet" else PARSERS[kind](content.contents(path), path)
    if frame.is_empty():
        raise InvalidInput(f"{path} has no rows.")
    return frame


def frame_of(source: Any) -> pl.DataFrame:
    """Return a table from a file or from memory."""
    return read_frame(source) if is_path(source) else to_polars(source)


def is_path(source: Any) -> bool:
    """Tell whether a source is the path of a file."""
    return isinstance(source, (str, os.PathLike))


@contextmanager
def named(source: Any) -> Iterator[None]:
    """Put the name of the file before what is wrong with its table."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        if not is_path(source):
            raise
        raise type(error)(f"{Path(source)}: {error}") from None
