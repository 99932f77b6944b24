"""Who rates, and who belongs to a campaign."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from dissensus.web.api.answers import TROUBLE
from dissensus.web.api.bearing import ByToken, TokenRoute
from dissensus.web.api.paging import After, Limit, Page, begun, page_of
from dissensus.web.api.sent import SentMember
from dissensus.web.api.shown import Erased, Invited, Member, MemberLink, Members, RaterShown
from dissensus.web.visiting import Name, SiteOf, Visit
from dissensus.workflows import listing, membership, withdrawing

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=TROUBLE, tags=["People"])

ByStaff = Annotated[Visit, Depends(ByToken("staff"))]
RaterId = Annotated[str, Path(max_length=100)]


@router.get("/raters", operation_id="list_raters")
def list_raters(
    site: SiteOf,
    visit: Annotated[Visit, Depends(ByToken("raters"))],
    name: Name,
    limit: Limit = 100,
    after: After = "",
) -> Page[RaterShown]:
    """List the raters of a campaign in the order in which they entered. Ids in exports are others."""
    of = f"raters of {name}"
    (last,) = begun(site, of, after) or [-1]
    found = listing.raters_after(site.platform, name, staff_id=visit.staff.id, after=last, most=limit + 1)
    raters, following = page_of(site, of, found, limit, lambda rater: rater.number)
    return Page(data=[RaterShown.model_validate(rater) for rater in raters], next=following)


@router.delete("/raters/{rater_id}", operation_id="withdraw_rater")
def withdraw(
    site: SiteOf, visit: Annotated[Visit, Depends(ByToken("withdraw-for"))], name: Name, rater_id: RaterId
) -> Erased:
    """Erase all that a rater said, who asked for it. It cannot be undone."""
    n = withdrawing.withdraw_for(site.platform, name, rater_id, staff_id=visit.staff.id, now=site.clock())
    return Erased(items=n)


@router.get("/members", operation_id="list_members")
def list_members(site: SiteOf, visit: ByStaff, name: Name) -> Members:
    """List who belongs to a campaign, and the links that nobody has used."""
    members, pending = membership.members(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    return Members(
        members=[Member(id=one.staff_id, name=one.name, role=one.role, since=one.created_at) for one in members],
        invitations=[Invited.model_validate(one) for one in pending],
    )


@router.post("/members", operation_id="invite_member", status_code=201)
def invite(site: SiteOf, visit: ByStaff, request: Request, name: Name, sent: SentMember) -> MemberLink:
    """Make a link by which somebody comes to belong to a campaign, once."""
    now = site.clock()
    key = membership.invite(site.platform, name, sent.role, staff_id=visit.staff.id, now=now)
    link = f"{site.address_for(request)}/join/{key}"
    return MemberLink(role=sent.role, expires_at=now + membership.INVITATION, link=link)
