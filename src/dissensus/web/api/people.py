"""Who rates, and who belongs to a campaign."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from dissensus.errors import NotFound
from dissensus.schema.hints import format_value
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.requests import MemberInvitationRequest, MemberRoleRequest
from dissensus.web.api.schemas import Erased, Invited, Member, MemberLink, Members, RaterShown
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.campaign import members as members_workflow
from dissensus.workflows.campaign import pagination
from dissensus.workflows.rater import withdrawal

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["People"])

ByStaff = Annotated[Visit, Depends(RequireScope("staff"))]
RaterId = Annotated[str, Path(max_length=100)]
MemberId = Annotated[str, Path(max_length=100)]


@router.get("/raters", operation_id="list_raters")
def list_raters(
    site: SiteOf,
    visit: Annotated[Visit, Depends(RequireScope("raters"))],
    name: Name,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[RaterShown]:
    """List the raters of a campaign in the order in which they entered. Ids in exports are others."""
    of = f"raters of {name}"
    (last,) = read_cursor(site, of, after) or [-1]
    found = pagination.list_raters_after(site.platform, name, staff_id=visit.staff.id, after=last, most=limit + 1)
    raters, following = paginate(site, of, found, limit, lambda rater: rater.number)
    return CursorPage(data=[RaterShown.model_validate(rater) for rater in raters], next=following)


@router.delete("/raters/{rater_id}", operation_id="withdraw_rater")
def withdraw(
    site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("withdraw-for"))], name: Name, rater_id: RaterId
) -> Erased:
    """Erase all that a rater said, who asked for it. It cannot be undone."""
    n = withdrawal.withdraw_for(site.platform, name, rater_id, staff_id=visit.staff.id, now=site.clock())
    return Erased(items=n)


@router.get("/members", operation_id="list_members")
def list_members(site: SiteOf, visit: ByStaff, name: Name) -> Members:
    """List who belongs to a campaign, and the links that nobody has used."""
    return _members(site, visit, name)


def _members(site: Site, visit: Visit, name: str) -> Members:
    members, pending = members_workflow.list_members(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    return Members(
        members=[Member(id=one.staff_id, name=one.name, role=one.role, since=one.created_at) for one in members],
        invitations=[Invited.model_validate(one) for one in pending],
    )


@router.post("/members", operation_id="invite_member", status_code=201)
def invite(site: SiteOf, visit: ByStaff, request: Request, name: Name, sent: MemberInvitationRequest) -> MemberLink:
    """Make a link by which somebody comes to belong to a campaign, once."""
    now = site.clock()
    key = members_workflow.create_member_invitation(site.platform, name, sent.role, staff_id=visit.staff.id, now=now)
    link = f"{site.address_for(request)}/join/{key}"
    return MemberLink(role=sent.role, expires_at=now + members_workflow.INVITATION_LIFETIME, link=link)


@router.delete("/members/invitations/{invitation_id}", operation_id="take_invitation_back")
def take_back(site: SiteOf, visit: ByStaff, name: Name, invitation_id: MemberId) -> Members:
    """Take a link back that nobody has used."""
    members_workflow.revoke_member_invitation(site.platform, name, invitation_id, staff_id=visit.staff.id)
    return _members(site, visit, name)


@router.put("/members/{member_id}/role", operation_id="change_role")
def change_role(site: SiteOf, visit: ByStaff, name: Name, member_id: MemberId, sent: MemberRoleRequest) -> Member:
    """Change what somebody is in a campaign; its last owner stays one."""
    member = _member(site, visit, name, member_id)
    members_workflow.change_role(site.platform, name, member.name, sent.role, staff_id=visit.staff.id, now=site.clock())
    return member.model_copy(update={"role": sent.role})


@router.delete("/members/{member_id}", operation_id="remove_member")
def remove(site: SiteOf, visit: ByStaff, name: Name, member_id: MemberId) -> Member:
    """Let somebody not belong to a campaign any more, at once; its last owner stays."""
    member = _member(site, visit, name, member_id)
    members_workflow.remove_member(site.platform, name, member.name, staff_id=visit.staff.id, now=site.clock())
    return member


def _member(site: Site, visit: Visit, name: str, member_id: str) -> Member:
    for member in _members(site, visit, name).members:
        if member.id == member_id:
            return member
    raise NotFound(f"Nobody with the id {format_value(member_id)} belongs to {name}. /members lists who does.")
