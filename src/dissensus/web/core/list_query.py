"""Lists of staff pages: order and filters in the address, places in a list, and selected rows."""

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import Query
from starlette.datastructures import FormData

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import parse_digits

Text = Annotated[str, Query(max_length=200)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]
MAX_PLACE: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Base of the order and filters of a list in the address of a page, as typed."""

    @property
    def address(self) -> str:
        """Query string of the list without a cursor; empty for the usual list."""
        return urlencode({name: value for name, value in asdict(self).items() if value})


def read_rank_cursor(after: str) -> tuple[float, int] | None:
    """Return the sorting value, 0 for none, and the number of the row before a page; None for the first page."""
    if not after:
        return None
    value, _, number = after.partition("~")
    try:
        cursor = float(value or 0), int(number)
    except ValueError:
        cursor = math.nan, 0
    if not (math.isfinite(cursor[0]) and abs(cursor[1]) <= MAX_PLACE):
        raise unknown_place(after)
    return cursor


def unknown_place(after: str) -> InvalidInput:
    """Return the error for a cursor that is not of this list."""
    return InvalidInput(f"{format_value(after)} is not a place in this list. Go back to its first page.")


def read_selected(form: FormData, name: str, noun: str) -> list[int]:
    """Return the zero-based numbers of the selected rows, each once; the form counts them from 1."""
    numbers: dict[int, None] = {}
    for text in map(str, form.getlist(name)):
        number = parse_digits(text)
        if not number:
            raise InvalidInput(f"{format_value(text)} is not the number of {noun}. Go back to the list.")
        numbers[number - 1] = None
    return list(numbers)
