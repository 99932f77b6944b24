"""Member pages of a campaign."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.schema.campaign.roles import DUTIES, ROLES, Role, parse_role
from dissensus.web.core.permissions import campaign_actions_of
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.workflows.campaign import members as members_workflow

if TYPE_CHECKING:
    from dissensus.store.identity.api_tokens import ApiTokenRow
    from dissensus.store.members import MemberRow, PendingInvitation


router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("staff"))]
RecentlyConfirmed = Annotated[StaffRequest, Depends(Require("staff", recent=True))]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberToken:
    """A token of a member, with the scopes that it has in the campaign."""

    id: str
    name: str
    person: str
    scopes: tuple[str, ...]
    used_at: datetime | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersPage(StaffPage):
    """Members of a campaign and pending invitations."""

    template: ClassVar[str] = "staff/members.html"

    name: str
    members: tuple["MemberRow", ...]
    pending: tuple["PendingInvitation", ...]
    tokens: tuple["MemberToken", ...]
    roles: tuple[tuple[Role, str], ...]
    sends_mails: bool
    invited_address: str = ""  # Address to which an invitation was mailed just now


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLinkPage(StaffPage):
    """A new invitation link for staff, shown once."""

    template: ClassVar[str] = "staff/members-link.html"

    name: str
    role: Role
    link: str
    days: int


@router.get("/campaigns/{name}/staff")
def show_members(site: SiteOf, caller: Authorized, name: Name) -> Response:
    """Show the members of a campaign."""
    return _members_page(site, caller, name)


def _members_page(site: Site, caller: StaffRequest, name: str, *, invited_address: str = "") -> Response:
    listing = members_workflow.list_members(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    context = caller.page(
        MembersPage,
        name=name,
        members=listing.members,
        pending=listing.invitations,
        tokens=_list_member_tokens(listing.members, listing.tokens),
        roles=tuple((role, DUTIES[role]) for role in ROLES),
        sends_mails=site.sends_mails,
        invited_address=invited_address,
    )
    return page(site, context)


def _list_member_tokens(members: tuple["MemberRow", ...], tokens: tuple["ApiTokenRow", ...]) -> tuple[MemberToken, ...]:
    """Return the tokens that have a scope in the campaign."""
    people = {member.staff_id: member for member in members}
    rows = []
    for token in tokens:
        member = people[token.staff_id]
        scopes = tuple(sorted(campaign_actions_of(member.role) & token.scopes))
        rows.append(
            MemberToken(
                id=token.id,
                name=token.name,
                person=member.name,
                scopes=scopes,
                used_at=token.used_at,
                expires_at=token.expires_at,
            )
        )
    return tuple(row for row in rows if row.scopes)


@router.post("/campaigns/{name}/staff/token")
def end_token(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """End the token of a member in the campaign."""
    token_id = str(form.get("token", ""))
    members_workflow.end_token(site.platform, name, token_id, staff_id=caller.staff.id, now=site.clock())
    return _redirect(name)


@router.post("/campaigns/{name}/staff/invite")
def invite_member(site: SiteOf, caller: RecentlyConfirmed, request: Request, name: Name, form: StaffForm) -> Response:
    """Mail an invitation link to the address; without an address, or on a site that sends no mails, show the link."""
    role, address = parse_role(form.get("role")), str(form.get("address", "")).strip()
    if address and site.sends_mails:
        members_workflow.mail_member_invitation(
            site.platform, site.tokens.keys, name, role, address, staff_id=caller.staff.id, now=site.clock()
        )
        return _members_page(site, caller, name, invited_address=address)
    key = members_workflow.create_member_invitation(
        site.platform, name, role, staff_id=caller.staff.id, now=site.clock()
    )
    context = caller.page(
        MemberLinkPage,
        name=name,
        role=role,
        link=f"{site.address_for(request)}/join/{key}",
        days=members_workflow.INVITATION_LIFETIME.days,
    )
    return page(site, context)


@router.post("/campaigns/{name}/staff/revoke")
def revoke_invitation(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Revoke an unused invitation."""
    members_workflow.revoke_member_invitation(
        site.platform, name, str(form.get("invitation", "")), staff_id=caller.staff.id
    )
    return _redirect(name)


@router.post("/campaigns/{name}/staff/role")
def change_role(site: SiteOf, caller: RecentlyConfirmed, name: Name, form: StaffForm) -> Response:
    """Change the role of a member."""
    person, role = str(form.get("person", "")), parse_role(form.get("role"))
    members_workflow.change_role(
        site.platform, name, person, role, staff_id=caller.staff.id, session=caller.session, now=site.clock()
    )
    return _redirect_member(name, person, caller)


@router.post("/campaigns/{name}/staff/remove")
def remove_member(site: SiteOf, caller: RecentlyConfirmed, name: Name, form: StaffForm) -> Response:
    """Remove a member."""
    person = str(form.get("person", ""))
    members_workflow.remove_member(
        site.platform, name, person, staff_id=caller.staff.id, session=caller.session, now=site.clock()
    )
    return _redirect_member(name, person, caller)


def _redirect_member(name: str, person: str, caller: StaffRequest) -> Response:
    # Members who changed their own role may have lost access to the page.
    return redirect_to("/campaigns") if person == caller.staff.name else _redirect(name)


def _redirect(name: str) -> Response:
    return redirect_to(f"/campaigns/{name}/staff")
