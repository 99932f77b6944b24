"""What is rated."""

from typing import Annotated

from fastapi import APIRouter, Depends

from dissensus.schema.records.item import Item
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.requests import ItemsRequest
from dissensus.web.api.schemas import ItemCount, ItemShown, TurnShown
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.campaign import campaigns, pagination

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Items"])

By = Annotated[Visit, Depends(RequireScope("items"))]


@router.get("/items", operation_id="list_items")
def list_items(site: SiteOf, visit: By, name: Name, limit: Limit = 100, after: AfterCursor = "") -> CursorPage[ItemShown]:
    """List the items of a campaign, in their order."""
    of = f"items of {name}"
    (start,) = read_cursor(site, of, after) or [0]
    found = pagination.list_items_from(site.platform, name, staff_id=visit.staff.id, start=start, most=limit + 1)
    items, following = paginate(site, of, found, limit, lambda _: start + limit)
    return CursorPage(data=[_shown(item) for item in items], next=following)


def _shown(item: Item) -> ItemShown:
    turns = [TurnShown(speaker=turn.speaker, text=turn.text) for turn in item.conversation.turns]
    known = dict(item.attributes)
    return ItemShown(id=item.item_id, conversation=turns, attributes=known, response_b=item.response_b)


@router.post("/items", operation_id="add_items", status_code=201)
def add(site: SiteOf, visit: By, name: Name, sent: ItemsRequest, _turn: InTurn) -> ItemCount:
    """Add items to a draft: all of them, or none where one cannot be added."""
    items = tuple(one.item() for one in sent.items)
    n = campaigns.add_items(site.platform, name, items, staff_id=visit.staff.id, now=site.clock())
    return ItemCount(items=n)


@router.delete("/items", operation_id="remove_items")
def remove(site: SiteOf, visit: By, name: Name) -> ItemCount:
    """Take all items out of a draft, with what previews and dry runs made of them. It cannot be undone."""
    campaigns.remove_items(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    return ItemCount(items=0)
