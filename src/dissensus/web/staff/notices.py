"""Notice pages: messages and reports of raters, and their settlement."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.web.core.forms import parse_whole_number
from dissensus.web.core.list_query import MAX_PLACE, PageNumber
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.workflows.campaign import notices
from dissensus.workflows.campaign.notices import NoticeQueue

router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("notices"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticesPage(StaffPage):
    """A page of open notices."""

    template: ClassVar[str] = "staff/notices.html"

    name: str
    queue: NoticeQueue


@router.get("/campaigns/{name}/notices")
def show_notices(site: SiteOf, caller: Authorized, name: Name, number: PageNumber = 1) -> Response:
    """Show a page of open notices, the latest first."""
    queue = notices.load_notice_queue(site.platform, name, page=number, staff_id=caller.staff.id)
    return page(site, caller.page(NoticesPage, name=name, queue=queue))


@router.post("/campaigns/{name}/settle")
def settle_notice(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Settle a notice of a rater, and return to the page with its form."""
    notice_id, show_again = str(form.get("notice", "")), form.get("show_again") == "yes"
    notices.settle_notice(
        site.platform, name, notice_id, show_again=show_again, staff_id=caller.staff.id, now=site.clock()
    )
    if item := form.get("item"):
        number = parse_whole_number(str(item), "of an item", 1, MAX_PLACE)
        return redirect_to(f"/campaigns/{name}/items/{number}")
    return redirect_to(f"/campaigns/{name}{'/notices' if form.get('page') else ''}")
