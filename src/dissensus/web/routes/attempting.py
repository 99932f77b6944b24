"""What owners see of what red-teamers try."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import NotFound
from dissensus.web.attempt_contexts import AttemptsPage
from dissensus.web.routes.entering import page
from dissensus.web.turns import InTurn
from dissensus.web.visiting import May, Name, SiteOf, Visit
from dissensus.workflows import attempting

router = APIRouter()


@router.get("/campaigns/{name}/attempts")
def see(site: SiteOf, visit: Annotated[Visit, Depends(May("raters"))], name: Name, _turn: InTurn) -> Response:
    """Show what was tried so far, by whom, and how it went."""
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name}
    try:
        found = attempting.attempted(site.platform, name, staff_id=visit.staff.id)
    except NotFound as error:
        return page(site, AttemptsPage(**who, found=None, why=str(error)))
    return page(site, AttemptsPage(**who, found=found))
