"""Responses of the API: parse, paginate, and build tables of ratings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import httpx
import polars as pl
from pydantic import TypeAdapter, ValidationError

from dissensus.errors import Unavailable
from dissensus.http_client import ServiceClient

PAGE_SIZE: Final = 500
COLUMN_DTYPES: Final[Mapping[str, pl.DataType]] = {"integer": pl.Int64(), "text": pl.String(), "boolean": pl.Boolean()}
Parsed = TypeVar("Parsed")


def parse_response(model: type[Parsed], response: httpx.Response) -> Parsed:
    """Parse a response, or raise `Unavailable` if it has another form."""
    try:
        return TypeAdapter(model).validate_json(response.content)
    except ValidationError:
        raise _unexpected_response(response.url.host) from None


def iterate_pages(
    service: ServiceClient, path: str, query: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the pages of a list, following its cursors."""
    after, seen_cursors = "", set[str]()
    while after not in seen_cursors:
        seen_cursors.add(after)
        response = service.request("GET", path, query={**(query or {}), "limit": PAGE_SIZE, "after": after})
        page = parse_response(dict[str, Any], response)
        if not isinstance(page.get("data"), list):
            raise _unexpected_response(response.url.host)
        yield page
        # Null on the last page, which equals the first cursor and ends the loop.
        after = str(page.get("next") or "")


def iterate_rows(
    service: ServiceClient, path: str, model: type[Parsed], query: Mapping[str, Any] | None = None
) -> Iterator[Parsed]:
    """Yield the rows of all pages of a list."""
    reader: TypeAdapter[list[Parsed]] = TypeAdapter(list[model])  # type: ignore[valid-type]
    for page in iterate_pages(service, path, query):
        try:
            parsed = reader.validate_python(page["data"])
        except ValidationError:
            raise _unexpected_response(service.http.base_url.host) from None
        yield from parsed


def ratings_frame(pages: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return pages of ratings as one table, with ordered categories."""
    try:
        columns = {column["name"]: _column_dtype(column) for column in pages[0]["columns"]}
        return pl.DataFrame([row for page in pages for row in page["data"]], schema=columns, orient="row")
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        raise Unavailable(f"The ratings have another form: {error}. The site may have another version.") from None


def _column_dtype(column: Mapping[str, Any]) -> pl.DataType:
    return pl.Enum(column["scale"]) if column["type"] == "category" else COLUMN_DTYPES[column["type"]]


def _unexpected_response(host: str) -> Unavailable:
    return Unavailable(f"{host} answers in another form. Check that it is a Dissensus site of this version.")
