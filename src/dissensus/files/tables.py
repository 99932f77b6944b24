"""Tables of ratings, from files and from memory."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dissensus.errors import InvalidInput, NotFound
from dissensus.files import content, json_rows, separated
from dissensus.files.frames import to_polars
from dissensus.schema import columns as names
from dissensus.schema.ratings import Ratings

PARSERS: dict[str, Callable[[bytes, Path], pl.DataFrame]] = {
    "csv": partial(separated.parse, separator=","),
    "tsv": partial(separated.parse, separator="\t"),
    "json": json_rows.parse,
}


def read_frame(source: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a file: csv, tsv, jsonl, json (these also gzipped) or parquet.

    Parameters
    ----------
    source
        Path of the file. Its kind is told from its name; compressed content is recognised under any name.

    Returns
    -------
    polars.DataFrame
        From text files all columns are text, exactly as written, with null for empty values.

    Raises
    ------
    NotFound, NotAllowed, InvalidInput
        The file is not there, may not be read, or is not what its name says; with the line where that helps.
    """
    path = Path(source)
    kind = content.kind_of(path)
    if kind == "parquet":
        return _parquet(path)
    frame = PARSERS[kind](content.contents(path), path)
    if frame.is_empty():
        raise InvalidInput(f"{path} has no rows.")
    return frame


def read_ratings(
    source: Any,
    *,
    items: Any = None,
    item: str = names.ITEM_ID,
    rater: str = names.RATER_ID,
    answer: str | None = None,
    questions: Sequence[str] | Literal["all"] | None = None,
    rater_attributes: Sequence[str] = (),
    categories: Sequence[str] | None = None,
) -> Ratings:
    """Read and check ratings.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table: one row per rating.
    items
        Path or table with one row per item, whose columns are joined to `Ratings.items`.
    item, rater, answer, questions, rater_attributes, categories
        As for `Ratings.from_frame`.

    Raises
    ------
    DissensusError
        One of its kinds, as for `read_frame` and `Ratings.from_frame`.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"post": ["a", "a"], "who": ["1", "2"], "label": ["Yes", "No"]})
    >>> read_ratings(table, item="post", rater="who", answer="label")
    Ratings(2 ratings of 1 items by 2 raters; questions: label; axes: none)
    """
    frame = _frame(source)
    with _named(source):
        ratings = Ratings.from_frame(
            frame,
            item=item,
            rater=rater,
            questions=questions,
            answer=answer,
            rater_attributes=rater_attributes,
            categories=categories,
        )
    if items is None:
        return ratings
    table = _frame(items)
    with _named(items):
        return ratings.with_items(table, item=item if item in table.columns else names.ITEM_ID)


def _frame(source: Any) -> pl.DataFrame:
    return read_frame(source) if _is_path(source) else to_polars(source)


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


@contextmanager
def _named(source: Any) -> Iterator[None]:
    """Put the name of the file before what is wrong with its table."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        if not _is_path(source):
            raise
        raise type(error)(f"{Path(source)}: {error}") from None


def _parquet(path: Path) -> pl.DataFrame:
    content.check_parquet(path)
    try:
        return pl.read_parquet(path)
    except (PolarsError, PanicException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(f"{path} is a damaged Parquet file ({reason}). Copy or download it again.") from None
