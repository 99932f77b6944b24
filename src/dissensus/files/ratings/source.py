"""Reader of a file or table in memory with ratings of any kind as a long table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.ratings.conversion import check_options
from dissensus.files.ratings.kinds import KINDS, Notes, RatingsFileOptions, get_kind, lewidi, long
from dissensus.files.raw import content, json_table
from dissensus.files.raw.table_reader import is_path, name_source, to_plain_frame
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_guesses import guess_column
from dissensus.schema.ratings.headers import strip_headers

BEGINNING = 2**20
"""Bytes within which the first entry of a LeWiDi file has its annotations."""

Report = Callable[[InvalidInput], None]


class RatingsSource(NamedTuple):
    """A long table, the kind that it was converted from, if any, and notes."""

    frame: pl.DataFrame
    kind: str | None = None
    notes: Notes = ()


def load_source(
    source: Any, options: RatingsFileOptions, *, kind: str | None = None, report: Report | None = None
) -> RatingsSource:
    """Return a source as a long table with its own column names, or with the standard ones if it is converted.

    Faulty LeWiDi entries are reported and left out, or raised without `report`.
    """
    if kind is not None:
        get_kind(kind)
    entries = _read_entries(source) if is_path(source) and kind in (None, "lewidi") else None
    if entries is not None:
        return _from_entries(source, entries, options, report)
    if kind == "lewidi":
        raise InvalidInput(f"{source} is not a LeWiDi file: one JSON object with an entry for each item.")
    if options.annotators is not None:
        raise InvalidInput(f"--annotators is an option of LeWiDi files, and {_name(source)} is not one. Leave it out.")
    frame = to_plain_frame(source)
    is_wide = kind == "wide" or options.rater_columns is not None or options.item_columns is not None
    if not is_wide and (kind is not None or not _may_be_wide(strip_headers(frame)[0], options)):
        return RatingsSource(frame)
    try:
        with name_source(source):
            check_options(_wide_options(options), KINDS["wide"].read_options, f"{_name(source)} is wide")
            table, notes = KINDS["wide"].read(long.normalise(frame), _wide_options(options))
    except DissensusError:
        if is_wide:
            raise
        return RatingsSource(frame)
    return RatingsSource(table, "wide", notes)


def _wide_options(options: RatingsFileOptions) -> RatingsFileOptions:
    """Return the options without standard names of ids, which name columns of the long table after conversion."""
    return RatingsFileOptions(
        item=None if options.item == names.ITEM_ID else options.item,
        rater=None if options.rater == names.RATER_ID else options.rater,
        answer=options.answer,
        question=options.question,
        rater_columns=options.rater_columns,
        item_columns=options.item_columns,
    )


def _read_entries(source: Any) -> lewidi.Entries | None:
    path = Path(source)
    if content.detect_format(path) != "json":
        return None
    data = content.read_content(path)
    # A large object that holds no annotations is not decoded at once.
    if b'"annotations"' not in data[:BEGINNING]:
        return None
    value = json_table.one_object(data, path)
    return value if lewidi.is_lewidi(value) else None


def _from_entries(
    source: Any, entries: lewidi.Entries, options: RatingsFileOptions, report: Report | None
) -> RatingsSource:
    own_options = _wide_options(options)
    check_options(own_options, KINDS["lewidi"].read_options, f"{_name(source)} is lewidi")
    with name_source(source):
        table, notes = lewidi.read(entries, annotators=options.annotators, question=options.question, report=report)
    return RatingsSource(long.normalise(table), "lewidi", notes)


def _may_be_wide(frame: pl.DataFrame, options: RatingsFileOptions) -> bool:
    """Return whether a table has neither raters nor answers of a long one."""
    return (
        options.rater == names.RATER_ID
        and options.rater not in frame.columns
        and options.answer is None
        and not any(names.is_question(name) for name in frame.columns)
        and guess_column("rater", frame) is None
    )


def _name(source: Any) -> str:
    return str(source) if is_path(source) else "the table"
