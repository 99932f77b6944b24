"""API routes for items."""

from typing import Annotated

from fastapi import APIRouter, Depends

from dissensus.api_models.campaigns import ItemCountResource, ItemResource, TurnResource
from dissensus.schema.records.item import Item
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import ItemsRequest
from dissensus.web.core.concurrency_limit import SlowRequestSlot
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import campaigns, pagination

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Items"])

Authorized = Annotated[StaffRequest, Depends(RequireScope("items"))]


@router.get("/items", operation_id="list_items")
def list_items(
    site: SiteOf, caller: Authorized, name: Name, limit: Limit = 100, after: AfterCursor = ""
) -> CursorPage[ItemResource]:
    """List the items of a campaign, in their order."""
    list_name = f"items of {name}"
    (start,) = read_cursor(site, list_name, after) or [0]
    rows = pagination.list_items_from(site.platform, name, staff_id=caller.staff.id, start=start, most=limit + 1)
    items, next_cursor = paginate(site, list_name, rows, limit, lambda _: start + limit)
    return CursorPage(data=[_to_resource(item) for item in items], next=next_cursor)


def _to_resource(item: Item) -> ItemResource:
    turns = tuple(TurnResource(speaker=turn.speaker, text=turn.text) for turn in item.conversation.turns)
    return ItemResource(
        id=item.item_id, conversation=turns, attributes=dict(item.attributes), response_b=item.response_b
    )


@router.post("/items", operation_id="add_items", status_code=201)
def add(site: SiteOf, caller: Authorized, name: Name, body: ItemsRequest, _slot: SlowRequestSlot) -> ItemCountResource:
    """Add items to a draft: all of them, or none if one cannot be added."""
    items = tuple(item.to_item() for item in body.items)
    n = campaigns.add_items(site.platform, name, items, staff_id=caller.staff.id, now=site.clock())
    return ItemCountResource(items=n)


@router.delete("/items", operation_id="remove_items")
def remove(site: SiteOf, caller: Authorized, name: Name) -> ItemCountResource:
    """Remove all items of a draft, with the answers of previews and dry runs. It cannot be undone."""
    campaigns.remove_items(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    return ItemCountResource(items=0)
