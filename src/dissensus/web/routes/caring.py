"""What the contact of a campaign sees of how its raters feel."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dissensus.web.care_contexts import CarePage
from dissensus.web.received import whole_number
from dissensus.web.routes.entering import SEE_OTHER, page
from dissensus.web.visiting import May, Name, Sent, SiteOf, Visit
from dissensus.workflows import caring

router = APIRouter()

By = Annotated[Visit, Depends(May("care"))]
MOST_TIMES: Final = 2**31 - 1


@router.get("/campaigns/{name}/care")
def see(site: SiteOf, visit: By, name: Name) -> Response:
    """Show who wants the contact to know how they feel, and how all feel."""
    cared = caring.cared(site.platform, name, staff_id=visit.staff.id)
    return page(site, CarePage(owner=visit.staff.name, form_token=visit.form_token, name=name, cared=cared))


@router.post("/campaigns/{name}/care")
def settle(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Keep that somebody dealt with it."""
    number = whole_number(str(sent.get("number", "")), "of a survey", 0, MOST_TIMES)
    rater_id = str(sent.get("rater", ""))
    caring.settle(site.platform, name, rater_id, number, staff_id=visit.staff.id, now=site.clock())
    return RedirectResponse(f"/campaigns/{name}/care", SEE_OTHER)
