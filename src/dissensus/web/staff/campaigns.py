"""Campaign pages: create, view, revise, open, export and clone campaigns."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.schema.campaign.definition import STATES, Campaign
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.schema.campaign.shipped import load_campaign_toml, rename_campaign
from dissensus.schema.campaign.writer import write_campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.web.core.charts import ChartScale
from dissensus.web.core.concurrency_limit import SlowRequestSlot
from dissensus.web.core.permissions import Actor, actions_of
from dissensus.web.core.rater_auth import SESSION_COOKIE
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.web.core.suppression import VisibleCampaign, restrict_campaign, restrict_overview, visible_rater_count
from dissensus.web.staff.campaign_form import CampaignProposal, read_definition, read_proposal
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.campaign.overview import CampaignOverview
from dissensus.workflows.export import ratings
from dissensus.workflows.models.registry import CampaignModel, list_campaign_models
from dissensus.workflows.platform import staff
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCampaignPage(StaffPage):
    """Form for a new campaign."""

    template: ClassVar[str] = "staff/campaigns-new.html"

    proposal: CampaignProposal
    shipped: tuple[str, ...]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionPage(StaffPage):
    """Form for a revised definition."""

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
    may: frozenset[str]
    open_link: str | None
    most_rehearsing: int
    models: tuple[CampaignModel, ...]
    accuracy: ClassVar[ChartScale] = ChartScale(0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterLinksPage(StaffPage):
    """New personal links, shown once."""

    template: ClassVar[str] = "staff/campaigns-links.html"

    name: str
    links: tuple[str, ...]


@router.get("/campaigns")
def see_all(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("list"))]) -> Response:
    """List the campaigns of the signed-in person."""
    visible = tuple(
        restrict_campaign(entry, actions_of(entry.role))
        for entry in overview.list_campaigns_of(site.platform, caller.staff)
    )
    return page(site, caller.page(CampaignsPage, campaigns=visible))


@router.get("/campaigns/new")
def propose(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("create"))],
    like: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Show the form for a new campaign, empty or with a shipped example."""
    return _proposing(site, caller, CampaignProposal(definition=load_campaign_toml(like) if like else ""))


@router.post("/campaigns/new")
def proposed(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))], sent: StaffForm, _turn: SlowRequestSlot
) -> Response:
    """Preview the campaign, create it, or return to the form."""
    found, do = read_proposal(sent), sent.get("do")
    if do == "change":
        return _proposing(site, caller, found)
    if found.faults or found.campaign is None:
        return _proposing(site, caller, found, *found.faults)
    if do != "make":
        return page(site, caller.page(CampaignPreviewPage, proposal=found))
    options = {"staff_id": caller.staff.id, "by_link": found.by_link, "now": site.clock()}
    try:
        campaigns.create_campaign(site.platform, found.campaign, found.items, **options)  # type: ignore[arg-type]
    except DissensusError as error:
        return _proposing(site, caller, found, str(error))
    return redirect_to_campaign(found.campaign.name)


def _proposing(site: Site, caller: StaffRequest, proposal: CampaignProposal, *faults: str) -> Response:
    context = caller.page(NewCampaignPage, proposal=proposal, shipped=shipped(), faults=faults)
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}")
def see(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("see"))], request: Request, name: Name
) -> Response:
    """Show a campaign."""
    whole = overview.load_overview(site.platform, name, staff_id=caller.staff.id)
    found = restrict_overview(whole, caller.may)
    if found.notices:
        log_access(site, caller, name, "notices")
    by = entry_links(site.address_for(request), found.campaign_row, found.campaign) if "links" in caller.may else None
    context = caller.page(
        CampaignPage,
        overview=found,
        n_raters=visible_rater_count(whole.numbers, caller.may),
        role=caller.role,
        may=caller.may,
        open_link=None if by is None else by.anybody,
        most_rehearsing=MAX_REHEARSAL_RATERS,
        models=list_campaign_models(site.settings.model_registry, found.campaign) if "numbers" in caller.may else (),
    )
    return page(site, context)


