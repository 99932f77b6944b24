"""Campaign pages: create, view, revise, open, export and clone campaigns."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from dissensus.campaign.builder.template import TEMPLATES, CampaignTemplate
from dissensus.campaign.opening import Finding
from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import STATES, write_campaign
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.schema.campaign.shipped import load_campaign_toml
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.numbers import parse_digits
from dissensus.web.core.charts import ChartScale
from dissensus.web.core.permissions import Actor, actions_of
from dissensus.web.core.rater_auth import SESSION_COOKIE
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.restrictions import VisibleCampaign, restrict_campaign, restrict_overview, visible_rater_count
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Live, Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.web.staff.campaign_form import CampaignProposal, read_definition, read_proposal
from dissensus.workflows.campaign import campaigns, opening, overview, working_copies
from dissensus.workflows.campaign.overview import CampaignOverview
from dissensus.workflows.export import export_archive, ratings
from dissensus.workflows.models.campaign_models import CampaignModel, list_campaign_models
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import entry_links, personal_link_url

router = APIRouter()

MAX_REHEARSAL_RATERS: Final = 20
"""Maximum raters of a dry run that is started from a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignsPage(StaffPage):
    """Campaigns of the signed-in person."""

    template: ClassVar[str] = "staff/campaigns.html"

    campaigns: tuple[VisibleCampaign, ...]
    unfinished_campaigns: tuple[tuple[str, str, datetime], ...] = ()  # id, title and last change


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCampaignPage(StaffPage):
    """Form for a new campaign."""

    template: ClassVar[str] = "staff/campaigns-new.html"

    proposal: CampaignProposal
    shipped: tuple[str, ...]
    templates: ClassVar[tuple[CampaignTemplate, ...]] = TEMPLATES
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionPage(StaffPage):
    """Form that changes the definition."""

    template: ClassVar[str] = "staff/campaigns-revise.html"

    name: str
    definition: str = ""
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPreviewPage(StaffPage):
    """Parsed campaign before it is created."""

    template: ClassVar[str] = "staff/campaigns-preview.html"

    proposal: CampaignProposal


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPage(StaffPage):
    """One campaign: state, numbers and possible actions."""

    template: ClassVar[str] = "staff/campaigns-detail.html"

    overview: CampaignOverview
    n_raters: int | None
    role: Actor
    permissions: frozenset[str]
    open_link: str | None
    max_rehearsal_raters: int
    models: tuple[CampaignModel, ...]
    findings: tuple[Finding, ...] = ()
    accuracy_scale: ClassVar[ChartScale] = ChartScale(0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterLinksPage(StaffPage):
    """New personal links, shown once."""

    template: ClassVar[str] = "staff/campaigns-links.html"

    name: str
    links: tuple[str, ...]


@router.get("/campaigns")
def list_campaigns(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("list"))]) -> Response:
    """List the campaigns of the signed-in person."""
    visible = tuple(
        restrict_campaign(entry, actions_of(entry.role))
        for entry in overview.list_campaigns_of(site.platform, caller.staff)
    )
    copies = working_copies.list_working_copies(site.platform, staff_id=caller.staff.id)
    unfinished = tuple((row.id, working_copies.title_of(row.head), row.changed_at) for row in copies)
    return page(site, caller.page(CampaignsPage, campaigns=visible, unfinished_campaigns=unfinished))


