"""How raters come in: warned, asked, and only then kept."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Cookie, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, DissensusError, NotAllowed
from dissensus.recruit.prolific import ENTRY_PARAMETERS, Outcome
from dissensus.web.core.contexts import Agreement, Declined, NotOpen, TurnedAway, Warned
from dissensus.web.core.rater_auth import SESSION_COOKIE, SessionKey
from dissensus.web.core.renderer import Context
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.signed_tokens import ARRIVAL_S
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Open, SiteOf
from dissensus.web.core.translations import chosen, languages
from dissensus.workflows.rater import enrolment, recruitment
from dissensus.workflows.rater.enrolment import SESSION, Arrival
from dissensus.workflows.rater.invite_links import Entrance, entrance
from dissensus.workflows.rater.recruitment import WayBack

router = APIRouter(dependencies=[Depends(Open("enter"))])

ARRIVAL_COOKIE, AWAY_COOKIE = "dissensus_arrival", "dissensus_away"
AWAY_S: Final = 30 * 24 * 3600
"""How long a browser remembers that there was no seat, so that nobody tries other answers."""
LONGEST_KEY: Final = 200
AwayToken = Annotated[str, Cookie(alias=AWAY_COOKIE, max_length=500)]
ArrivalToken = Annotated[str, Cookie(alias=ARRIVAL_COOKIE, max_length=2000)]
Language = Annotated[str, Query(alias="lang", max_length=40)]


@router.get("/c/{name}")
def warn(
    site: SiteOf,
    request: Request,
    name: str,
    key: Annotated[str, Query(max_length=LONGEST_KEY)] = "",
    wanted: Language = "",
    session: SessionKey = "",
    away: AwayToken = "",
) -> Response:
    """Warn of what is to be seen; who takes part already, or entered before by what they bring, goes on at once."""
    ids, now = _ids(request.query_params), site.clock()
    found = enrolment.resume(site.platform, name, key, ids, now=now)
    if found is not None:
        return _signed_in(site, found[1])
    # Whom a recruiter sends anew is somebody else than who used this browser before.
    if session and not ids and enrolment.takes_part(site.platform, name, session, now=now):
        return RedirectResponse("/rate", SEE_OTHER)
    here = entrance(site.platform, name, key, ids, now=now)
    language = chosen(wanted or request.headers.get("accept-language", ""), here.campaign.languages)
    was_away = bool(away) and site.tokens.is_away(away, here.campaign_id)
    return page(site, _entrance(site, here, language, {"key": key, **ids}, was_away=was_away))


def _entrance(site: Site, here: Entrance, language: str, brought: Mapping[str, str], *, was_away: bool) -> Context:
    """Return the page of what a link leads to; none keeps anything of who has not agreed."""
    campaign, back = here.campaign, _way_back(here, "quota_full")
    # What a browser remembers is of whom it was; whom a recruiter sends is known by themselves.
    if here.state == "away" or (here.state == "open" and was_away and here.sent is None):
        return TurnedAway(language=language, campaign=campaign, sent=here.sent is not None, back=back)
    if here.state == "open":
        refused = _way_back(here, "no_consent")
        return Warned(language=language, campaign=campaign, brought=brought, back=refused)
    if here.state == "again" and here.sent is not None:
        recruitment.came_again(site.platform, here.campaign_id, here.sent)
    back = back if here.state in ("full", "closed") else None
    return NotOpen(language=language, campaign=campaign, brought=brought, state=here.state, back=back)


def _way_back(here: Entrance, outcome: Outcome) -> WayBack | None:
    return None if here.sent is None else recruitment.way_back(here.campaign, outcome)


def _ids(brought: Mapping[str, object]) -> dict[str, str]:
    """Return the ids by which a recruiter knows who comes, as far as there are any."""
    return {name: str(brought[name])[:LONGEST_KEY] for name in ENTRY_PARAMETERS if name in brought}


@router.post("/c/{name}")
def warned(
    site: SiteOf,
    name: str,
    key: Annotated[str, Form(max_length=LONGEST_KEY)],
    language: Annotated[str, Form()],
    sent: SubmittedForm,
) -> Response:
    """Let who read the warning read on; nothing is kept of them."""
    now = site.clock()
    here = entrance(site.platform, name, key, _ids(sent), now=now)
    arrival = Arrival(name, key, chosen(language, here.campaign.languages), enrolment.entry_id(now), here.sent)
    if here.state != "open":
        return _back(arrival)
    answer = RedirectResponse(f"/c/{name}/consent", SEE_OTHER)
    site.set_cookie(answer, ARRIVAL_COOKIE, site.tokens.arrival(arrival, now=now), ARRIVAL_S)
    return answer


def _back(arrival: Arrival) -> Response:
    """Lead to the entrance, which says why nobody is let in now."""
    asked = urlencode({"key": arrival.key, "lang": arrival.language, **arrival.ids})
    return RedirectResponse(f"/c/{arrival.campaign}?{asked}", SEE_OTHER)


@router.get("/declined")
def decline(site: SiteOf, request: Request, wanted: Language = "", token: ArrivalToken = "") -> Response:
    """Say that nothing was kept of who did not agree, and forget that they came."""
    language, back = chosen(wanted or request.headers.get("accept-language", ""), languages()), None
    # Whoever comes here without having seen a warning is told the same.
    with suppress(DissensusError):
        arrival = site.tokens.read_arrival(token, now=site.clock())
        back = _way_back(_entrance_of(site, arrival), "no_consent")
    answer = page(site, Declined(language=language, back=back))
    answer.delete_cookie(ARRIVAL_COOKIE)
    return answer


@router.get("/c/{name}/consent")
def ask(site: SiteOf, name: str, token: ArrivalToken = "") -> Response:
    """Ask for consent."""
    arrival = _arrival(site, token, name)
    here = _entrance_of(site, arrival)
    if here.state != "open":
        return _back(arrival)
    action, sent = f"/c/{name}/consent", here.sent is not None
    return page(site, Agreement(language=arrival.language, campaign=here.campaign, action=action, sent=sent))


@router.post("/c/{name}/consent")
def agree(
    site: SiteOf,
    name: str,
    purpose: Annotated[list[str], Form()] = [],  # noqa: B006 - FastAPI copies it
    read: Annotated[str | None, Form(max_length=64)] = None,
    token: ArrivalToken = "",
) -> Response:
    """Let in who agrees; who sends the form again is let in as the one that they are."""
    arrival, purposes = _arrival(site, token, name), dict.fromkeys(purpose, True)
    try:
        _, session = enrolment.agree(site.platform, arrival, purposes, read=read, now=site.clock())
    except Conflict:
        if _entrance_of(site, arrival).state == "open":
            raise
        return _back(arrival)
    return _signed_in(site, session)


def _arrival(site: Site, token: str, name: str) -> Arrival:
    arrival = site.tokens.read_arrival(token, now=site.clock())
    if arrival.campaign != name:
        raise NotAllowed("Open the link of this campaign again; nothing was kept.")
    return arrival


def _entrance_of(site: Site, arrival: Arrival) -> Entrance:
    return entrance(site.platform, arrival.campaign, arrival.key, arrival.ids, now=site.clock())


def _signed_in(site: Site, session: str) -> Response:
    answer = RedirectResponse("/rate", SEE_OTHER)
    site.set_cookie(answer, SESSION_COOKIE, session, int(SESSION.total_seconds()))
    return answer
