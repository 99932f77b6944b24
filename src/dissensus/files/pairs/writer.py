"""Writers of pairs: hh-rlhf, tables, TRL, Inspect."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from dissensus.errors import InvalidInput
from dissensus.files.conversations import to_text_column
from dissensus.files.pairs.columns import CHOSEN, MARGIN, PROMPT, REJECTED
from dissensus.files.pairs.reader import STRENGTH
from dissensus.files.pairs.rows import PairRow
from dissensus.files.raw import table_stream, table_writer
from dissensus.files.raw.atomic_write import SHARED
from dissensus.files.raw.table_stream import open_for_writing
from dissensus.schema.hints import format_value
from dissensus.text.messages import write_messages

LINES: Final = (".jsonl", ".jsonl.gz")
BATCH: Final = 5_000
"""Pairs per table while writing."""

NO_INPUT: Final = "nothing comes before the answers, and an Inspect sample has an input"
DIFFERENT_CONTEXTS: Final = "the contexts of the two differ, and an Inspect sample has one input"

SkippedCounts = dict[str, int]
"""Numbers of records that a file cannot hold, by reason."""


def write_hh_rlhf(rows: Iterable[PairRow], path: Path, *, overwrite: bool = False) -> None:
    """Write pairs in the form of hh-rlhf: JSON Lines with the two transcripts."""
    write_lines(({CHOSEN: row.chosen, REJECTED: row.rejected} for row in rows), path, overwrite=overwrite)


def write_trl(
    rows: Iterable[PairRow], path: Path, *, columns: Collection[str] | None = None, overwrite: bool = False
) -> None:
    """Write pairs in the form of TRL: shared chat messages, the rest of each side, and a margin.

    The margin is the strength, or 0 if that is missing. No margins are written if no pair has a column of strengths.
    Without the `columns` of all pairs (`read_pair_columns`) the pairs are held in memory.
    """
    rows, columns = _find_columns(rows, columns)
    margins = not {STRENGTH, MARGIN}.isdisjoint(columns)
    write_lines((_trl(row, margins=margins) for row in rows), path, overwrite=overwrite)


def _find_columns(
    rows: Iterable[PairRow], columns: Collection[str] | None
) -> tuple[Iterable[PairRow], Collection[str]]:
    """Return pairs and the columns that some of them have besides the transcripts."""
    if columns is not None:
        return rows, columns
    rows = list(rows)
    strength = [STRENGTH] * any(row.strength is not None for row in rows)
    return rows, {name: None for row in rows for name in row.extra} | dict.fromkeys(strength)


def _trl(row: PairRow, *, margins: bool) -> dict[str, object]:
    parts = row.parts
    sides = zip((PROMPT, CHOSEN, REJECTED), parts, strict=True)
    sample: dict[str, object] = {name: write_messages(turns) for name, turns in sides}
    return sample | {MARGIN: row.strength or 0.0} if margins else sample


def write_inspect(rows: Iterable[PairRow], path: Path, *, overwrite: bool = False) -> SkippedCounts:
    """Write pairs as Inspect samples: the context as input, the chosen answer as target."""
    skipped: SkippedCounts = {}
    write_lines(_samples(rows, skipped), path, overwrite=overwrite)
    return skipped


def _samples(rows: Iterable[PairRow], skipped: SkippedCounts) -> Iterator[dict[str, object]]:
    for number, row in enumerate(rows, start=1):
        shared, chosen, rejected = row.parts
        reason = NO_INPUT if not shared else DIFFERENT_CONTEXTS if len(chosen) > 1 or len(rejected) > 1 else None
        if reason is not None:
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        yield {
            "id": str(row.extra.get("pair_id") or number),
            "input": write_messages(shared),
            "target": chosen[-1][1],
            "metadata": {REJECTED: rejected[-1][1], STRENGTH: row.strength, **row.extra},
        }


def write_table(
    rows: Iterable[PairRow], path: Path, *, columns: Collection[str] | None = None, overwrite: bool = False
) -> None:
    """Write pairs with all their columns as a table, or as JSON Lines.

    Only JSON Lines are streamed, and Parquet of pairs whose `columns` (`read_pair_columns`) are at most a strength.
    """
    table_writer.check_overwrite(path, overwrite=overwrite)
    iterator = iter(rows)
    first = list(islice(iterator, 1))
    if not first:
        raise _nothing_error(path)
    all_rows = chain(first, iterator)
    extension = table_writer.extension_of(path)
    if extension in LINES:
        write_lines(map(_to_record, all_rows), path, overwrite=overwrite)
    elif extension == ".parquet" and columns is not None and set(columns) in (set(), {STRENGTH}, {MARGIN}):
        schema = {CHOSEN: pl.String(), REJECTED: pl.String(), STRENGTH: pl.Float64()}
        table_stream.write_parts(_tables(all_rows, schema), schema, path, overwrite=overwrite, mode=SHARED)
    else:
        table = _build_table(all_rows)
        table_writer.write_frame(_flat(table, extension), path, overwrite=overwrite)


def _build_table(rows: Iterable[PairRow]) -> pl.DataFrame:
    try:
        return pl.from_dicts(list(map(_to_record, rows)), infer_schema_length=None)
    except (TypeError, ValueError, OverflowError, PolarsError) as error:
        raise InvalidInput(
            f"The columns of the pairs are not those of a table: {format_value(error)}. Correct them, or write .jsonl."
        ) from None


def _to_record(row: PairRow) -> dict[str, Any]:
    return {CHOSEN: row.chosen, REJECTED: row.rejected, STRENGTH: row.strength, **row.extra}


def _flat(table: pl.DataFrame, extension: str) -> pl.DataFrame:
    """Return a table with lists as JSON, except for Parquet."""
    if extension == ".parquet":
        return table
    return table.with_columns(to_text_column(column) for column in table if column.dtype.is_nested())


def _tables(rows: Iterable[PairRow], columns: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield pl.DataFrame([row[: len(columns)] for row in batch], schema=dict(columns), orient="row")


def write_lines(values: Iterable[Mapping[str, object]], path: Path, *, overwrite: bool = False) -> None:
    """Write JSON Lines with the spacing of hh-rlhf, without ASCII escapes."""
    table_writer.extension_of(path, LINES)
    table_writer.check_overwrite(path, overwrite=overwrite)
    iterator = iter(values)
    first = list(islice(iterator, 1))
    if not first:
        raise _nothing_error(path)
    with open_for_writing(path) as out:
        for number, value in enumerate(chain(first, iterator), start=1):
            out.write(_encode(value, number))


def _encode(value: Mapping[str, object], number: int) -> bytes:
    try:
        return (_dump(value) + "\n").encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"Record {number:,} has half of a surrogate pair (like \\ud800), which is not text. Remove it."
        ) from None


def _dump(value: Mapping[str, object]) -> str:
    """Return a record as JSON, with dates and other values that JSON does not have as text tables hold them."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        return json.dumps(_write_non_finite(value), ensure_ascii=False, default=str)


def _write_non_finite(value: object) -> object:
    """Return a value with null for NaN, and infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _write_non_finite(part) for key, part in value.items()}
    return [_write_non_finite(part) for part in value] if isinstance(value, list | tuple) else value


def _nothing_error(path: Path) -> InvalidInput:
    return InvalidInput(f"There is nothing to write to {path}.")
