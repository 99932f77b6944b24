"""What the contact of a campaign sees of how its raters feel."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dissensus.web.core.forms import whole_number
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.care_contexts import CarePage
from dissensus.workflows.rater import care

router = APIRouter()

By = Annotated[Visit, Depends(May("care"))]
MOST_TIMES: Final = 2**31 - 1


@router.get("/campaigns/{name}/care")
def see(site: SiteOf, visit: By, name: Name) -> Response:
    """Show who wants the contact to know how they feel, and how all feel."""
    cared = care.load_care_summary(site.platform, name, staff_id=visit.staff.id)
    return page(site, CarePage(owner=visit.staff.name, form_token=visit.form_token, name=name, cared=cared))


@router.post("/campaigns/{name}/care")
def settle(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Keep that somebody dealt with it."""
    number = whole_number(str(sent.get("number", "")), "of a survey", 0, MOST_TIMES)
    rater_id = str(sent.get("rater", ""))
    care.settle_contact_request(site.platform, name, rater_id, number, staff_id=visit.staff.id, now=site.clock())
    return RedirectResponse(f"/campaigns/{name}/care", SEE_OTHER)
