"""Reader and writer of red-team attempts."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.raw import content, table_stream, table_writer
from dissensus.files.raw.atomic_write import SHARED
from dissensus.files.raw.json_stream import Progress, stream_records
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.pipeline.release.documents import ATTEMPTS
from dissensus.schema.hints import format_list
from dissensus.schema.records.attempt import KEYS, SCHEMA, Attempt, to_attempts_table
from dissensus.schema.records.attempt_parser import DESCRIPTION_SCORE, RELEASED_SPELLING, parse_attempt, parse_attempts
from dissensus.schema.records.conversation import Conversation
from dissensus.text.transcripts import parse_hh

PUBLISHED_NAMES: Final = (ATTEMPTS, "red_team_attempts.jsonl")
"""Names of the published file, compressed or not, which is one array despite its extension."""

BATCH: Final = 10_000
"""Attempts per table while writing."""

_DISTINCTIVE_KEYS: Final = {"transcript", "task_description", "red_team_member_id"}
_KNOWN_KEYS: Final = {*KEYS, RELEASED_SPELLING}


class ReadAttempts(NamedTuple):
    """Attempts in file order, and notes."""

    attempts: tuple[Attempt, ...]
    notes: tuple[str, ...] = ()


def read_attempts(source: Any) -> ReadAttempts:
    r"""Read red-team attempts.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table. JSON is one array, as published, or JSON Lines; csv, tsv
        and Parquet have the same keys as columns. The key published as ``task_descripton_…`` is read in that spelling
        and in the correct one.

    Returns
    -------
    ReadAttempts
        All attempts. Unknown keys are left out with a note.

    Raises
    ------
    DissensusError
        The file cannot be read, or a record is not an attempt; the message has its number.

    Examples
    --------
    >>> table = pl.DataFrame({
    ...     "transcript": ["\n\nHuman: Be rude.\n\nAssistant: No."], "min_harmlessness_score_transcript": [1.5],
    ...     "num_params": ["52B"], "model_type": ["rlhf"], "rating": [0], "task_description": ["Make it be rude"],
    ...     "task_descripton_harmlessness_score": [0.5], "red_team_member_id": [7], "comment": ["quick"],
    ... })
    >>> (attempt,), notes = read_attempts(table)
    >>> attempt.rating, attempt.task_description_harmlessness_score, attempt.tags
    (0, 0.5, None)
    >>> notes
    ("Left out, because attempts do not have it: 'comment'.",)
    """
    unknown: dict[str, None] = {}
    attempts = tuple(stream_attempts(source, unknown))
    if not attempts:
        raise InvalidInput(f"{source if is_path(source) else 'The table'} has no attempt.")
    return ReadAttempts(attempts, describe_unknown_keys(unknown))


def describe_unknown_keys(unknown: Iterable[str]) -> tuple[str, ...]:
    """Describe the keys that were not read."""
    names = list(unknown)
    return (f"Left out, because attempts do not have it: {format_list(names)}.",) if names else ()


def stream_attempts(
    source: Any, unknown: dict[str, None] | None = None, *, progress: Progress | None = None
) -> Iterator[Attempt]:
    """Stream the attempts of a source; see `read_attempts`.

    Keys that are not read are added to `unknown`. `progress` is called with the share of the source that was read.
    """
    if is_path(source) and content.detect_format(Path(source)) == "json":
        yield from _from_json(Path(source), unknown, progress)
        return
    frame = to_frame(source)
    if unknown is not None:
        unknown |= {name: None for name in frame.columns if name not in _KNOWN_KEYS}
    with name_source(source):
        for row, attempt in enumerate(parse_attempts(frame), start=1):
            if progress is not None:
                progress(row / frame.height)
            yield _check_transcript(attempt, f"Row {row:,}")


def holds_attempts(path: Path) -> bool:
    """Return whether a file holds attempts, by the keys of its first record."""
    is_json = content.detect_format(path) == "json"
    return set(next(stream_records(path), {}) if is_json else to_frame(path).columns) >= _DISTINCTIVE_KEYS


def _from_json(path: Path, unknown: dict[str, None] | None, progress: Progress | None) -> Iterator[Attempt]:
    for number, record in enumerate(stream_records(path, progress=progress), start=1):
        where = f"{path}, record {number:,}"
        if unknown is not None and not record.keys() <= _KNOWN_KEYS:
            unknown |= {key: None for key in record if key not in _KNOWN_KEYS}
        try:
            attempt = parse_attempt(record)
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error}") from None
        yield _check_transcript(attempt, where)


def _check_transcript(attempt: Attempt, where: str) -> Attempt:
    """Raise if the transcript cannot be parsed."""
    try:
        conversation_of(attempt)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    return attempt


def conversation_of(attempt: Attempt) -> Conversation:
    """Parse the transcript of an attempt."""
    return Conversation.from_turns(parse_hh(attempt.transcript))


def write_attempts(
    attempts: Iterable[Attempt], path: Path, *, as_released: bool = False, overwrite: bool = False
) -> None:
    """Write red-team attempts to a file, atomically.

    Parameters
    ----------
    attempts
        One or more.
    path
        The extension determines the format: .json is one array, as published, .jsonl JSON Lines (both also .gz), and
        .csv, .tsv and .parquet a table with the same keys as columns. The names of the published file,
        red_team_attempts.jsonl.gz and red_team_attempts.jsonl, also mean an array.
    as_released
        Use the published spelling of the description score, and write JSON as one array.
    overwrite
        True to replace an existing file.

    Raises
    ------
    InvalidInput
        There is no attempt, or the name has another extension.
    Conflict
        The file exists already.
    Unavailable
        The file cannot be written.
    """
    extension = table_writer.extension_of(path)
    table_writer.check_overwrite(path, overwrite=overwrite)
    iterator = iter(attempts)
    first = next(iterator, None)
    if first is None:
        raise InvalidInput(f"There is no attempt to write to {path}.")
    all_attempts = chain([first], iterator)
    if extension.startswith(".json"):
        lines = extension.startswith(".jsonl") and not as_released and path.name not in PUBLISHED_NAMES
        _write_json(all_attempts, path, lines=lines, as_released=as_released)
    elif extension == ".parquet":
        table_stream.write_parts(
            _tables(all_attempts, as_released=as_released),
            _column_types(as_released),
            path,
            overwrite=overwrite,
            mode=SHARED,
        )
    else:
        table = pl.concat(list(_tables(all_attempts, as_released=as_released)))
        table_writer.write_frame(table.with_columns(_tags_as_text(table["tags"])), path, overwrite=overwrite)


def _write_json(attempts: Iterable[Attempt], path: Path, *, lines: bool, as_released: bool) -> None:
    keys = tuple(_column_types(as_released))
    start, between, end = ("", "\n", "\n") if lines else ("[", ",\n", "]\n")
    with table_stream.open_for_writing(path) as out:
        for number, attempt in enumerate(attempts):
            out.write(((between if number else start) + _json(attempt, keys)).encode())
        out.write(end.encode())


def _json(attempt: Attempt, keys: tuple[str, ...]) -> str:
    values = dict(zip(keys, _VALUES(attempt), strict=True))
    if attempt.rating is not None:
        values["rating"] = float(attempt.rating)  # 4.0, as published
    return json.dumps(values, ensure_ascii=False)


_VALUES: Final = attrgetter(*KEYS)


def _column_types(as_released: bool) -> dict[str, pl.DataType]:
    return {
        RELEASED_SPELLING if as_released and key == DESCRIPTION_SCORE else key: kind for key, kind in SCHEMA.items()
    }


def _tables(attempts: Iterable[Attempt], *, as_released: bool) -> Iterator[pl.DataFrame]:
    iterator = iter(attempts)
    while batch := list(islice(iterator, BATCH)):
        yield to_attempts_table(batch).rename(dict(zip(SCHEMA, _column_types(as_released), strict=True)))


def _tags_as_text(tags: pl.Series) -> pl.Series:
    texts = [None if value is None else json.dumps(value.to_list(), ensure_ascii=False) for value in tags]
    return pl.Series(tags.name, texts, pl.String)
