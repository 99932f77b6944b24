"""What owners do: sign in, make campaigns, and take them through their lives."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Cookie, Depends, Path, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from starlette.datastructures import FormData

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed
from dissensus.schema.campaign import STATES, Campaign
from dissensus.schema.campaign_writing import write_campaign
from dissensus.schema.hints import listed, shown
from dissensus.schema.shipped_campaigns import campaigns as shipped
from dissensus.schema.shipped_campaigns import renamed, text_of
from dissensus.web.guard import MOST_UPLOADED
from dissensus.web.owner_contexts import (
    CampaignPage,
    Campaigns,
    Invited,
    Proposing,
    Revising,
    SignedOut,
    SignIn,
    Understood,
)
from dissensus.web.proposal import Proposal, read_definition, read_proposal
from dissensus.web.routes.entering import SEE_OTHER, SESSION_COOKIE, SiteOf, page
from dissensus.web.site import Site
from dissensus.workflows import campaigns, entering, exporting, overview, staff

if TYPE_CHECKING:
    from dissensus.store.staff import Owner

router = APIRouter()

COOKIE: Final = "dissensus_owner"
MOST_REHEARSING: Final = 20
"""Raters of a dry run that is started on a page."""

Key = Annotated[str, Path(max_length=100)]
Name = Annotated[str, Path(max_length=100)]


@dataclass(frozen=True, slots=True)
class Visit:
    """An owner who is signed in.

    Parameters
    ----------
    owner
        Who.
    session, form_token
        The key of the session, and what its forms carry.
    """

    owner: "Owner"
    session: str
    form_token: str


def _visit(site: SiteOf, session: Annotated[str, Cookie(alias=COOKIE, max_length=100)] = "") -> Visit:
    owner = staff.signed_in(site.platform, session, now=site.clock()) if session else None
    if owner is None:
        raise NotAllowed("You are not signed in (any more). Get a link by which you can: dissensus sign-in NAME")
    return Visit(owner, session, site.tokens.form(session))


By = Annotated[Visit, Depends(_visit)]


async def _form(request: Request, _visit: By) -> AsyncIterator[FormData]:
    # Nothing is read from whoever is not signed in.
    async with request.form(max_files=2, max_fields=20, max_part_size=MOST_UPLOADED) as sent:
        yield sent


def checked(site: SiteOf, visit: By, sent: Annotated[FormData, Depends(_form)]) -> FormData:
    """Return a form, and refuse one that is not of the session."""
    site.tokens.check_form(visit.session, str(sent.get("form_token", "")))
    return sent


Sent = Annotated[FormData, Depends(checked)]


@router.get("/sign-in/{key}")
def ask(site: SiteOf, key: Key) -> Response:
    """Offer to sign in; programs that look at links in mails do not use the link up by that."""
    staff.check_link(site.platform, key, now=site.clock())
    return page(site, SignIn(key=key, form_token=site.tokens.form(key)))


async def _small_form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=0, max_fields=5) as sent:
        yield sent


@router.post("/sign-in/{key}")
def sign_in(site: SiteOf, key: Key, sent: Annotated[FormData, Depends(_small_form)]) -> Response:
    """Sign in, and use the link up."""
    site.tokens.check_form(key, str(sent.get("form_token", "")))
    session = staff.sign_in(site.platform, key, now=site.clock())
    answer = RedirectResponse("/campaigns", SEE_OTHER)
    site.set_cookie(answer, COOKIE, session, int(staff.SESSION.total_seconds()))
    return answer


@router.post("/sign-out")
def sign_out(site: SiteOf, visit: By, sent: Sent) -> Response:
    """Sign out, here or everywhere."""
    if sent.get("where") == "everywhere":
        staff.sign_out_everywhere(site.platform, visit.owner.name)
    staff.sign_out(site.platform, visit.session)
    answer = page(site, SignedOut())
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/campaigns")
def see_all(site: SiteOf, visit: By) -> Response:
    """List the campaigns of an owner."""
    lines = overview.campaigns_of(site.platform, visit.owner)
    return page(site, Campaigns(owner=visit.owner.name, form_token=visit.form_token, lines=lines))


@router.get("/campaigns/new")
def propose(site: SiteOf, visit: By, like: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Show the form for a new campaign, empty or with one that ships."""
    return _proposing(site, visit, Proposal(definition=text_of(like) if like else ""))


@router.post("/campaigns/new")
def proposed(site: SiteOf, visit: By, sent: Sent) -> Response:
    """Show what was understood, or make the campaign, or go back to the form."""
    found, do = read_proposal(sent), sent.get("do")
    if do == "change":
        return _proposing(site, visit, found)
    if found.faults or found.campaign is None:
        return _proposing(site, visit, found, *found.faults)
    if do != "make":
        return page(site, Understood(owner=visit.owner.name, form_token=visit.form_token, proposal=found))
    options = {"staff_id": visit.owner.id, "by_link": found.by_link, "now": site.clock()}
    try:
        campaigns.create(site.platform, found.campaign, found.items, **options)  # type: ignore[arg-type]
    except DissensusError as error:
        return _proposing(site, visit, found, str(error))
    return back(found.campaign.name)


