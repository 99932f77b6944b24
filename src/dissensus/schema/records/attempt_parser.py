"""Parser of red-team attempts from JSON values, or from text columns."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.records.attempt import KEYS, Attempt

DESCRIPTION_SCORE: Final = "task_description_harmlessness_score"

RELEASED_SPELLING: Final = "task_descripton_harmlessness_score"
"""Spelling of the published file."""

_OPTIONAL: Final = {"is_upworker", "tags"}


def parse_attempt(record: Mapping[str, object]) -> Attempt:
    """Parse an attempt; numbers, Booleans and lists may be text, and unknown keys are ignored.

    Examples
    --------
    >>> record = {
    ...     "transcript": "...", "min_harmlessness_score_transcript": "-0.5", "num_params": "52B", "model_type": "rlhf",
    ...     "rating": 4.0, "task_description": "", "task_descripton_harmlessness_score": 1, "red_team_member_id": "12",
    ... }
    >>> attempt = parse_attempt(record)
    >>> attempt.rating, attempt.task_description_harmlessness_score, attempt.red_team_member_id
    (4, 1.0, 12)
    """
    values = _correct_spelling(record)
    missing = [key for key in KEYS if key not in values and key not in _OPTIONAL]
    if missing:
        hint = suggest(missing[0], [key for key in values if key not in KEYS])
        raise InvalidInput(f"there is no {format_list(missing)}. An attempt has {', '.join(KEYS)}.{hint}")
    return Attempt(**{key: read(key, values.get(key)) for key, read in _READERS.items()})


def parse_attempts(table: pl.DataFrame) -> Iterator[Attempt]:
    """Yield the attempts of a table; an error names the row."""
    for row, values in enumerate(table.iter_rows(named=True), start=1):
        try:
            yield parse_attempt(values)
        except InvalidInput as error:
            raise InvalidInput(f"Row {row:,}: {error}") from None


def _correct_spelling(record: Mapping[str, object]) -> Mapping[str, object]:
    if RELEASED_SPELLING not in record:
        return record
    score = record[RELEASED_SPELLING]
    if record.get(DESCRIPTION_SCORE, score) != score:
        raise InvalidInput(f"{DESCRIPTION_SCORE} occurs in both spellings, with two values. Keep one.")
    return {**record, DESCRIPTION_SCORE: score}


def _text(key: str, value: object) -> str:
    # Readers of delimited text, and of Parquet made of it, read empty text as missing.
    if value is None and key in {"task_description", "model_type"}:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{key} is {_format(value)}; it is text.")
    return value


def _optional_text(key: str, value: object) -> str | None:
    return None if value is None else _text(key, value)


def _number(key: str, value: object) -> float | None:
    if value is None or (isinstance(value, str) and not value):
        return None
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"{key} is {_format(value)}; it is a number, or null where nothing was scored.")


def parse_whole_number(key: str, value: object) -> int | None:
    """Parse a whole number that may be text; None for null or an empty text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        # A float would round long numbers.
        with suppress(ValueError):
            return int(value)
    number = _number(key, value)
    if number is not None and not number.is_integer():
        raise InvalidInput(f"{key} is {_format(value)}; it is a whole number.")
    return None if number is None else int(number)


def _boolean(key: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    values = {"true": True, "false": False, "": None}
    if isinstance(value, str) and value.lower() in values:
        return values[value.lower()]
    raise InvalidInput(f"{key} is {_format(value)}; it is true, false or null.")


def parse_tags(key: str, value: object) -> tuple[str, ...] | None:
    """Parse a list of texts that may be JSON; None for null or an empty text."""
    tags = value
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            tags = json.loads(value)
    if tags is None or tags == "":
        return None
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidInput(
            f"{key} is {_format(value)}; it is a list of texts, or null where nobody reviewed the attempt."
        )
    return tuple(tags)


def _format(value: object) -> str:
    return "null" if value is None else format_value(value)


_READERS: Final[Mapping[str, Callable[[str, object], Any]]] = dict(
    zip(
        KEYS,
        (
            _text,
            _number,
            _optional_text,
            _text,
            parse_whole_number,
            _text,
            _number,
            parse_whole_number,
            _boolean,
            parse_tags,
        ),
        strict=True,
    )
)
