"""What staff see of a campaign under way, and how owners decide about flagged raters."""

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit, looked
from dissensus.web.core.suppression import watch_for
from dissensus.web.staff.monitoring_contexts import FlaggedRater, WatchPage
from dissensus.web.staff.pay import RaterId
from dissensus.workflows.campaign import flags
from dissensus.workflows.campaign.flags import FlagVerdict
from dissensus.workflows.campaign.monitoring import load_monitoring

router = APIRouter()

By = Annotated[Visit, Depends(May("flags"))]


@router.get("/campaigns/{name}/watch")
def see(site: SiteOf, visit: Annotated[Visit, Depends(May("numbers"))], name: Name) -> Response:
    """Show a campaign under way."""
    now = site.clock()
    found = watch_for(load_monitoring(site.platform, name, staff_id=visit.staff.id, now=now), visit.may)
    if found.watch.snapshot is not None and found.watch.snapshot.figures.flagged:
        looked(site, visit, name, "flags")
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name, "may": visit.may, "now": now}
    context = WatchPage(**who, watch=found.watch, n_raters=found.n_raters, hidden=found.hidden)  # type: ignore[arg-type]
    return page(site, context)


@router.get("/campaigns/{name}/watch/raters/{rater_id}")
def see_one(site: SiteOf, visit: By, name: Name, rater_id: RaterId) -> Response:
    """Show a flagged rater."""
    return _one(site, visit, name, rater_id)


@router.post("/campaigns/{name}/watch/raters/{rater_id}")
def decide(site: SiteOf, visit: By, name: Name, rater_id: RaterId, sent: Sent) -> Response:
    """Keep a decision, or go back to the form."""
    fields = (str(sent.get(field, "")) for field in ("decision", "verdict", "reason"))
    given = FlagVerdict(**dict(zip(("id", "verdict", "reason"), fields, strict=True)))
    try:
        flags.decide_flag(site.platform, name, rater_id, given, staff_id=visit.staff.id, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _one(site, visit, name, rater_id, given, tuple(str(error).splitlines()))
    return RedirectResponse(f"/campaigns/{name}/watch/raters/{rater_id}", SEE_OTHER)


def _one(
    site: Site, visit: Visit, name: str, rater_id: str, given: FlagVerdict | None = None, faults: tuple[str, ...] = ()
) -> Response:
    context = FlaggedRater(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        case=flags.load_flag_case(site.platform, name, rater_id, staff_id=visit.staff.id),
        decision_id=str(uuid4()),
        verdict=given.verdict if given else "",
        reason=given.reason if given else "",
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)
