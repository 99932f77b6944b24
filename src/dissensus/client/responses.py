"""Answers of the platform, read: pages one after the other, ratings as a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import httpx
import polars as pl
from pydantic import TypeAdapter, ValidationError

from dissensus.errors import Unavailable
from dissensus.http_client import ServiceClient

PAGE_SIZE: Final = 500
COLUMN_DTYPES: Final[Mapping[str, pl.DataType]] = {"integer": pl.Int64(), "text": pl.String(), "boolean": pl.Boolean()}
Read = TypeVar("Read")


def parse_response(kind: type[Read], answer: httpx.Response) -> Read:
    """Return an answer as a value of some kind.

    Raises
    ------
    Unavailable
        It is none.
    """
    try:
        return TypeAdapter(kind).validate_json(answer.content)
    except ValidationError:
        raise _unexpected_response(answer.url.host) from None


def iterate_pages(asking: ServiceClient, path: str, query: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the pages of a list, one after the other."""
    after, seen = "", set[str]()
    while after not in seen:
        seen.add(after)
        answer = asking.ask("GET", path, query={**(query or {}), "limit": PAGE_SIZE, "after": after})
        page = parse_response(dict[str, Any], answer)
        if not isinstance(page.get("data"), list):
            raise _unexpected_response(answer.url.host)
        yield page
        # After the last page it is that of the first one, which was seen.
        after = str(page.get("next") or "")


def iterate_rows(asking: ServiceClient, path: str, kind: type[Read], query: Mapping[str, Any] | None = None) -> Iterator[Read]:
    """Yield the rows of a list."""
    reader: TypeAdapter[list[Read]] = TypeAdapter(list[kind])  # type: ignore[valid-type]
    for page in iterate_pages(asking, path, query):
        try:
            found = reader.validate_python(page["data"])
        except ValidationError:
            raise _unexpected_response(asking.http.base_url.host) from None
        yield from found


def ratings_frame(found: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return pages of ratings as one table, categories in the order of their scales."""
    try:
        columns = {column["name"]: _column_dtype(column) for column in found[0]["columns"]}
        return pl.DataFrame([row for page in found for row in page["data"]], schema=columns, orient="row")
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        raise Unavailable(f"The ratings have another form: {error}. Has the site another version than this?") from None


def _column_dtype(column: Mapping[str, Any]) -> pl.DataType:
    return pl.Enum(column["scale"]) if column["type"] == "category" else COLUMN_DTYPES[column["type"]]


def _unexpected_response(host: str) -> Unavailable:
    return Unavailable(f"{host} answers in another form. Is it a site of Dissensus, and of this version?")
