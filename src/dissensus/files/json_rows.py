"""JSON lines, or an array of objects, to a table of text: numbers stay as they are written."""

import json
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from pathlib import Path

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.content import decoded

BATCH = 100_000


class _RepeatedKeyError(ValueError):
    """An object names a key twice, so one of its values would be lost."""


def parse(data: bytes, path: Path) -> pl.DataFrame:
    """Return one row per object, all values as text, with null for what is null or not there.

    Raises
    ------
    InvalidInput
        The text is not UTF-8, or not JSON; the message has the line.
    """
    text = decoded(data, path)
    records = _array(text, path) if text.lstrip().startswith("[") else _lines(text, path)
    frames: list[pl.DataFrame] = []
    try:
        while batch := list(islice(records, BATCH)):
            frames.append(_frame(batch))
    except UnicodeEncodeError:
        raise InvalidInput(f"{path} has half of a surrogate pair (like \\ud800), which is not text.") from None
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


def _frame(records: list[dict[str, object]]) -> pl.DataFrame:
    keys = dict.fromkeys(key for record in records for key in record)
    return pl.DataFrame(
        [pl.Series(key, [_text(record.get(key)) for record in records], dtype=pl.String) for key in keys]
    )


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _lines(text: str, path: Path) -> Iterator[dict[str, object]]:
    for number, line in enumerate(StringIO(text), start=1):
        if line.strip():
            yield _record(_loaded(line.rstrip("\n"), path, number), f"{path}, line {number:,}")


def _array(text: str, path: Path) -> Iterator[dict[str, object]]:
    loaded = _loaded(text, path, 1)
    for number, value in enumerate(loaded if isinstance(loaded, list) else [loaded], start=1):
        yield _record(value, f"{path}, element {number:,}")


def _record(value: object, where: str) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise InvalidInput(f'{where} is not an object. Each row is an object like {{"item_id": "1", …}}.')


def _loaded(text: str, path: Path, line: int) -> object:
    """Return parsed JSON whose numbers are text; `line` is where the text begins in the file."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {line + error.lineno - 1:,}, column {error.colno:,}"
        raise InvalidInput(f"{path}, {where}: not JSON ({error.msg}).") from None
    except _RepeatedKeyError as error:
        raise InvalidInput(f"{path}, line {line:,} or later: an object names {error.args[0]!r} twice.") from None
    except RecursionError:
        raise InvalidInput(f"{path}, line {line:,} or later: the values are nested too deeply.") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=str)
