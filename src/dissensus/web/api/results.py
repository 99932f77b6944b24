"""What came of a campaign: ratings, quota, and the log of what happened."""

from secrets import token_hex
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Depends, Query

from dissensus.campaign.public_events import told
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.schemas import CellShown, Column, EventShown, QuotaShown, RatingsPage
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.web.core.suppression import finished
from dissensus.workflows.campaign import overview, pagination
from dissensus.workflows.campaign.quota import load_quota_progress
from dissensus.workflows.export.pages import PageCursor, begin_export, read_ratings_page
from dissensus.workflows.export.ratings import ID_DIGITS, ExportOptions

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Results"])


@router.get("/ratings", operation_id="list_ratings")
def list_ratings(
    site: SiteOf,
    visit: Annotated[Visit, Depends(RequireScope("export"))],
    name: Name,
    purpose: Annotated[
        list[str], Query(max_length=20, description="What raters must have agreed to, besides what is required.")
    ] = [],  # noqa: B006 - FastAPI copies it
    limit: Limit = 100,
    after: AfterCursor = "",
) -> RatingsPage:
    """List finished ratings, as the export has them: raters have ids that hold from the first page to the last alone.

    Who withdraws meanwhile is in no later page; what is finished meanwhile is in the next listing.
    """
    of = f"ratings of {name} for {sorted(set(purpose))}"
    asked = ExportOptions(purposes=tuple(purpose))
    place = read_cursor(site, of, after)
    if place is None:
        start = begin_export(site.platform, name, asked=asked, staff_id=visit.staff.id, now=site.clock())
        drawn = token_hex()
    else:
        start, drawn = PageCursor(begun=place[0], last=place[1], n=place[2]), place[3]
    part = read_ratings_page(
        site.platform,
        name,
        asked=asked,
        place=start,
        most=limit,
        public=lambda rater_id: _public(site, drawn, rater_id),
        staff_id=visit.staff.id,
    )
    more = part.next
    following = None if more is None else site.tokens.cursor(of, [more.begun, more.last, more.n, drawn])
    columns = [_column(column, dtype) for column, dtype in part.form.schema.items()]
    return RatingsPage(columns=columns, data=list(part.rows), next=following)


def _public(site: Site, drawn: str, rater_id: str) -> str:
    """Return the id of a rater in one listing: nobody without the secret of the site can tell of whom it is."""
    return f"r{site.tokens.trace('listing', f'{drawn}:{rater_id}')[:ID_DIGITS]}"


def _column(name: str, dtype: pl.DataType) -> Column:
    if isinstance(dtype, pl.Enum):
        return Column(name=name, type="category", scale=dtype.categories.to_list())
    plain: Literal["boolean", "integer", "text"] = "boolean" if dtype == pl.Boolean else "text"
    return Column(name=name, type="integer" if dtype.is_integer() else plain, scale=None)


@router.get("/quota", operation_id="get_quota")
def get_quota(site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("numbers"))], name: Name) -> QuotaShown:
    """Tell how the cells of a quota fill; numbers of few are hidden from analysts."""
    quota, cells = load_quota_progress(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    if "small-numbers" in visit.may:
        shown = [
            CellShown(
                cell=one.cell,
                target=one.target,
                places=one.places,
                finished=one.taken,
                held=one.held,
                screened=one.screened,
            )
            for one in cells
        ]
    else:
        numbers = overview.load_overview(site.platform, name, staff_id=visit.staff.id).numbers
        taken = finished({cell.cell: cell.taken for cell in cells}, numbers)
        hidden: dict[str, Any] = dict.fromkeys(("places", "held", "screened"))
        shown = [CellShown(cell=one.cell, target=one.target, finished=taken[one.cell], **hidden) for one in cells]
    return QuotaShown(source=quota.source, balanced=quota.balanced, cells=shown)


@router.get("/events", operation_id="list_events")
def list_events(
    site: SiteOf,
    visit: Annotated[Visit, Depends(RequireScope("log"))],
    name: Name,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[EventShown]:
    """List what happened, in the order of the chain. Which rater it was is not told, nor what they answered."""
    of = f"events of {name}"
    (last,) = read_cursor(site, of, after) or [0]
    found = pagination.list_events_after(site.platform, name, staff_id=visit.staff.id, after=last, most=limit + 1)
    entries, following = paginate(site, of, found, limit, lambda entry: entry.place)
    return CursorPage(data=[EventShown.model_validate(told(entry)) for entry in entries], next=following)
