"""API routes for items, and for the answers about them."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from dissensus.api_models.campaigns import ItemCountResource, ItemResource, TurnResource
from dissensus.api_models.items import (
    ItemAnswersResource,
    ItemReportResource,
    ItemSummaryResource,
    QuestionAnswersResource,
)
from dissensus.campaign.filters.item_filter import ItemFilter, ItemFlag
from dissensus.pipeline.monitor import WITHIN
from dissensus.schema.records.item import Item
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, Search, paginate, read_cursor
from dissensus.web.api.requests import ItemsRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.restrictions import check_report_filter, restrict_item, restrict_items
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest, log_access
from dissensus.workflows.campaign import campaigns, pagination
from dissensus.workflows.campaign import items as items_workflow
from dissensus.workflows.campaign.items import ItemListing

if TYPE_CHECKING:
    from dissensus.store.overview import ListedItem

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Items"])

Authorized = Annotated[StaffRequest, Depends(RequireScope("items"))]
AnswersReader = Annotated[StaffRequest, Depends(RequireScope("small-numbers"))]
Choice = Annotated[str, Query(max_length=200)]
MAX_ANSWER: Final = 999
ItemNumber = Annotated[int, Path(ge=1, le=1_000_000_000)]


def read_filter(  # noqa: PLR0913 - one argument for each query key
    question: Annotated[str, Query(max_length=200, description="By default the primary question.")] = "",
    order: Annotated[
        Literal["disagreement", "position"], Query(description="Most divided first, or as in the file.")
    ] = "disagreement",
    axis: Annotated[
        str, Query(max_length=200, description="Axis between whose groups disagreement is measured; else all raters.")
    ] = WITHIN,
    search: Search = "",
    attribute: Choice = "",
    value: Annotated[str, Query(max_length=200, description="Value of the attribute.")] = "",
    answer: Annotated[
        Annotated[int, Field(ge=0, le=MAX_ANSWER)] | SkipJsonSchema[None],
        Query(description="Index on the scale of an answer that somebody gave."),
    ] = None,
    flag: ItemFlag | SkipJsonSchema[None] = None,
    gold: Annotated[str, Query(max_length=200, description="Gold label, of the file or settled by experts.")] = "",
) -> ItemFilter:
    """Return the order and filters of a request."""
    return ItemFilter(
        question=question or None,
        axis=axis if order == "disagreement" else None,
        search=search.strip(),
        attribute=attribute,
        value=value.strip(),
        answer=answer,
        flag=flag,
        gold=gold,
    )


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


@router.get("/item-answers", operation_id="list_item_answers")
def list_answers(
    site: SiteOf,
    caller: AnswersReader,
    name: Name,
    item_filter: Annotated[ItemFilter, Depends(read_filter)],
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[ItemSummaryResource]:
    """List items with the answers to a question, the most divided first; without reports for analysts."""
    check_report_filter(item_filter, caller.permissions)
    list_name = f"answers of {name} by {item_filter}"
    (position,) = read_cursor(site, list_name, after) or [None]
    cursor = None if position is None else (position[0], position[1])
    listing = items_workflow.list_items(
        site.platform, name, item_filter, after=cursor, staff_id=caller.staff.id, most=limit + 1
    )
    rows, next_cursor = paginate(site, list_name, listing.items, limit, lambda row: (row.distance, row.position))
    shown = restrict_items(listing, tuple(rows), caller.permissions)
    hidden = "notices" not in caller.permissions
    return CursorPage(data=[_to_summary(shown, row, hidden=hidden) for row in shown.items], next=next_cursor)


def _to_summary(listing: ItemListing, row: "ListedItem", *, hidden: bool) -> ItemSummaryResource:
    return ItemSummaryResource(
        number=row.position + 1,
        id=row.name,
        text=row.text,
        question=listing.item_filter.question,
        answers=dict(zip(listing.scale, row.counts, strict=False)),
        disagreement=row.disagreement,
        distance=row.distance if listing.item_filter.axis else None,
        withheld=row.withheld,
        n_skipped=row.n_skipped,
        n_reports=None if hidden else row.n_reports,
    )


@router.get("/item-answers/{number}", operation_id="get_item_answers")
def get_answers(site: SiteOf, caller: AnswersReader, name: Name, number: ItemNumber) -> ItemAnswersResource:
    """Return an item with the answers to each question, by group where groups are large enough."""
    view = items_workflow.load_item(site.platform, name, number - 1, ItemFilter(), staff_id=caller.staff.id)
    detail = restrict_item(view, caller.permissions).detail
    if detail.reports:
        log_access(site, caller, name, "notices")
    return ItemAnswersResource(
        number=number,
        item=_to_resource(detail.item),
        withheld=detail.withheld,
        n_skipped=detail.n_skipped,
        answers=tuple(map(QuestionAnswersResource.model_validate, view.answers)),
        gold=view.gold,
        reports=tuple(map(ItemReportResource.model_validate, detail.reports))
        if "notices" in caller.permissions
        else None,
    )
