"""What staff do with campaigns: make them, see them, and take them through their lives."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.schema.campaign.definition import STATES, Campaign
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.schema.campaign.shipped import renamed, text_of
from dissensus.schema.campaign.writer import write_campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.permissions import may
from dissensus.web.core.rater_auth import SESSION_COOKIE
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit, looked
from dissensus.web.core.suppression import listed_for, overview_for, total_for
from dissensus.web.staff.campaign_contexts import CampaignPage, Campaigns, Invited, Proposing, Revising, Understood
from dissensus.web.staff.campaign_form import Proposal, read_definition, read_proposal
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.export import ratings
from dissensus.workflows.models.registry import list_campaign_models
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import doors, personal_link

router = APIRouter()

MOST_REHEARSING: Final = 20
"""Raters of a dry run that is started on a page."""


@router.get("/campaigns")
def see_all(site: SiteOf, visit: Annotated[Visit, Depends(May("list"))]) -> Response:
    """List the campaigns that somebody belongs to."""
    lines = tuple(listed_for(line, may(line.role)) for line in overview.list_campaigns_of(site.platform, visit.staff))
    return page(site, Campaigns(owner=visit.staff.name, form_token=visit.form_token, lines=lines))


@router.get("/campaigns/new")
def propose(
    site: SiteOf, visit: Annotated[Visit, Depends(May("create"))], like: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """Show the form for a new campaign, empty or with one that ships."""
    return _proposing(site, visit, Proposal(definition=text_of(like) if like else ""))


@router.post("/campaigns/new")
def proposed(site: SiteOf, visit: Annotated[Visit, Depends(May("create"))], sent: Sent, _turn: InTurn) -> Response:
    """Show what was understood, or make the campaign, or go back to the form."""
    found, do = read_proposal(sent), sent.get("do")
    if do == "change":
        return _proposing(site, visit, found)
    if found.faults or found.campaign is None:
        return _proposing(site, visit, found, *found.faults)
    if do != "make":
        return page(site, Understood(owner=visit.staff.name, form_token=visit.form_token, proposal=found))
    options = {"staff_id": visit.staff.id, "by_link": found.by_link, "now": site.clock()}
    try:
        campaigns.create_campaign(site.platform, found.campaign, found.items, **options)  # type: ignore[arg-type]
    except DissensusError as error:
        return _proposing(site, visit, found, str(error))
    return back(found.campaign.name)


def _proposing(site: Site, visit: Visit, proposal: Proposal, *faults: str) -> Response:
    context = Proposing(
        owner=visit.staff.name, form_token=visit.form_token, proposal=proposal, shipped=shipped(), faults=faults
    )
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}")
def see(site: SiteOf, visit: Annotated[Visit, Depends(May("see"))], request: Request, name: Name) -> Response:
    """Show a campaign."""
    whole = overview.load_overview(site.platform, name, staff_id=visit.staff.id)
    found = overview_for(whole, visit.may)
    if found.notices:
        looked(site, visit, name, "notices")
    by = doors(site.address_for(request), found.kept, found.campaign) if "links" in visit.may else None
    context = CampaignPage(
        owner=visit.staff.name,
        form_token=visit.form_token,
        found=found,
        n_raters=total_for(whole.numbers, visit.may),
        role=visit.role,
        may=visit.may,
        open_link=None if by is None else by.anybody,
        most_rehearsing=MOST_REHEARSING,
        lines=list_campaign_models(site.settings.models, found.campaign) if "numbers" in visit.may else (),
    )
    return page(site, context)


@router.get("/campaigns/{name}/export.csv")
def export(
    site: SiteOf,
    visit: Annotated[Visit, Depends(May("export", by_token=True))],
    name: Name,
    _turn: InTurn,
    purpose: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Send the finished ratings of a campaign, part by part."""
    asked = ratings.ExportOptions(purposes=tuple(purpose))
    parts = ratings.stream_ratings_csv(site.platform, name, staff_id=visit.staff.id, asked=asked, now=site.clock())
    headers = {"content-disposition": f'attachment; filename="{name}.internal.csv"'}
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/campaigns/{name}/move")
def move(site: SiteOf, visit: Annotated[Visit, Depends(May("move"))], name: Name, sent: Sent) -> Response:
    """Open, pause or close a campaign."""
    asked = sent.get("to")
    to = next((state for state in STATES if state == asked), None)
    if to is None:
        raise InvalidInput(f"A campaign cannot become {format_value(asked)}. States are {format_list(STATES)}.")
    campaigns.change_state(site.platform, name, to, staff_id=visit.staff.id, now=site.clock())
    return back(name)


