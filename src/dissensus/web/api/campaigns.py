"""API routes for campaigns."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from dissensus.api_models.campaigns import CampaignNumbersResource, CampaignResource, CampaignSummaryResource
from dissensus.api_models.members import RaterLinksResource
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import (
    ArchiveRequest,
    CampaignStateRequest,
    CloneCampaignRequest,
    CreateCampaignRequest,
    DefinitionRequest,
    RaterLinksRequest,
)
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.restrictions import restrict_campaign, restrict_overview, visible_rater_count
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest, permissions_in_role
from dissensus.workflows.campaign import campaign_deletion, campaigns, opening, overview, pagination
from dissensus.workflows.rater.invite_links import entry_links, personal_link_url

router = APIRouter(prefix="/api/v1/campaigns", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Campaigns"])


@router.get("", operation_id="list_campaigns")
def list_campaigns(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(RequireScope("list"))],
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[CampaignSummaryResource]:
    """List the campaigns of the caller, the earliest first."""
    last = (read_cursor(site, "campaigns", after) or [""])[0]
    rows = pagination.list_campaigns_after(
        site.platform, staff_id=caller.staff.id, token_id=caller.token_id or "", after=last, most=limit + 1
    )
    entries, next_cursor = paginate(site, "campaigns", rows, limit, lambda entry: entry.campaign_row.id)
    return CursorPage(data=[_to_summary(caller, entry) for entry in entries], next=next_cursor)


def _to_summary(caller: StaffRequest, entry: overview.CampaignListEntry) -> CampaignSummaryResource:
    visible = restrict_campaign(entry, permissions_in_role(caller, entry.role))
    return CampaignSummaryResource(
        name=entry.campaign_row.name,
        title=dict(entry.campaign.title),
        state=entry.campaign_row.state,
        role=entry.role,
        owners=tuple(entry.owners),
        raters=visible.n_raters,
        ratings=visible.n_ratings,
        created_at=entry.campaign_row.created_at,
        archived_at=entry.campaign_row.archived_at,
    )


@router.post("", operation_id="create_campaign", status_code=201)
def create(
    site: SiteOf,
    request: Request,
    caller: Annotated[StaffRequest, Depends(RequireScope("create"))],
    body: CreateCampaignRequest,
    _slot: SlowRequestSlot,
) -> CampaignResource:
    """Create a draft, owned by the caller."""
    campaign = parse_campaign(body.definition)
    items = tuple(item.to_item() for item in body.items)
    campaigns.create_campaign(
        site.platform, campaign, items, staff_id=caller.staff.id, open_link=body.open_link, now=site.clock()
    )
    return _details(site, request, caller, campaign.name, permissions_in_role(caller, "owner"))


@router.get("/{name}", operation_id="get_campaign")
def get(
    site: SiteOf, request: Request, caller: Annotated[StaffRequest, Depends(RequireScope("see"))], name: Name
) -> CampaignResource:
    """Return a campaign; small numbers are suppressed for observers."""
    return _details(site, request, caller, name, caller.permissions)


@router.post("/{name}/state", operation_id="set_campaign_state")
def change_state(
    site: SiteOf,
    request: Request,
    caller: Annotated[StaffRequest, Depends(RequireScope("state"))],
    name: Name,
    body: CampaignStateRequest,
) -> CampaignResource:
    """Open, pause or close a campaign; a draft with errors in its check is not opened."""
    if body.state == "open":
        opening.refuse_errors(site.platform, name, site.services, staff_id=caller.staff.id)
    campaigns.change_state(site.platform, name, body.state, staff_id=caller.staff.id, now=site.clock())
    return _details(site, request, caller, name, caller.permissions)


@router.put("/{name}/archived", operation_id="archive_campaign")
def archive(
    site: SiteOf,
    request: Request,
    caller: Annotated[StaffRequest, Depends(RequireScope("archive"))],
    name: Name,
    body: ArchiveRequest,
) -> CampaignResource:
    """Archive a closed campaign, or take it out of the archive."""
    campaign_deletion.archive_campaign(
        site.platform, name, archived=body.archived, staff_id=caller.staff.id, now=site.clock()
    )
    return _details(site, request, caller, name, caller.permissions)


@router.delete("/{name}", operation_id="delete_campaign", status_code=204)
def delete(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(RequireScope("delete"))],
    name: Name,
    confirm: Annotated[str, Query(max_length=100, description="Name of the campaign, once more.")],
) -> Response:
    """Delete a draft or a closed campaign, with everything but its audit log. It cannot be undone."""
    campaign_deletion.delete_campaign(
        site.platform, name, confirmation=confirm, staff_id=caller.staff.id, now=site.clock()
    )
    return Response(status_code=204)


@router.post("/{name}/clones", operation_id="clone_campaign", status_code=201)
def clone(
    site: SiteOf,
    request: Request,
    caller: Annotated[StaffRequest, Depends(RequireScope("clone"))],
    name: Name,
    body: CloneCampaignRequest,
) -> CampaignResource:
    """Create a draft with the definition and the items of a campaign, without its raters."""
    campaigns.clone_campaign(site.platform, name, body.name, staff_id=caller.staff.id, now=site.clock())
    return _details(site, request, caller, body.name, permissions_in_role(caller, "owner"))


@router.put("/{name}/definition", operation_id="revise_campaign")
def revise(
    site: SiteOf,
    request: Request,
    caller: Annotated[StaffRequest, Depends(RequireScope("revise"))],
    name: Name,
    body: DefinitionRequest,
) -> CampaignResource:
    """Replace the definition of a draft, or the texts and limits of a paused campaign."""
    campaign = parse_campaign(body.definition)
    campaigns.revise_campaign(site.platform, name, campaign, staff_id=caller.staff.id, now=site.clock())
    return _details(site, request, caller, name, caller.permissions)


@router.post("/{name}/invitations", operation_id="invite_raters", status_code=201)
def invite(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(RequireScope("links"))],
    request: Request,
    name: Name,
    body: RaterLinksRequest,
) -> RaterLinksResource:
    """Create personal links for raters; each admits one."""
    keys = campaigns.create_invitations(
        site.platform, name, body.n, cell=body.cell, staff_id=caller.staff.id, now=site.clock()
    )
    return RaterLinksResource(links=tuple(personal_link_url(site.address_for(request), name, key) for key in keys))


def _details(
    site: Site, request: Request, caller: StaffRequest, name: str, permissions: frozenset[str]
) -> CampaignResource:
    campaign_overview = overview.load_overview(site.platform, name, staff_id=caller.staff.id)
    links = entry_links(site.address_for(request), campaign_overview.campaign_row, campaign_overview.campaign)
    return CampaignResource(
        name=name,
        state=campaign_overview.campaign_row.state,
        role=campaign_overview.role,
        allowed_states=tuple(campaign_overview.allowed_states),
        definition=campaign_overview.campaign.as_mapping(),
        digest=campaign_overview.campaign_row.digest,
        numbers=_numbers(campaign_overview, permissions) if "numbers" in permissions else None,
        open_link=links.anybody if "links" in permissions else None,
        created_at=campaign_overview.campaign_row.created_at,
        updated_at=campaign_overview.campaign_row.changed_at,
        archived_at=campaign_overview.campaign_row.archived_at,
    )


def _numbers(campaign_overview: overview.CampaignOverview, permissions: frozenset[str]) -> CampaignNumbersResource:
    total = visible_rater_count(campaign_overview.numbers, permissions)
    numbers = restrict_overview(campaign_overview, permissions).numbers
    return CampaignNumbersResource(
        items=numbers.n_items,
        raters=total,
        ratings=None if total is None else numbers.n_done,
        standings=dict(numbers.raters) if "small-numbers" in permissions else None,
    )
