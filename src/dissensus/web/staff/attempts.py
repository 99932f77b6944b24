"""What owners see of what red-teamers try."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import NotFound
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import May, Name, SiteOf, Visit
from dissensus.web.staff.attempt_contexts import AttemptsPage
from dissensus.workflows.campaign import attempts

router = APIRouter()


@router.get("/campaigns/{name}/attempts")
def see(site: SiteOf, visit: Annotated[Visit, Depends(May("raters"))], name: Name, _turn: InTurn) -> Response:
    """Show what was tried so far, by whom, and how it went."""
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name}
    try:
        found = attempts.summarise_attempts(site.platform, name, staff_id=visit.staff.id)
    except NotFound as error:
        return page(site, AttemptsPage(**who, found=None, why=str(error)))
    return page(site, AttemptsPage(**who, found=found))
