"""What raters reported."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.web.api.auth import ByToken, TokenRoute
from dissensus.web.api.error_responses import TROUBLE
from dissensus.web.api.pagination import After, Limit, Page, begun, page_of
from dissensus.web.api.requests import SentSettlement
from dissensus.web.api.schemas import NoticeShown, Settled
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.campaign import overview, pagination

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/notices", route_class=TokenRoute, responses=TROUBLE, tags=["People"]
)

By = Annotated[Visit, Depends(ByToken("notices"))]
NoticeId = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="list_notices")
def list_notices(site: SiteOf, visit: By, name: Name, limit: Limit = 100, after: After = "") -> Page[NoticeShown]:
    """List what raters reported and nobody has dealt with, the earliest first."""
    of = f"notices of {name}"
    (last,) = begun(site, of, after) or [""]
    found = pagination.notices_after(site.platform, name, staff_id=visit.staff.id, after=last, most=limit + 1)
    notices, following = page_of(site, of, found, limit, lambda notice: notice.id)
    return Page(data=[NoticeShown.model_validate(notice) for notice in notices], next=following)


@router.post("/{notice_id}/settlement", operation_id="settle_notice")
def settle(site: SiteOf, visit: By, name: Name, notice_id: NoticeId, sent: SentSettlement) -> Settled:
    """Keep that a notice was dealt with; an item that was reported stays withheld unless it may be shown again."""
    who = {"staff_id": visit.staff.id, "now": site.clock()}
    overview.settle(site.platform, name, notice_id, show_again=sent.show_again, **who)  # type: ignore[arg-type]
    return Settled(id=notice_id, shown_again=sent.show_again)
