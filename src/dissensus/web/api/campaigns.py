"""Campaigns: made, seen, opened, revised."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.requests import CreateCampaignRequest, DefinitionRequest, RaterLinksRequest, CloneCampaignRequest, CampaignStateRequest
from dissensus.web.api.schemas import CampaignDetails, CampaignLine, Links, Numbers
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, Visit, seen_in
from dissensus.web.core.suppression import listed_for, overview_for, total_for
from dissensus.workflows.campaign import campaigns, overview, pagination
from dissensus.workflows.rater.invite_links import personal_link

router = APIRouter(prefix="/api/v1/campaigns", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Campaigns"])


@router.get("", operation_id="list_campaigns")
def list_campaigns(
    site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("list"))], limit: Limit = 100, after: AfterCursor = ""
) -> CursorPage[CampaignLine]:
    """List the campaigns that who asks belongs to, the earliest first."""
    last = (read_cursor(site, "campaigns", after) or [""])[0]
    found = pagination.list_campaigns_after(site.platform, staff_id=visit.staff.id, after=last, most=limit + 1)
    lines, following = paginate(site, "campaigns", found, limit, lambda line: line.kept.id)
    return CursorPage(data=[_line(visit, line) for line in lines], next=following)


def _line(visit: Visit, line: overview.CampaignListEntry) -> CampaignLine:
    listed = listed_for(line, seen_in(visit, line.role))
    return CampaignLine(
        name=line.kept.name,
        title=dict(line.campaign.title),
        state=line.kept.state,
        role=line.role,
        owners=list(line.owners),
        raters=listed.raters,
        rated=listed.rated,
        created_at=line.kept.created_at,
    )


@router.post("", operation_id="create_campaign", status_code=201)
def create(
    site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("create"))], sent: CreateCampaignRequest, _turn: InTurn
) -> CampaignDetails:
    """Make a draft, which who asks owns."""
    campaign = parse_campaign(sent.definition)
    items = tuple(one.item() for one in sent.items)
    options = {"staff_id": visit.staff.id, "by_link": sent.by_link, "now": site.clock()}
    campaigns.create_campaign(site.platform, campaign, items, **options)  # type: ignore[arg-type]
    return _details(site, visit, campaign.name, seen_in(visit, "owner"))


@router.get("/{name}", operation_id="get_campaign")
def get(site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("see"))], name: Name) -> CampaignDetails:
    """Return all about a campaign; numbers of few are hidden from analysts."""
    return _details(site, visit, name, visit.may)


@router.post("/{name}/state", operation_id="move_campaign")
def move(
    site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("move"))], name: Name, sent: CampaignStateRequest
) -> CampaignDetails:
    """Open, pause or close a campaign."""
    campaigns.change_state(site.platform, name, sent.to, staff_id=visit.staff.id, now=site.clock())
    return _details(site, visit, name, visit.may)


@router.post("/{name}/clones", operation_id="clone_campaign", status_code=201)
def clone(
    site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("clone"))], name: Name, sent: CloneCampaignRequest
) -> CampaignDetails:
    """Make a draft with the definition and the items of a campaign, and nothing of its raters."""
    campaigns.clone_campaign(site.platform, name, sent.name, staff_id=visit.staff.id, now=site.clock())
    return _details(site, visit, sent.name, seen_in(visit, "owner"))


@router.put("/{name}/definition", operation_id="revise_campaign")
def revise(
    site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("revise"))], name: Name, sent: DefinitionRequest
) -> CampaignDetails:
    """Change all of a draft, and of a campaign that is paused what raters read and their limits."""
    campaign = parse_campaign(sent.definition)
    if campaign.name != name:
        raise InvalidInput(f"It is called {campaign.name}, and this campaign {name}. Write name = {name}.")
    campaigns.revise_campaign(site.platform, name, campaign, staff_id=visit.staff.id, now=site.clock())
    return _details(site, visit, name, visit.may)


@router.post("/{name}/invitations", operation_id="invite_raters", status_code=201)
def invite(
    site: SiteOf,
    visit: Annotated[Visit, Depends(RequireScope("links"))],
    request: Request,
    name: Name,
    sent: RaterLinksRequest,
) -> Links:
    """Make personal links for raters; each lets one in."""
    keys = campaigns.create_invitations(site.platform, name, sent.n, cell=sent.cell, staff_id=visit.staff.id, now=site.clock())
    return Links(links=[personal_link(site.address_for(request), name, key) for key in keys])


def _details(site: Site, visit: Visit, name: str, may: frozenset[str]) -> CampaignDetails:
    found = overview.load_overview(site.platform, name, staff_id=visit.staff.id)
    return CampaignDetails(
        name=name,
        state=found.kept.state,
        role=found.role,
        moves=list(found.moves),
        definition=found.campaign.as_mapping(),
        digest=found.kept.digest,
        numbers=_numbers(found, may) if "numbers" in may else None,
        created_at=found.kept.created_at,
        changed_at=found.kept.changed_at,
    )


def _numbers(found: overview.CampaignOverview, may: frozenset[str]) -> Numbers:
    total, seen = total_for(found.numbers, may), overview_for(found, may).numbers
    return Numbers(
        items=seen.n_items,
        raters=total,
        rated=None if total is None else seen.assignments["done"],
        standings=dict(seen.raters) if "small-numbers" in may else None,
    )
