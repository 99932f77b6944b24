"""Release page of a campaign: plan, verdict of the gate, and signatures."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.workflows.release import sign_off
from dissensus.workflows.release.sign_off import MAX_PLAN_LENGTH, SiteRelease

router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("release"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePage(StaffPage):
    """Plan of a release, with the verdict of its gate and the signatures of its checks."""

    template: ClassVar[str] = "staff/release.html"
    max_length: ClassVar[int] = MAX_PLAN_LENGTH

    name: str
    release: SiteRelease
    typed: str
    faults: tuple[str, ...] = ()


@router.get("/campaigns/{name}/release")
def show_release(site: SiteOf, caller: Authorized, name: Name, _slot: SlowRequestSlot) -> Response:
    """Show the plan of a release, and the verdict on it."""
    return _release_page(site, caller, name)


@router.get("/campaigns/{name}/release/plan.toml")
def send_plan(site: SiteOf, caller: Authorized, name: Name) -> Response:
    """Send the plan as a file for the command."""
    text = sign_off.load_plan(site.platform, name, staff_id=caller.staff.id)
    headers = {"content-disposition": f'attachment; filename="{name}.release.toml"'}
    return Response(text, media_type="application/toml", headers=headers)


@router.post("/campaigns/{name}/release")
def change_plan(site: SiteOf, caller: Authorized, name: Name, form: StaffForm, _slot: SlowRequestSlot) -> Response:
    """Store the plan of a release, or return to the form."""
    typed = str(form.get("plan", ""))
    try:
        sign_off.change_plan(site.platform, name, typed, staff_id=caller.staff.id, now=site.clock())
    except InvalidInput as error:
        return _release_page(site, caller, name, *site_message(error).splitlines(), typed=typed[:MAX_PLAN_LENGTH])
    return redirect_to(f"/campaigns/{name}/release")


@router.post("/campaigns/{name}/release/signatures")
def sign_check(site: SiteOf, caller: Authorized, name: Name, form: StaffForm, _slot: SlowRequestSlot) -> Response:
    """Sign the evidence of a check."""
    check, code = str(form.get("check", "")), str(form.get("code", ""))
    try:
        sign_off.sign_check(site.platform, name, check, code, staff_id=caller.staff.id, now=site.clock())
    except Conflict as error:
        return _release_page(site, caller, name, site_message(error))
    return redirect_to(f"/campaigns/{name}/release#check-{check}")


def _release_page(site: Site, caller: StaffRequest, name: str, *faults: str, typed: str | None = None) -> Response:
    release = sign_off.load_release(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    if faults and release.plan is not None:
        # Requests by GET are logged already; the page after a fault shows raters as well.
        log_access(site, caller, name, "release")
    text = release.text if typed is None else typed
    context = caller.page(ReleasePage, name=name, release=release, typed=text, faults=faults)
    return page(site, context, 422 if faults else 200)
