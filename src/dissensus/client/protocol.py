"""Protocol of the API: paths, idempotent requests, batches of items, parsed and paginated responses."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
import polars as pl
from pydantic import TypeAdapter, ValidationError

from dissensus.api_models.campaigns import MAX_ITEMS
from dissensus.errors import Unavailable
from dissensus.http_client import ServiceClient
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item

MAX_BATCH_BYTES: Final = 4 << 20
MAX_BATCH_TURNS: Final = 20_000
"""Maximum turns of a batch, since the site limits the number of objects in a request."""
PAGE_SIZE: Final = 500
COLUMN_DTYPES: Final[Mapping[str, pl.DataType]] = {"integer": pl.Int64(), "text": pl.String(), "boolean": pl.Boolean()}
Parsed = TypeVar("Parsed")


def campaign_path(name: str, *parts: str) -> str:
    """Return the path of a campaign, or of a resource below it."""
    return "/".join(("campaigns", *(quote(part, safe="") for part in (name, *parts))))


def post_once(service: ServiceClient, path: str, body: object) -> httpx.Response:
    """Send a POST with an idempotency key, so that retries are safe."""
    return service.request("POST", path, body=body, headers={"Idempotency-Key": str(uuid4())})


def item_batches(items: Iterable[Item]) -> Iterator[list[dict[str, Any]]]:
    """Yield batches of items as JSON, each small enough for one request."""
    batch: list[dict[str, Any]] = []
    size = n_turns = 0
    for item in items:
        row = {"id": item.item_id, "conversation": item.conversation.to_dicts(), "attributes": dict(item.attributes)}
        # Older servers reject the key of pairs.
        row |= {} if item.response_b is None else {"response_b": item.response_b}
        n_bytes = len(json.dumps(row))
        n_turns += len(row["conversation"])
        if batch and (len(batch) == MAX_ITEMS or size + n_bytes > MAX_BATCH_BYTES or n_turns > MAX_BATCH_TURNS):
            yield batch
            batch, size, n_turns = [], 0, len(row["conversation"])
        batch.append(row)
        size += n_bytes
    if batch:
        yield batch


def parse_item(row: Mapping[str, Any]) -> Item:
    """Parse an item of the API."""
    turns = Conversation.from_dicts(row["conversation"])
    return Item(row["id"], turns, row["attributes"], row.get("response_b"))


def parse_response(model: type[Parsed], response: httpx.Response) -> Parsed:
    """Parse the body of a response, or raise `Unavailable` if it does not fit the model."""
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


def build_ratings_frame(pages: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return pages of ratings as one table, with ordered categories."""
    try:
        columns = {column["name"]: _column_dtype(column) for column in pages[0]["columns"]}
        rows = [row for page in pages for row in page["data"]]
        # By column: from rows, Polars makes null of a category that is not on the scale.
        return pl.DataFrame({name: [row[name] for row in rows] for name in columns}, schema=columns)
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        raise Unavailable(f"The ratings have another form: {error}. The site may have another version.") from None


def _column_dtype(column: Mapping[str, Any]) -> pl.DataType:
    return pl.Enum(column["scale"]) if column["type"] == "category" else COLUMN_DTYPES[column["type"]]


def _unexpected_response(host: str) -> Unavailable:
    return Unavailable(f"{host} answers in another form. Check that it is a Dissensus site of this version.")
