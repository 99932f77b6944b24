"""What raters reported."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.requests import NoticeSettlementRequest
from dissensus.web.api.schemas import NoticeShown, Settled
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.campaign import overview, pagination

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/notices", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["People"]
)

By = Annotated[Visit, Depends(RequireScope("notices"))]
NoticeId = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="list_notices")
def list_notices(site: SiteOf, visit: By, name: Name, limit: Limit = 100, after: AfterCursor = "") -> CursorPage[NoticeShown]:
    """List what raters reported and nobody has dealt with, the earliest first."""
    of = f"notices of {name}"
    (last,) = read_cursor(site, of, after) or [""]
    found = pagination.list_notices_after(site.platform, name, staff_id=visit.staff.id, after=last, most=limit + 1)
    notices, following = paginate(site, of, found, limit, lambda notice: notice.id)
    return CursorPage(data=[NoticeShown.model_validate(notice) for notice in notices], next=following)


@router.post("/{notice_id}/settlement", operation_id="settle_notice")
def settle(site: SiteOf, visit: By, name: Name, notice_id: NoticeId, sent: NoticeSettlementRequest) -> Settled:
    """Keep that a notice was dealt with; an item that was reported stays withheld unless it may be shown again."""
    who = {"staff_id": visit.staff.id, "now": site.clock()}
    overview.settle_notice(site.platform, name, notice_id, show_again=sent.show_again, **who)  # type: ignore[arg-type]
    return Settled(id=notice_id, shown_again=sent.show_again)