@router.get("/campaigns/{name}/export.csv")
def export(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("export", by_token=True))],
    name: Name,
    _turn: SlowRequestSlot,
    purpose: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Stream the finished ratings of a campaign as CSV."""
    asked = ratings.ExportOptions(purposes=tuple(purpose))
    parts = ratings.stream_ratings_csv(site.platform, name, staff_id=caller.staff.id, asked=asked, now=site.clock())
    headers = {"content-disposition": f'attachment; filename="{name}.internal.csv"'}
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/campaigns/{name}/move")
def move(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("move"))], name: Name, sent: StaffForm
) -> Response:
    """Open, pause or close a campaign."""
    asked = sent.get("to")
    to = next((state for state in STATES if state == asked), None)
    if to is None:
        raise InvalidInput(f"A campaign cannot become {format_value(asked)}. States are {format_list(STATES)}.")
    campaigns.change_state(site.platform, name, to, staff_id=caller.staff.id, now=site.clock())
    return redirect_to_campaign(name)


@router.get("/campaigns/{name}/revise")
def ask_to_revise(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("revise"))], name: Name) -> Response:
    """Show the form for another definition."""
    found = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(RevisionPage, name=name, definition=write_campaign(found))
    return page(site, context)


@router.post("/campaigns/{name}/revise")
def revise(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("revise"))], name: Name, sent: StaffForm
) -> Response:
    """Revise the definition, or show its faults."""
    found = read_definition(sent)
    fault = next(iter(found.faults), None)
    if found.campaign is not None:
        try:
            _same_name(found.campaign, name)
            campaigns.revise_campaign(site.platform, name, found.campaign, staff_id=caller.staff.id, now=site.clock())
        except (InvalidInput, Conflict) as error:
            fault = str(error)
    if fault is None:
        return redirect_to_campaign(name)
    context = caller.page(
        RevisionPage,
        name=name,
        definition=found.definition,
        faults=(fault,),
    )
    return page(site, context, 422)


def _same_name(campaign: Campaign, name: str) -> None:
    if campaign.name != name:
        raise InvalidInput(f"It is called {campaign.name}, and this campaign {name}. Clone it for another name.")


@router.post("/campaigns/{name}/clone")
def clone(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("clone"))], name: Name, sent: StaffForm
) -> Response:
    """Clone a campaign as a draft."""
    new_name = str(sent.get("new_name", "")).strip()
    rename_campaign(campaigns.load_definition(site.platform, name, staff_id=caller.staff.id), new_name)
    campaigns.clone_campaign(site.platform, name, new_name, staff_id=caller.staff.id, now=site.clock())
    return redirect_to_campaign(new_name)


@router.post("/campaigns/{name}/invite")
def invite(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("links"))],
    request: Request,
    name: Name,
    sent: StaffForm,
) -> Response:
    """Create personal links and show them once."""
    text = str(sent.get("n", "")).strip()
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInput(f"{format_value(text)} is no number of invitations. Write a whole number.")
    cell = str(sent.get("cell", "")) or None
    keys = campaigns.create_invitations(
        site.platform, name, int(text), cell=cell, staff_id=caller.staff.id, now=site.clock()
    )
    links = tuple(personal_link_url(site.address_for(request), name, key) for key in keys)
    return page(site, caller.page(RaterLinksPage, name=name, links=links))


@router.post("/campaigns/{name}/rehearse")
def rehearse(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("rehearse"))], name: Name, sent: StaffForm
) -> Response:
    """Start a preview as a rater; its answers are marked and never exported."""
    campaign = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
    asked = str(sent.get("language", ""))
    arrival = Arrival(name, "", asked if asked in campaign.languages else campaign.languages[0])
    agreed = {purpose.name: True for purpose in campaign.consent.purposes}
    _, session = enrolment.enrol_rater(site.platform, arrival, agreed, rehearsal=True, now=site.clock())
    answer = RedirectResponse("/rate", SEE_OTHER)
    site.set_cookie(answer, SESSION_COOKIE, session, int(staff.SESSION_LIFETIME.total_seconds()))
    return answer


@router.post("/campaigns/{name}/settle")
def settle(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("notices"))], name: Name, sent: StaffForm
) -> Response:
    """Settle a notice of a rater."""
    notice, again = str(sent.get("notice", "")), sent.get("then") == "show"
    overview.settle_notice(site.platform, name, notice, show_again=again, staff_id=caller.staff.id, now=site.clock())
    return redirect_to_campaign(name)


def redirect_to_campaign(name: str) -> Response:
    """Redirect to the campaign page."""
    return RedirectResponse(f"/campaigns/{name}", SEE_OTHER)
