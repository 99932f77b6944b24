"""Requests of the API client: paths, idempotent POSTs, and batches of items."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import httpx

from dissensus.api_models.campaigns import MAX_ITEMS
from dissensus.http_client import ServiceClient
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item

MAX_BATCH_BYTES: Final = 4 << 20


def campaign_path(name: str, *parts: str) -> str:
    """Return the path of a campaign, or of something below it."""
    return "/".join(("campaigns", *(quote(part, safe="") for part in (name, *parts))))


def post_once(service: ServiceClient, path: str, body: object) -> httpx.Response:
    """Send a POST with an idempotency key, so that retries are safe."""
    return service.request("POST", path, body=body, headers={"Idempotency-Key": str(uuid4())})


def item_batches(items: Iterable[Item]) -> Iterator[list[dict[str, Any]]]:
    """Yield batches of items as JSON, each small enough for one request."""
    batch: list[dict[str, Any]] = []
    size = 0
    for item in items:
        row = {"id": item.item_id, "conversation": item.conversation.to_dicts(), "attributes": dict(item.attributes)}
        # Older servers reject the key of pairs.
        row |= {} if item.response_b is None else {"response_b": item.response_b}
        n_bytes = len(json.dumps(row))
        if batch and (len(batch) == MAX_ITEMS or size + n_bytes > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += n_bytes
    if batch:
        yield batch


def parse_item(row: Mapping[str, Any]) -> Item:
    """Parse an item of the API."""
    turns = Conversation.from_dicts(row["conversation"])
    return Item(row["id"], turns, row["attributes"], row.get("response_b"))