@router.get("/campaigns/new")
def show_new_campaign(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("create"))],
    example: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Show the form for a new campaign, empty or with a shipped example."""
    return _new_campaign_page(site, caller, CampaignProposal(definition=load_campaign_toml(example) if example else ""))


@router.post("/campaigns/new")
def create_campaign(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))], form: StaffForm, _slot: SlowRequestSlot
) -> Response:
    """Preview the campaign, create it, or return to the form."""
    proposal, action = read_proposal(form), form.get("action")
    if action == "change":
        return _new_campaign_page(site, caller, proposal)
    if proposal.faults or proposal.campaign is None:
        return _new_campaign_page(site, caller, proposal, *proposal.faults)
    if action != "create":
        return page(site, caller.page(CampaignPreviewPage, proposal=proposal))
    try:
        campaigns.create_campaign(
            site.platform,
            proposal.campaign,
            proposal.items,
            open_link=proposal.open_link,
            staff_id=caller.staff.id,
            now=site.clock(),
        )
    except (InvalidInput, Conflict) as error:
        return _new_campaign_page(site, caller, proposal, site_message(error))
    return redirect_to_campaign(proposal.campaign.name)


def _new_campaign_page(site: Site, caller: StaffRequest, proposal: CampaignProposal, *faults: str) -> Response:
    context = caller.page(NewCampaignPage, proposal=proposal, shipped=shipped(), faults=faults)
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}")
def show_campaign(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("see"))],
    request: Request,
    name: Name,
    live: Live = False,
) -> Response:
    """Show a campaign."""
    full_overview = overview.load_overview(site.platform, name, staff_id=caller.staff.id)
    visible = restrict_overview(full_overview, caller.permissions - {"notices"} if live else caller.permissions)
    if visible.notices:
        log_access(site, caller, name, "notices")
    links = (
        entry_links(site.address_for(request), visible.campaign_row, visible.campaign)
        if "links" in caller.permissions
        else None
    )
    context = caller.page(
        CampaignPage,
        overview=visible,
        n_raters=visible_rater_count(full_overview.numbers, caller.permissions),
        role=caller.role,
        permissions=caller.permissions,
        open_link=None if links is None else links.anybody,
        max_rehearsal_raters=MAX_REHEARSAL_RATERS,
        models=list_campaign_models(site.settings.model_registry, visible.campaign)
        if "numbers" in caller.permissions
        else (),
        findings=opening.check_draft(
            site.platform, name, site.services, staff_id=caller.staff.id, max_items=opening.MAX_ITEMS
        )
        if "state" in caller.permissions
        else (),
    )
    return page(site, context)


Exporter = Annotated[StaffRequest, Depends(Require("export", by_token=True))]
Purposes = Annotated[tuple[str, ...], Query()]


@router.get("/campaigns/{name}/export.csv")
def export_ratings(
    site: SiteOf, caller: Exporter, name: Name, _slot: SlowRequestSlot, purpose: Purposes = ()
) -> Response:
    """Send the finished ratings of a campaign as CSV."""
    options = ratings.ExportOptions(purposes=purpose)
    parts = ratings.stream_ratings_csv(site.platform, name, staff_id=caller.staff.id, options=options, now=site.clock())
    return site.downloads.respond(
        caller.staff.id, parts, media_type="text/csv; charset=utf-8", name=f"{name}.internal.csv"
    )


@router.get("/campaigns/{name}/export.zip")
def export_folder(
    site: SiteOf, caller: Exporter, name: Name, _slot: SlowRequestSlot, purpose: Purposes = ()
) -> Response:
    """Send the ratings, pairs or conversations of a campaign, with images of items, as a ZIP archive."""
    options = ratings.ExportOptions(purposes=purpose)
    parts = export_archive.stream_archive(
        site.platform, name, staff_id=caller.staff.id, options=options, now=site.clock()
    )
    return site.downloads.respond(caller.staff.id, parts, media_type="application/zip", name=f"{name}.internal.zip")


@router.post("/campaigns/{name}/state")
def change_state(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("state"))], name: Name, form: StaffForm
) -> Response:
    """Open, pause or close a campaign."""
    new_state = next((state for state in STATES if state == form.get("state")), None)
    if new_state is None:
        raise InvalidInput(
            f"A campaign cannot become {format_value(form.get('state'))}. States are {format_list(STATES)}."
        )
    if new_state == "open":
        opening.refuse_errors(site.platform, name, site.services, staff_id=caller.staff.id)
    campaigns.change_state(site.platform, name, new_state, staff_id=caller.staff.id, now=site.clock())
    return redirect_to_campaign(name)


@router.get("/campaigns/{name}/revise")
def show_revise_form(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("revise"))], name: Name) -> Response:
    """Show the form that changes the definition."""
    campaign = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(RevisionPage, name=name, definition=write_campaign(campaign))
    return page(site, context)


@router.post("/campaigns/{name}/revise")
def revise_campaign(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("revise"))], name: Name, form: StaffForm
) -> Response:
    """Change the definition, or return to the form with its faults."""
    proposal = read_definition(form)
    fault = next(iter(proposal.faults), None)
    if proposal.campaign is not None:
        try:
            campaigns.revise_campaign(
                site.platform, name, proposal.campaign, staff_id=caller.staff.id, now=site.clock()
            )
        except (InvalidInput, Conflict) as error:
            fault = site_message(error)
    if fault is None:
        return redirect_to_campaign(name)
    context = caller.page(
        RevisionPage,
        name=name,
        definition=proposal.definition,
        faults=(fault,),
    )
    return page(site, context, 422)


@router.post("/campaigns/{name}/clone")
def clone_campaign(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("clone"))], name: Name, form: StaffForm
) -> Response:
    """Clone a campaign as a draft."""
    new_name = str(form.get("new_name", "")).strip()
    campaigns.clone_campaign(site.platform, name, new_name, staff_id=caller.staff.id, now=site.clock())
    return redirect_to_campaign(new_name)


@router.post("/campaigns/{name}/invite")
def create_links(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("links"))],
    request: Request,
    name: Name,
    form: StaffForm,
) -> Response:
    """Create personal links and show them once."""
    text = str(form.get("n", "")).strip()
    n = parse_digits(text)
    if n is None:
        raise InvalidInput(f"{format_value(text)} is not a valid number of invitations. Write a whole number.")
    cell = str(form.get("cell", "")) or None
    keys = campaigns.create_invitations(site.platform, name, n, cell=cell, staff_id=caller.staff.id, now=site.clock())
    links = tuple(personal_link_url(site.address_for(request), name, key) for key in keys)
    return page(site, caller.page(RaterLinksPage, name=name, links=links))


@router.post("/campaigns/{name}/rehearse")
def start_preview(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("rehearse"))], name: Name, form: StaffForm
) -> Response:
    """Start a preview as a rater; its answers are marked and never exported."""
    campaign = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
    language = str(form.get("language", ""))
    arrival = Arrival(name, "", language if language in campaign.languages else campaign.languages[0])
    purposes = {purpose.name: True for purpose in campaign.consent.purposes}
    _, session = enrolment.enrol_rater(site.platform, arrival, purposes, rehearsal=True, now=site.clock())
    response = redirect_to("/rate")
    site.set_cookie(response, SESSION_COOKIE, session, int(enrolment.SESSION_LIFETIME.total_seconds()))
    return response


def redirect_to_campaign(name: str) -> Response:
    """Redirect to the campaign page."""
    return redirect_to(f"/campaigns/{name}")
