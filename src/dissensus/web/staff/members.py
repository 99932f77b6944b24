"""Who belongs to a campaign, and how others come to."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.schema.campaign.roles import DUTIES, ROLES, parse_role
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.staff_contexts import Members, StaffInvited
from dissensus.workflows.campaign import members as members_workflow

router = APIRouter()

By = Annotated[Visit, Depends(May("staff"))]


@router.get("/campaigns/{name}/staff")
def see(site: SiteOf, visit: By, name: Name) -> Response:
    """Show who belongs to a campaign."""
    members, pending = members_workflow.list_members(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    context = Members(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        members=members,
        pending=pending,
        roles=tuple((role, DUTIES[role]) for role in ROLES),
    )
    return page(site, context)


@router.post("/campaigns/{name}/staff/invite")
def invite(site: SiteOf, visit: By, request: Request, name: Name, sent: Sent) -> Response:
    """Show a link by which somebody comes to belong to a campaign."""
    role = parse_role(sent.get("role"))
    key = members_workflow.create_member_invitation(site.platform, name, role, staff_id=visit.staff.id, now=site.clock())
    context = StaffInvited(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        role=role,
        link=f"{site.address_for(request)}/join/{key}",
        days=members_workflow.INVITATION_LIFETIME.days,
    )
    return page(site, context)


@router.post("/campaigns/{name}/staff/take-back")
def take_back(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Take a link back that nobody has used."""
    members_workflow.revoke_member_invitation(site.platform, name, str(sent.get("invitation", "")), staff_id=visit.staff.id)
    return _back(name)


@router.post("/campaigns/{name}/staff/role")
def change_role(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Change who somebody is in a campaign."""
    person, role = str(sent.get("person", "")), parse_role(sent.get("role"))
    members_workflow.change_role(site.platform, name, person, role, staff_id=visit.staff.id, now=site.clock())
    return _back_for(name, person, visit)


@router.post("/campaigns/{name}/staff/remove")
def remove(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Let somebody not belong to a campaign any more."""
    person = str(sent.get("person", ""))
    members_workflow.remove_member(site.platform, name, person, staff_id=visit.staff.id, now=site.clock())
    return _back_for(name, person, visit)


def _back_for(name: str, person: str, visit: Visit) -> Response:
    # Who changed their own place may not see the page any more.
    return RedirectResponse("/campaigns", SEE_OTHER) if person == visit.staff.name else _back(name)


def _back(name: str) -> Response:
    return RedirectResponse(f"/campaigns/{name}/staff", SEE_OTHER)
