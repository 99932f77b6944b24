"""Strict JSON decoder: duplicate names, NaN and infinities are errors."""

import json
import re
from collections import Counter
from typing import Any

from dissensus.errors import InvalidInput
from dissensus.files.raw import limits
from dissensus.schema.hints import format_value

JsonObject = dict[str, Any]

BLANK = " \t\n\r"

_REPAIRABLE = re.compile(rb'"(?:[^"\\]|\\.)*+"|,(?=\s*[}\]])|-?\b(?:NaN|Infinity)\b', re.DOTALL)


_QUOTED_NUMBER = re.compile(r'"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"')


class NumberText(str):
    """Number of a JSON document, as written there."""

    __slots__ = ()


class UnusableJsonError(ValueError):
    """JSON with duplicate names or with NaN or infinities."""


def strict_decoder(subject: str, *, numbers_as_text: bool = False, nan_as_null: bool = False) -> json.JSONDecoder:
    """Return a decoder whose messages call an object with duplicate names by `subject`."""

    def unique(pairs: list[tuple[str, object]]) -> JsonObject:
        record = dict(pairs)
        if len(record) < len(pairs):
            key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise UnusableJsonError(f"{subject} names {format_value(key)} twice")
        return record

    def read_constant(name: str) -> object:
        if name == "NaN" and nan_as_null:
            return None
        raise UnusableJsonError(f"{name} is not valid JSON; write null for a missing value")

    number = NumberText if numbers_as_text else None
    return json.JSONDecoder(
        object_pairs_hook=unique, parse_int=number, parse_float=number, parse_constant=read_constant
    )


def encode_value(value: object) -> str:
    """Return a decoded value as JSON, with numbers as written where they were decoded as text.

    Examples
    --------
    >>> encode_value(strict_decoder("it", numbers_as_text=True).decode('[1, 2.50, "3"]'))
    '[1, 2.50, "3"]'
    """
    text = json.dumps(value, ensure_ascii=False)
    # The encoder quotes them, and is much faster than the walk that does not.
    return _encode_numbers(value) if _QUOTED_NUMBER.search(text) else text


def _encode_numbers(value: object) -> str:
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_encode_numbers, value))}]"
    if isinstance(value, dict):
        parts = (f"{json.dumps(key, ensure_ascii=False)}: {_encode_numbers(part)}" for key, part in value.items())
        return f"{{{', '.join(parts)}}}"
    return json.dumps(value, ensure_ascii=False)


def repair(data: bytes) -> bytes:
    """Return JSON with null for NaN and infinities, and without commas before a closing bracket.

    Examples
    --------
    >>> repair(b'{"a": NaN, "b": ["NaN,]", 1,],}')
    b'{"a": null, "b": ["NaN,]", 1]}'
    """

    def replacement(match: re.Match[bytes]) -> bytes:
        token = match[0]
        return token if token.startswith(b'"') else b"" if token == b"," else b"null"

    return _REPAIRABLE.sub(replacement, data)


def describe_decode_error(error: Exception) -> str:
    """Return the reason of a failed decoding, without its position."""
    if isinstance(error, RecursionError):
        return "the values are nested too deeply"
    return f"not JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else str(error)


def is_unclosed(error: Exception, text: str) -> bool:
    """Return whether text may be invalid only because it is truncated."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos + 1 >= len(text) or error.msg.startswith("Unterminated string")


def check_object(value: object, message: str) -> JsonObject:
    """Raise unless a value is an object with values."""
    if not isinstance(value, dict) or not value:
        raise InvalidInput(message)
    return value


def max_row_size() -> str:
    """Return the maximum size of an object or line, in words."""
    return f"{limits.max_row() / 2**20:.0f} MiB, the maximum"