@router.get("/campaigns/{name}/revise")
def ask_to_revise(site: SiteOf, visit: Annotated[Visit, Depends(May("revise"))], name: Name) -> Response:
    """Show the form for another definition."""
    found = campaigns.load_definition(site.platform, name, staff_id=visit.staff.id)
    context = Revising(owner=visit.staff.name, form_token=visit.form_token, name=name, definition=write_campaign(found))
    return page(site, context)


@router.post("/campaigns/{name}/revise")
def revise(site: SiteOf, visit: Annotated[Visit, Depends(May("revise"))], name: Name, sent: Sent) -> Response:
    """Keep another definition, or show what is wrong with it."""
    found = read_definition(sent)
    fault = next(iter(found.faults), None)
    if found.campaign is not None:
        try:
            _same_name(found.campaign, name)
            campaigns.revise_campaign(site.platform, name, found.campaign, staff_id=visit.staff.id, now=site.clock())
        except (InvalidInput, Conflict) as error:
            fault = str(error)
    if fault is None:
        return back(name)
    context = Revising(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        definition=found.definition,
        faults=(fault,),
    )
    return page(site, context, 422)


def _same_name(campaign: Campaign, name: str) -> None:
    if campaign.name != name:
        raise InvalidInput(f"It is called {campaign.name}, and this campaign {name}. Clone it for another name.")


@router.post("/campaigns/{name}/clone")
def clone(site: SiteOf, visit: Annotated[Visit, Depends(May("clone"))], name: Name, sent: Sent) -> Response:
    """Make a draft like a campaign."""
    new_name = str(sent.get("new_name", "")).strip()
    renamed(campaigns.load_definition(site.platform, name, staff_id=visit.staff.id), new_name)
    campaigns.clone_campaign(site.platform, name, new_name, staff_id=visit.staff.id, now=site.clock())
    return back(new_name)


@router.post("/campaigns/{name}/invite")
def invite(
    site: SiteOf, visit: Annotated[Visit, Depends(May("links"))], request: Request, name: Name, sent: Sent
) -> Response:
    """Show new personal links."""
    text = str(sent.get("n", "")).strip()
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInput(f"{format_value(text)} is no number of invitations. Write a whole number.")
    cell = str(sent.get("cell", "")) or None
    keys = campaigns.create_invitations(site.platform, name, int(text), cell=cell, staff_id=visit.staff.id, now=site.clock())
    links = tuple(personal_link(site.address_for(request), name, key) for key in keys)
    return page(site, Invited(owner=visit.staff.name, form_token=visit.form_token, name=name, links=links))


@router.post("/campaigns/{name}/rehearse")
def rehearse(site: SiteOf, visit: Annotated[Visit, Depends(May("rehearse"))], name: Name, sent: Sent) -> Response:
    """Let somebody see what raters see; what they answer is marked, and never exported."""
    campaign = campaigns.load_definition(site.platform, name, staff_id=visit.staff.id)
    asked = str(sent.get("language", ""))
    arrival = Arrival(name, "", asked if asked in campaign.languages else campaign.languages[0])
    agreed = {purpose.name: True for purpose in campaign.consent.purposes}
    _, session = enrolment.agree(site.platform, arrival, agreed, rehearsal=True, now=site.clock())
    answer = RedirectResponse("/rate", SEE_OTHER)
    site.set_cookie(answer, SESSION_COOKIE, session, int(staff.SESSION_LIFETIME.total_seconds()))
    return answer


@router.post("/campaigns/{name}/settle")
def settle(site: SiteOf, visit: Annotated[Visit, Depends(May("notices"))], name: Name, sent: Sent) -> Response:
    """Keep that what a rater reported was dealt with."""
    notice, again = str(sent.get("notice", "")), sent.get("then") == "show"
    overview.settle_notice(site.platform, name, notice, show_again=again, staff_id=visit.staff.id, now=site.clock())
    return back(name)


def back(name: str) -> Response:
    """Return to the page of a campaign."""
    return RedirectResponse(f"/campaigns/{name}", SEE_OTHER)
