"""API routes for raters and members of a campaign."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from dissensus.api_models.members import (
    InvitationResource,
    MemberLinkResource,
    MemberResource,
    MembersResource,
    RaterErasureResource,
    RaterResource,
)
from dissensus.api_models.resource import RaterStanding
from dissensus.campaign.filters.rater_filter import MAX_RATER, RaterFilter, RaterFlag, RaterOrder
from dissensus.errors import NotFound
from dissensus.schema.hints import format_value
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import MemberInvitationRequest, MemberRoleRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.restrictions import check_rater_filter
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest, log_access
from dissensus.workflows.campaign import members as members_workflow
from dissensus.workflows.campaign import raters as raters_workflow
from dissensus.workflows.rater import withdrawal

if TYPE_CHECKING:
    from dissensus.store.lists.raters import ListedRater

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Raters and members"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("staff"))]
RaterId = Annotated[str, Path(max_length=100)]
MemberId = Annotated[str, Path(max_length=100)]


def read_filter(
    order: RaterOrder = "entry",
    number: Annotated[
        Annotated[int, Field(ge=1, le=MAX_RATER)] | SkipJsonSchema[None], Query(description="Number of one rater.")
    ] = None,
    standing: RaterStanding | SkipJsonSchema[None] = None,
    cell: Annotated[str, Query(max_length=200, description="Quota cell.")] = "",
    flag: RaterFlag | SkipJsonSchema[None] = None,
) -> RaterFilter:
    """Return the order and filters of a request."""
    search = "" if number is None else str(number)
    return RaterFilter(order=order, search=search, state=standing or "", cell=cell, flag=flag)


@router.get("/raters", operation_id="list_raters")
def list_raters(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(RequireScope("raters"))],
    name: Name,
    rater_filter: Annotated[RaterFilter, Depends(read_filter)],
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[RaterResource]:
    """List the raters of a campaign, by default in the order in which they entered. Ids in exports differ."""
    permissions = caller.permissions
    check_rater_filter(rater_filter, permissions)
    list_name = f"raters of {name} by {rater_filter}"
    (position,) = read_cursor(site, list_name, after) or [None]
    cursor = None if position is None else (float(position[0]), int(position[1]))
    listing = raters_workflow.list_raters(
        site.platform, name, rater_filter, after=cursor, staff_id=caller.staff.id, most=limit + 1, rated=True
    )
    rows, next_cursor = paginate(site, list_name, listing.raters, limit, lambda row: (row.sort_value, row.number))
    if "flags" in permissions and any(row.flagged or row.decision for row in rows):
        log_access(site, caller, name, "flags")
    return CursorPage(data=[_to_resource(row, listing.n_rated[row.id], permissions) for row in rows], next=next_cursor)


def _to_resource(rater: "ListedRater", n_rated: int, permissions: frozenset[str]) -> RaterResource:
    shows_flags, counts = "flags" in permissions, rater.counts
    return RaterResource(
        id=rater.id,
        number=rater.number + 1,
        standing=rater.state,
        cell=rater.cell,
        language=rater.language,
        n_rated=n_rated,
        n_skipped=counts.n_skipped,
        n_open=counts.n_open,
        n_conversations=counts.n_chats,
        n_notices=counts.n_notices if "notices" in permissions else None,
        median_ms=rater.median_ms,
        agreement=rater.agreement,
        flagged=rater.flagged if shows_flags else None,
        verdict=rater.decision.verdict if shows_flags and rater.decision else None,
        last_seen_at=rater.last_seen_at,
    )


@router.delete("/raters/{rater_id}", operation_id="withdraw_rater")
def withdraw(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(RequireScope("withdraw-for"))], name: Name, rater_id: RaterId
) -> RaterErasureResource:
    """Withdraw a rater at their request: erase all their answers. It cannot be undone."""
    n = withdrawal.withdraw_rater_for(site.platform, name, rater_id, staff_id=caller.staff.id, now=site.clock())
    return RaterErasureResource(items=n)


@router.get("/members", operation_id="list_members")
def list_members(site: SiteOf, caller: Authorized, name: Name) -> MembersResource:
    """List the members of a campaign, and its unused invitations."""
    return _members(site, caller, name)


def _members(site: Site, caller: StaffRequest, name: str) -> MembersResource:
    listed = members_workflow.list_members(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    return MembersResource(
        members=tuple(
            MemberResource(id=member.staff_id, name=member.name, role=member.role, joined_at=member.created_at)
            for member in listed.members
        ),
        invitations=tuple(map(InvitationResource.model_validate, listed.invitations)),
    )


@router.post("/members", operation_id="invite_member", status_code=201)
def invite(
    site: SiteOf, caller: Authorized, request: Request, name: Name, body: MemberInvitationRequest
) -> MemberLinkResource:
    """Create an invitation link with which one person can join a campaign."""
    now = site.clock()
    key = members_workflow.create_member_invitation(
        site.platform, name, body.role, staff_id=caller.staff.id, token_id=caller.token_id, now=now
    )
    link = f"{site.address_for(request)}/join/{key}"
    return MemberLinkResource(role=body.role, expires_at=now + members_workflow.INVITATION_LIFETIME, link=link)


@router.delete("/members/invitations/{invitation_id}", operation_id="revoke_invitation")
def revoke_invitation(site: SiteOf, caller: Authorized, name: Name, invitation_id: MemberId) -> MembersResource:
    """Revoke an unused invitation."""
    members_workflow.revoke_member_invitation(site.platform, name, invitation_id, staff_id=caller.staff.id)
    return _members(site, caller, name)


@router.put("/members/{member_id}/role", operation_id="change_role")
def change_role(
    site: SiteOf, caller: Authorized, name: Name, member_id: MemberId, body: MemberRoleRequest
) -> MemberResource:
    """Change the role of a member; the last owner cannot be changed."""
    member = _member(site, caller, name, member_id)
    members_workflow.change_role(
        site.platform, name, member.name, body.role, staff_id=caller.staff.id, now=site.clock()
    )
    return member.model_copy(update={"role": body.role})


@router.delete("/members/{member_id}", operation_id="remove_member")
def remove(site: SiteOf, caller: Authorized, name: Name, member_id: MemberId) -> MemberResource:
    """Remove a member from a campaign at once; the last owner cannot be removed."""
    member = _member(site, caller, name, member_id)
    members_workflow.remove_member(site.platform, name, member.name, staff_id=caller.staff.id, now=site.clock())
    return member


def _member(site: Site, caller: StaffRequest, name: str, member_id: str) -> MemberResource:
    for member in _members(site, caller, name).members:
        if member.id == member_id:
            return member
    raise NotFound(f"{name} has no member with the id {format_value(member_id)}. /members lists them.")
