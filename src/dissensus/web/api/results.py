"""API routes for ratings, quota progress and the audit log."""

from secrets import token_hex
from typing import Annotated, Literal

import polars as pl
from fastapi import APIRouter, Depends, Query

from dissensus.api_models.campaigns import ColumnResource, QuotaCellResource, QuotaResource, RatingsPageResource
from dissensus.api_models.webhooks import EventResource
from dissensus.campaign.public_events import to_public_event
from dissensus.errors import NotFound
from dissensus.pipeline.release.pseudonyms import ID_DIGITS
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import campaigns, pagination
from dissensus.workflows.campaign.quota import load_quota_progress
from dissensus.workflows.export.ratings import ExportOptions, PageCursor, begin_export, read_ratings_page

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Results"]
)


def refuse_chats(site: Site, caller: StaffRequest, name: str) -> None:
    """Raise `NotFound` in a campaign of conversations, whose results an empty list would hide."""
    if campaigns.load_definition(site.platform, name, staff_id=caller.staff.id).chat is not None:
        raise NotFound(
            f"In {name} raters talk with chatbots, and rate no items. See /campaigns/{name}/conversations, "
            f"/campaigns/{name}/attempts and, for files, the page /campaigns/{name}/export.zip."
        )


@router.get("/ratings", operation_id="list_ratings")
def list_ratings(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(RequireScope("export"))],
    name: Name,
    purpose: Annotated[
        list[str], Query(max_length=20, description="Consent purposes required in addition to the mandatory ones.")
    ] = [],  # noqa: B006 - FastAPI copies it
    limit: Limit = 100,
    after: AfterCursor = "",
) -> RatingsPageResource:
    """List finished ratings, as the export has them. Rater ids are valid within one listing only.

    Raters who withdraw meanwhile vanish from later pages; ratings finished meanwhile are in the next listing.
    """
    refuse_chats(site, caller, name)
    list_name = f"ratings of {name} for {sorted(set(purpose))}"
    options = ExportOptions(purposes=tuple(purpose))
    position = read_cursor(site, list_name, after)
    if position is None:
        start = begin_export(site.platform, name, options=options, staff_id=caller.staff.id, now=site.clock())
        listing_salt = token_hex()
    else:
        start, listing_salt = PageCursor(start_event=position[0], last=position[1], n=position[2]), position[3]
    page = read_ratings_page(
        site.platform,
        name,
        options=options,
        cursor=start,
        most=limit,
        to_public_id=lambda rater_id: _listing_id(site, listing_salt, rater_id),
        staff_id=caller.staff.id,
    )
    next_position = page.next
    next_cursor = (
        None
        if next_position is None
        else site.tokens.encrypt_cursor(
            list_name, [next_position.start_event, next_position.last, next_position.n, listing_salt]
        )
    )
    columns = tuple(_column(column, dtype) for column, dtype in page.form.schema.items())
    return RatingsPageResource(columns=columns, data=tuple(page.rows), warnings=page.warnings, next=next_cursor)


def _listing_id(site: Site, listing_salt: str, rater_id: str) -> str:
    """Return the keyed pseudonym of a rater in one listing."""
    return f"r{site.tokens.keyed_digest('listing', f'{listing_salt}:{rater_id}')[:ID_DIGITS]}"


def _column(name: str, dtype: pl.DataType) -> ColumnResource:
    if isinstance(dtype, pl.Enum):
        return ColumnResource(name=name, type="category", scale=tuple(dtype.categories))
    text_type: Literal["boolean", "integer", "text"] = "boolean" if dtype == pl.Boolean else "text"
    return ColumnResource(name=name, type="integer" if dtype.is_integer() else text_type, scale=None)


@router.get("/quota", operation_id="get_quota")
def get_quota(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(RequireScope("small-numbers"))], name: Name
) -> QuotaResource:
    """Return the progress of a quota."""
    quota, cells = load_quota_progress(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    resources = [
        QuotaCellResource(
            cell=cell.cell,
            target=cell.target,
            capacity=cell.capacity,
            finished=cell.finished,
            in_progress=cell.in_progress,
            screened_out=cell.screened_out,
        )
        for cell in cells
    ]
    return QuotaResource(source=quota.source, balanced=quota.balanced, cells=tuple(resources))


@router.get("/events", operation_id="list_events")
def list_events(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(RequireScope("log"))],
    name: Name,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[EventResource]:
    """List audit-log events in order, without the identity and the answers of raters."""
    list_name = f"events of {name}"
    (last,) = read_cursor(site, list_name, after) or [0]
    rows = pagination.list_events_after(site.platform, name, staff_id=caller.staff.id, after=last, most=limit + 1)
    entries, next_cursor = paginate(site, list_name, rows, limit, lambda entry: entry.sequence)
    return CursorPage(
        data=[EventResource.model_validate(to_public_event(entry)) for entry in entries], next=next_cursor
    )
