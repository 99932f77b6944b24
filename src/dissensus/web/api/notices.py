"""API routes for notices of raters."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.api_models.members import NoticeResource, NoticeSettlementResource
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import NoticeSettlementRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import notices as notices_workflow
from dissensus.workflows.campaign import pagination

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/notices",
    route_class=TokenRoute,
    responses=ERROR_RESPONSES,
    tags=["Raters and members"],
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("notices"))]
NoticeId = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="list_notices")
def list_notices(
    site: SiteOf, caller: Authorized, name: Name, limit: Limit = 100, after: AfterCursor = ""
) -> CursorPage[NoticeResource]:
    """List open notices of raters, the earliest first."""
    list_name = f"notices of {name}"
    (last,) = read_cursor(site, list_name, after) or [""]
    rows = pagination.list_notices_after(site.platform, name, staff_id=caller.staff.id, after=last, most=limit + 1)
    notices, next_cursor = paginate(site, list_name, rows, limit, lambda notice: notice.id)
    return CursorPage(data=[NoticeResource.model_validate(notice) for notice in notices], next=next_cursor)


@router.post("/{notice_id}/settlement", operation_id="settle_notice")
def settle(
    site: SiteOf, caller: Authorized, name: Name, notice_id: NoticeId, body: NoticeSettlementRequest
) -> NoticeSettlementResource:
    """Settle a notice, and with it all reports of its item, which is then shown again or withheld from everybody."""
    notices_workflow.settle_notice(
        site.platform, name, notice_id, show_again=body.show_again, staff_id=caller.staff.id, now=site.clock()
    )
    return NoticeSettlementResource(id=notice_id, shown_again=body.show_again)