def _proposing(site: Site, visit: Visit, proposal: Proposal, *faults: str) -> Response:
    context = Proposing(
        owner=visit.owner.name, form_token=visit.form_token, proposal=proposal, shipped=shipped(), faults=faults
    )
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}")
def see(site: SiteOf, visit: By, request: Request, name: Name) -> Response:
    """Show a campaign."""
    found = overview.overview(site.platform, name, staff_id=visit.owner.id)
    context = CampaignPage(
        owner=visit.owner.name,
        form_token=visit.form_token,
        found=found,
        open_link=None if found.kept.key is None else link(site, request, name, found.kept.key),
        most_rehearsing=MOST_REHEARSING,
    )
    return page(site, context)


def link(site: Site, request: Request, name: str, key: str) -> str:
    """Return the address by which a key lets somebody in."""
    # Without a set address it is the one by which the owner came.
    address = site.settings.base_url or str(request.base_url).rstrip("/")
    return f"{address}/c/{name}?key={key}"


@router.get("/campaigns/{name}/export.csv")
def export(site: SiteOf, visit: By, name: Name, purpose: Annotated[list[str], Query()] = []) -> Response:  # noqa: B006 - FastAPI copies it
    """Send the finished ratings of a campaign, part by part."""
    asked = exporting.Asked(purposes=tuple(purpose))
    parts = exporting.stream_csv(site.platform, name, staff_id=visit.owner.id, asked=asked)
    headers = {"content-disposition": f'attachment; filename="{name}.internal.csv"'}
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/campaigns/{name}/move")
def move(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Open, pause or close a campaign."""
    asked = sent.get("to")
    to = next((state for state in STATES if state == asked), None)
    if to is None:
        raise InvalidInput(f"A campaign cannot become {shown(asked)}. States are {listed(STATES)}.")
    campaigns.move(site.platform, name, to, staff_id=visit.owner.id, now=site.clock())
    return back(name)


@router.get("/campaigns/{name}/revise")
def ask_to_revise(site: SiteOf, visit: By, name: Name) -> Response:
    """Show the form for another definition."""
    found = campaigns.definition(site.platform, name, staff_id=visit.owner.id)
    context = Revising(owner=visit.owner.name, form_token=visit.form_token, name=name, definition=write_campaign(found))
    return page(site, context)


@router.post("/campaigns/{name}/revise")
def revise(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Keep another definition, or show what is wrong with it."""
    found = read_definition(sent)
    fault = next(iter(found.faults), None)
    if found.campaign is not None:
        try:
            _same_name(found.campaign, name)
            campaigns.revise(site.platform, name, found.campaign, staff_id=visit.owner.id, now=site.clock())
        except (InvalidInput, Conflict) as error:
            fault = str(error)
    if fault is None:
        return back(name)
    context = Revising(
        owner=visit.owner.name,
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
def clone(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Make a draft like a campaign."""
    new_name = str(sent.get("new_name", "")).strip()
    renamed(campaigns.definition(site.platform, name, staff_id=visit.owner.id), new_name)
    campaigns.clone(site.platform, name, new_name, staff_id=visit.owner.id, now=site.clock())
    return back(new_name)


@router.post("/campaigns/{name}/invite")
def invite(site: SiteOf, visit: By, request: Request, name: Name, sent: Sent) -> Response:
    """Show new personal links."""
    text = str(sent.get("n", "")).strip()
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInput(f"{shown(text)} is no number of invitations. Write a whole number.")
    cell = str(sent.get("cell", "")) or None
    keys = campaigns.invite(site.platform, name, int(text), cell=cell, staff_id=visit.owner.id, now=site.clock())
    links = tuple(link(site, request, name, key) for key in keys)
    return page(site, Invited(owner=visit.owner.name, form_token=visit.form_token, name=name, links=links))


@router.post("/campaigns/{name}/rehearse")
def rehearse(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Let an owner see what raters see; what they answer is marked, and never exported."""
    campaign = campaigns.definition(site.platform, name, staff_id=visit.owner.id)
    asked = str(sent.get("language", ""))
    _, session = entering.agree(
        site.platform,
        name,
        key="",
        purposes={purpose.name: True for purpose in campaign.consent.purposes},
        language=asked if asked in campaign.languages else campaign.languages[0],
        rehearsal=True,
        now=site.clock(),
    )
    answer = RedirectResponse("/rate", SEE_OTHER)
    site.set_cookie(answer, SESSION_COOKIE, session, int(staff.SESSION.total_seconds()))
    return answer


@router.post("/campaigns/{name}/settle")
def settle(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Keep that what a rater reported was dealt with."""
    overview.settle(site.platform, name, str(sent.get("notice", "")), staff_id=visit.owner.id, now=site.clock())
    return back(name)


def back(name: str) -> Response:
    """Return to the page of a campaign."""
    return RedirectResponse(f"/campaigns/{name}", SEE_OTHER)
