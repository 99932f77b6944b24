"""How owners withdraw for a rater who asks them to."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from dissensus.errors import NotFound
from dissensus.web.core.responses import page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.campaign_contexts import WithdrawingFor
from dissensus.workflows.rater import withdrawal

router = APIRouter()

By = Annotated[Visit, Depends(May("withdraw-for"))]


@router.get("/campaigns/{name}/withdraw")
def ask(site: SiteOf, visit: By, name: Name, rater: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Ask for whom, and say what will be deleted."""
    return _page(site, visit, name, rater.strip())


@router.post("/campaigns/{name}/withdraw")
def withdraw(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Delete it."""
    rater_id = str(sent.get("rater", ""))
    n = withdrawal.withdraw_for(site.platform, name, rater_id, staff_id=visit.staff.id, now=site.clock())
    return page(site, _context(visit, name, rater_id, n_deleted=n))


def _page(site: Site, visit: Visit, name: str, rater_id: str) -> Response:
    if not rater_id:
        return page(site, _context(visit, name, rater_id))
    try:
        found = withdrawal.erasable_of(site.platform, name, rater_id, staff_id=visit.staff.id)
    except NotFound as error:
        return page(site, _context(visit, name, rater_id, faults=(str(error),)), 422)
    return page(site, _context(visit, name, rater_id, found=found))


def _context(visit: Visit, name: str, rater_id: str, **what: object) -> WithdrawingFor:
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name, "rater_id": rater_id}
    return WithdrawingFor(**who, **what)  # type: ignore[arg-type]
