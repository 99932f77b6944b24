"""What staff see of who is still needed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import May, Name, SiteOf, Visit
from dissensus.web.core.suppression import finished
from dissensus.web.staff.campaign_contexts import QuotaPage, QuotaResults
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.quota import load_quota_progress
from dissensus.workflows.rater.invite_links import doors_of

router = APIRouter()


@router.get("/campaigns/{name}/quota")
def see(site: SiteOf, visit: Annotated[Visit, Depends(May("numbers"))], request: Request, name: Name) -> Response:
    """Show how the cells of a quota fill, and the links by which a recruiter fills them, to whom they are for."""
    quota, cells = load_quota_progress(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name, "quota": quota}
    if "small-numbers" not in visit.may:
        numbers = overview.load_overview(site.platform, name, staff_id=visit.staff.id).numbers
        taken = finished({cell.cell: cell.taken for cell in cells}, numbers)
        return page(site, QuotaResults(**who, finished=taken))  # type: ignore[arg-type]
    address = site.address_for(request)
    given = doors_of(site.platform, name, address, staff_id=visit.staff.id).cells if "links" in visit.may else {}
    return page(site, QuotaPage(**who, cells=cells, links=given))  # type: ignore[arg-type]
