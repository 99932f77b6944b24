"""What is asked of the platform: addresses, what makes something, items in parts."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import httpx

from dissensus.http_client import ServiceClient
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item

MOST_ITEMS: Final = 1_000
MAX_BATCH_BYTES: Final = 4 << 20
"""Of items in one request."""


def campaign_path(name: str, *parts: str) -> str:
    """Return an address about a campaign."""
    return "/".join(("campaigns", *(quote(part, safe="") for part in (name, *parts))))


def post_once(asking: ServiceClient, path: str, body: object) -> httpx.Response:
    """Ask for something to be made, once."""
    # By its key the site knows the same request again, so that it can be asked as often as it takes.
    return asking.ask("POST", path, body=body, headers={"Idempotency-Key": str(uuid4())})


def item_batches(items: Iterable[Item]) -> Iterator[list[dict[str, Any]]]:
    """Yield items as the API takes them, so many at once as one request holds."""
    part: list[dict[str, Any]] = []
    size = 0
    for item in items:
        row = {"id": item.item_id, "conversation": item.conversation.to_dicts(), "attributes": dict(item.attributes)}
        # A site of an earlier version knows no pairs.
        row |= {} if item.response_b is None else {"response_b": item.response_b}
        n_bytes = len(json.dumps(row))
        if part and (len(part) == MOST_ITEMS or size + n_bytes > MAX_BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += n_bytes
    if part:
        yield part


def parse_item(row: Mapping[str, Any]) -> Item:
    """Return an item as the API tells it."""
    turns = Conversation.from_dicts(row["conversation"])
    return Item(row["id"], turns, row["attributes"], row.get("response_b"))
