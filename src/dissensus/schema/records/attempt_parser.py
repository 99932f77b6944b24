"""Attempts from what files hold of them: JSON values, or text where the file has nothing else."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import suggest, format_list, format_value
from dissensus.schema.records.attempt import KEYS, Attempt

DESCRIPTION_SCORE: Final = "task_description_harmlessness_score"

AS_RELEASED: Final = "task_descripton_harmlessness_score"
"""How the published file spells it."""

_OPTIONAL: Final = {"is_upworker", "tags"}


def attempt_from(record: Mapping[str, object]) -> Attempt:
    """Return the attempt that a record of a file is.

    Examples
    --------
    >>> record = {
    ...     "transcript": "...", "min_harmlessness_score_transcript": "-0.5", "num_params": "52B", "model_type": "rlhf",
    ...     "rating": 4.0, "task_description": "", "task_descripton_harmlessness_score": 1, "red_team_member_id": "12",
    ... }
    >>> attempt = attempt_from(record)
    >>> attempt.rating, attempt.task_description_harmlessness_score, attempt.red_team_member_id
    (4, 1.0, 12)
    """
    values = _respelt(record)
    missing = [key for key in KEYS if key not in values and key not in _OPTIONAL]
    if missing:
        near = suggest(missing[0], [key for key in values if key not in KEYS])
        raise InvalidInput(f"there is no {format_list(missing)}. An attempt has {', '.join(KEYS)}.{near}")
    return Attempt(**{key: read(key, values.get(key)) for key, read in _READERS.items()})


def attempts_in(table: pl.DataFrame) -> Iterator[Attempt]:
    """Yield the attempts of a table, checked."""
    for row, values in enumerate(table.iter_rows(named=True), start=1):
        try:
            yield attempt_from(values)
        except InvalidInput as error:
            raise InvalidInput(f"Row {row:,}: {error}") from None


def _respelt(record: Mapping[str, object]) -> Mapping[str, object]:
    if AS_RELEASED not in record:
        return record
    given = record[AS_RELEASED]
    if record.get(DESCRIPTION_SCORE, given) != given:
        raise InvalidInput(f"{DESCRIPTION_SCORE} is there in both spellings, with two values. Keep one.")
    return {**record, DESCRIPTION_SCORE: given}


def _text(key: str, value: object) -> str:
    # in separated text and Parquet made from it, what is empty is missing
    if value is None and key in {"task_description", "model_type"}:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{key} is {_said(value)}; it is text.")
    return value


def _perhaps_text(key: str, value: object) -> str | None:
    return None if value is None else _text(key, value)


def _number(key: str, value: object) -> float | None:
    if value is None or (isinstance(value, str) and not value):
        return None
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"{key} is {_said(value)}; it is a number, or null where nothing was scored.")


def whole_from(key: str, value: object) -> int | None:
    """Return a whole number that may be given as text, or nothing."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(key, value)
    if number is not None and not number.is_integer():
        raise InvalidInput(f"{key} is {_said(value)}; it is a whole number.")
    return None if number is None else int(number)


def _truth(key: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    known = {"true": True, "false": False, "": None}
    if isinstance(value, str) and value.lower() in known:
        return known[value.lower()]
    raise InvalidInput(f"{key} is {_said(value)}; it is true, false or null.")


def tags_from(key: str, value: object) -> tuple[str, ...] | None:
    """Return a list of texts that may be given as JSON, or nothing."""
    given = value
    if isinstance(value, str) and value.startswith("["):
        try:
            given = json.loads(value)
        except (ValueError, RecursionError):
            given = value
    if given is None or given == "":
        return None
    if not isinstance(given, list | tuple) or not all(isinstance(tag, str) for tag in given):
        raise InvalidInput(
            f"{key} is {_said(value)}; it is a list of texts, or null where nobody reviewed the attempt."
        )
    return tuple(given)


def _said(value: object) -> str:
    return "null" if value is None else format_value(value)


_READERS: Final[Mapping[str, Callable[[str, object], Any]]] = dict(
    zip(
        KEYS,
        (_text, _number, _perhaps_text, _text, whole_from, _text, _number, whole_from, _truth, tags_from),
        strict=True,
    )
)
