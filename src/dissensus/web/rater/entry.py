"""Entry of raters: warning and consent; nothing is stored before they agree."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Cookie, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, DissensusError, NotAllowed
from dissensus.recruit.prolific import ENTRY_PARAMETERS, Outcome
from dissensus.schema.campaign.definition import Campaign
from dissensus.web.core.forms import check_storable
from dissensus.web.core.rater_auth import SESSION_COOKIE, SessionKey
from dissensus.web.core.renderer import PageContext
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.signed_tokens import ARRIVAL_S
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.core.translations import languages, negotiate_language
from dissensus.workflows.rater import enrolment, recruitment
from dissensus.workflows.rater.enrolment import SESSION_LIFETIME, Arrival
from dissensus.workflows.rater.invite_links import EntryStatus, check_entry
from dissensus.workflows.rater.recruitment import ReturnLink

if TYPE_CHECKING:
    from dissensus.workflows.rater.invite_links import Admission


router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("enter"))])

ARRIVAL_COOKIE, AWAY_COOKIE = "dissensus_arrival", "dissensus_away"
AWAY_S: Final = 30 * 24 * 3600
"""Lifetime of the turned-away cookie, which stops retries with other answers."""
MAX_KEY_LENGTH: Final = 200
AwayToken = Annotated[str, Cookie(alias=AWAY_COOKIE, max_length=500)]
ArrivalToken = Annotated[str, Cookie(alias=ARRIVAL_COOKIE, max_length=2000)]
Language = Annotated[str, Query(alias="lang", max_length=40)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningPage:
    """Content warning, the first page of a rater."""

    template: ClassVar[str] = "rater/entry-warning.html"

    language: str
    campaign: Campaign
    brought: Mapping[str, str]
    back: ReturnLink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOpenPage:
    """Entry is closed: the campaign is a draft, paused, closed or full."""

    template: ClassVar[str] = "rater/entry-not-open.html"

    language: str
    campaign: Campaign
    brought: Mapping[str, str]
    state: "Admission"
    back: ReturnLink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPage:
    """Consent form, first or renewed; signed-in raters can withdraw instead."""

    template: ClassVar[str] = "rater/entry-consent.html"

    language: str
    campaign: Campaign
    action: str
    sent: bool = False
    form_token: str | None = None
    withdrawal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclinedPage:
    """Consent was declined."""

    template: ClassVar[str] = "rater/entry-declined.html"

    language: str
    back: ReturnLink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAwayPage:
    """No seat was left; nothing is stored but the recruiter's submission id."""

    template: ClassVar[str] = "rater/entry-turned-away.html"

    language: str
    campaign: Campaign
    sent: bool = False
    back: ReturnLink | None = None


@router.get("/c/{name}")
def warn(
    site: SiteOf,
    request: Request,
    name: str,
    key: Annotated[str, Query(max_length=MAX_KEY_LENGTH)] = "",
    wanted: Language = "",
    session: SessionKey = "",
    away: AwayToken = "",
) -> Response:
    """Show the content warning; raters who are signed in or return by their link continue at once."""
    ids, now = _ids(request.query_params), site.clock()
    found = enrolment.resume_session(site.platform, name, key, ids, now=now)
    if found is not None:
        return _signed_in(site, found[1])
    # Whom a recruiter sends anew is somebody else than who used this browser before.
    if session and not ids and enrolment.is_participant(site.platform, name, session, now=now):
        return RedirectResponse("/rate", SEE_OTHER)
    here = check_entry(site.platform, name, key, ids, now=now)
    language = negotiate_language(wanted or request.headers.get("accept-language", ""), here.campaign.languages)
    was_away = bool(away) and site.tokens.is_away(away, here.campaign_id)
    return page(site, _entrance(site, here, language, {"key": key, **ids}, was_away=was_away))


