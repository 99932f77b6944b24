"""Writers of pairs: hh-rlhf, tables, TRL, Inspect."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.pairs.reader import STRENGTH
from dissensus.files.pairs.rows import CHOSEN, MARGIN, PROMPT, REJECTED, PairRow
from dissensus.files.raw import table_stream, table_writer
from dissensus.files.raw.table_stream import open_for_writing
from dissensus.text.messages import write_messages

LINES: Final = (".jsonl", ".jsonl.gz")
BATCH: Final = 5_000
"""Pairs that are held as a table at a time while they are written."""

NO_INPUT: Final = "nothing comes before the answers, and an Inspect sample has an input"
DIFFERENT_CONTEXTS: Final = "the contexts of the two differ, and an Inspect sample has one input"

SkippedCounts = dict[str, int]
"""How many pairs a file has no place for, by reason."""


def write_hh_rlhf(rows: Iterable[PairRow], path: Path, *, overwrite: bool = False) -> None:
    """Write pairs as hh-rlhf has them: an object a line, with the two transcripts and nothing else."""
    write_lines(({CHOSEN: row.chosen, REJECTED: row.rejected} for row in rows), path, overwrite=overwrite)


def write_trl(rows: Iterable[PairRow], path: Path, *, overwrite: bool = False) -> None:
    """Write pairs as TRL trains on them: chat messages that both share, the rest of each, and a margin.

    The margin is the strength, 0 where nobody said one; without any strength in the first pair there is none, and TRL
    trains without margins.
    """
    given = iter(rows)
    first = list(islice(given, 1))
    margins = any(row.strength is not None or STRENGTH in row.others for row in first)
    write_lines((_trl(row, margins=margins) for row in chain(first, given)), path, overwrite=overwrite)


def _trl(row: PairRow, *, margins: bool) -> dict[str, object]:
    parts = row.parts
    sides = zip((PROMPT, CHOSEN, REJECTED), parts, strict=True)
    sample: dict[str, object] = {name: write_messages(turns) for name, turns in sides}
    return sample | {MARGIN: row.strength or 0.0} if margins else sample


def write_inspect(rows: Iterable[PairRow], path: Path, *, overwrite: bool = False) -> SkippedCounts:
    """Write pairs as samples of Inspect: the conversation so far as input, the chosen answer as target."""
    lost: SkippedCounts = {}
    write_lines(_samples(rows, lost), path, overwrite=overwrite)
    return lost


def _samples(rows: Iterable[PairRow], lost: SkippedCounts) -> Iterator[dict[str, object]]:
    for number, row in enumerate(rows, start=1):
        shared, chosen, rejected = row.parts
        why = NO_INPUT if not shared else DIFFERENT_CONTEXTS if len(chosen) > 1 or len(rejected) > 1 else None
        if why is not None:
            lost[why] = lost.get(why, 0) + 1
            continue
        yield {
            "id": str(row.others.get("pair_id") or number),
            "input": write_messages(shared),
            "target": chosen[-1][1],
            "metadata": {REJECTED: rejected[-1][1], STRENGTH: row.strength, **row.others},
        }


def write_table(rows: Iterable[PairRow], path: Path, *, overwrite: bool = False) -> None:
    """Write pairs as a table, or as JSON Lines, with everything that is known of them."""
    table_writer.check_overwrite(path, overwrite=overwrite)
    given = iter(rows)
    first = list(islice(given, 1))
    every = chain(first, given)
    extension = table_writer.extension_of(path)
    if extension in LINES:
        write_lines(map(_whole, every), path, overwrite=overwrite)
    elif extension == ".parquet" and not any(row.others for row in first):
        columns = {CHOSEN: pl.String(), REJECTED: pl.String(), STRENGTH: pl.Float64()}
        table_stream.write_parts(_tables(every, columns), columns, path, overwrite=overwrite)
    else:
        table_writer.write_frame(
            _flat(pl.from_dicts(list(map(_whole, every)), infer_schema_length=None), extension), path
        )


def _whole(row: PairRow) -> dict[str, Any]:
    return {CHOSEN: row.chosen, REJECTED: row.rejected, STRENGTH: row.strength, **row.others}


def _flat(table: pl.DataFrame, extension: str) -> pl.DataFrame:
    """Return a table whose lists are JSON, where the encoding has none."""
    if extension == ".parquet":
        return table
    nested = [column for column in table if column.dtype.is_nested()]
    return table.with_columns(
        pl.Series(column.name, [json.dumps(value, ensure_ascii=False) for value in column.to_list()])
        for column in nested
    )


def _tables(rows: Iterable[PairRow], columns: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    given = iter(rows)
    while batch := list(islice(given, BATCH)):
        yield pl.DataFrame([row[: len(columns)] for row in batch], schema=dict(columns), orient="row")


def write_lines(values: Iterable[Mapping[str, object]], path: Path, *, overwrite: bool = False) -> None:
    """Write an object a line, with the spaces of hh-rlhf and letters as they are."""
    table_writer.extension_of(path, LINES)
    table_writer.check_overwrite(path, overwrite=overwrite)
    given = iter(values)
    first = list(islice(given, 1))
    if not first:
        raise InvalidInput(f"There is nothing to write to {path}.")
    with open_for_writing(path) as out:
        for value in chain(first, given):
            out.write((json.dumps(value, ensure_ascii=False) + "\n").encode())