def _entrance(
    site: Site, here: EntryStatus, language: str, brought: Mapping[str, str], *, was_away: bool
) -> PageContext:
    """Return the page of an entry link; nothing is stored before consent."""
    campaign, back = here.campaign, _way_back(here, "quota_full")
    # What a browser remembers is of whom it was; whom a recruiter sends is known by themselves.
    if here.state == "away" or (here.state == "open" and was_away and here.sent is None):
        return TurnedAwayPage(language=language, campaign=campaign, sent=here.sent is not None, back=back)
    if here.state == "open":
        refused = _way_back(here, "no_consent")
        return WarningPage(language=language, campaign=campaign, brought=brought, back=refused)
    if here.state == "again" and here.sent is not None:
        recruitment.count_return_visit(site.platform, here.campaign_id, here.sent)
    back = back if here.state in ("full", "closed") else None
    return NotOpenPage(language=language, campaign=campaign, brought=brought, state=here.state, back=back)


def _way_back(here: EntryStatus, outcome: Outcome) -> ReturnLink | None:
    return None if here.sent is None else recruitment.return_link(here.campaign, outcome)


def _ids(brought: Mapping[str, object]) -> dict[str, str]:
    """Return the recruiter's ids from the query."""
    return {name: str(brought[name])[:MAX_KEY_LENGTH] for name in ENTRY_PARAMETERS if name in brought}


@router.post("/c/{name}")
def warned(
    site: SiteOf,
    name: str,
    key: Annotated[str, Form(max_length=MAX_KEY_LENGTH)],
    language: Annotated[str, Form()],
    sent: SubmittedForm,
) -> Response:
    """Let who read the warning read on; nothing is kept of them."""
    now = site.clock()
    here = check_entry(site.platform, name, key, _ids(sent), now=now)
    arrival = Arrival(
        name, key, negotiate_language(language, here.campaign.languages), enrolment.new_entry_id(now), here.sent
    )
    if here.state != "open":
        return _back(arrival)
    answer = RedirectResponse(f"/c/{name}/consent", SEE_OTHER)
    site.set_cookie(answer, ARRIVAL_COOKIE, site.tokens.arrival(arrival, now=now), ARRIVAL_S)
    return answer


def _back(arrival: Arrival) -> Response:
    """Redirect to the entry page, which explains why entry is closed."""
    asked = urlencode({"key": arrival.key, "lang": arrival.language, **arrival.ids})
    return RedirectResponse(f"/c/{arrival.campaign}?{asked}", SEE_OTHER)


@router.get("/declined")
def decline(site: SiteOf, request: Request, wanted: Language = "", token: ArrivalToken = "") -> Response:
    """Confirm that nothing was stored, and clear the arrival cookie."""
    language, back = negotiate_language(wanted or request.headers.get("accept-language", ""), languages()), None
    # Whoever comes here without having seen a warning is told the same.
    with suppress(DissensusError):
        arrival = site.tokens.read_arrival(token, now=site.clock())
        back = _way_back(_entrance_of(site, arrival), "no_consent")
    answer = page(site, DeclinedPage(language=language, back=back))
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
    return page(site, ConsentPage(language=arrival.language, campaign=here.campaign, action=action, sent=sent))


@router.post("/c/{name}/consent")
def agree(
    site: SiteOf,
    name: str,
    purpose: Annotated[list[str], Form()] = [],  # noqa: B006 - FastAPI copies it
    read: Annotated[str | None, Form(max_length=64)] = None,
    token: ArrivalToken = "",
) -> Response:
    """Enrol a rater who agrees; submitting again returns the same rater."""
    arrival, purposes = _arrival(site, token, name), dict.fromkeys(purpose, True)
    try:
        _, session = enrolment.enrol_rater(site.platform, arrival, purposes, read=read, now=site.clock())
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


def _entrance_of(site: Site, arrival: Arrival) -> EntryStatus:
    return check_entry(site.platform, arrival.campaign, arrival.key, arrival.ids, now=site.clock())


def _signed_in(site: Site, session: str) -> Response:
    answer = RedirectResponse("/rate", SEE_OTHER)
    site.set_cookie(answer, SESSION_COOKIE, session, int(SESSION_LIFETIME.total_seconds()))
    return answer
