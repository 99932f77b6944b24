"""Entry of raters: warning and consent; before consent, only recruiter ids and their repeat visits are stored."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Cookie, Depends, Form, Query, Request
from fastapi.responses import Response

from dissensus.errors import Conflict, DissensusError, NotAllowed
from dissensus.recruit.entry import ReturnLink
from dissensus.schema.campaign.completion_codes import Outcome
from dissensus.schema.campaign.definition import Campaign
from dissensus.web.core.forms import MAX_FIELD_BYTES, check_storable
from dissensus.web.core.rater_auth import SESSION_COOKIE, SessionKey
from dissensus.web.core.renderer import PageContext
from dissensus.web.core.responses import SubmittedForm, page, redirect_to
from dissensus.web.core.signed_tokens import ARRIVAL_S
from dissensus.web.core.site import Site, address_digest
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.core.translations import languages, negotiate_language
from dissensus.workflows.rater import enrolment, recruitment
from dissensus.workflows.rater.enrolment import SESSION_LIFETIME, Arrival
from dissensus.workflows.rater.invite_links import EntryStatus, check_entry

if TYPE_CHECKING:
    from dissensus.workflows.rater.invite_links import Admission


router = APIRouter(
    dependencies=[Depends(check_storable), Depends(Public("enter"))], form_limits={"max_part_size": MAX_FIELD_BYTES}
)

ARRIVAL_COOKIE, AWAY_COOKIE = "dissensus_arrival", "dissensus_turned_away"
AWAY_S: Final = 30 * 24 * 3600
"""Lifetime of the turned-away cookie, which stops retries with other answers."""
MAX_KEY_LENGTH: Final = 200
MAX_LANGUAGE_LENGTH: Final = 100
AwayToken = Annotated[str, Cookie(alias=AWAY_COOKIE, max_length=500)]
ArrivalToken = Annotated[str, Cookie(alias=ARRIVAL_COOKIE, max_length=2000)]
Language = Annotated[str, Query(max_length=MAX_LANGUAGE_LENGTH)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningPage:
    """Content warning, the first page of a rater."""

    template: ClassVar[str] = "rater/entry-warning.html"

    language: str
    campaign: Campaign
    parameters: Mapping[str, str]
    return_link: ReturnLink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOpenPage:
    """Reason why entry is closed: the campaign is a draft, paused, closed or full."""

    template: ClassVar[str] = "rater/entry-not-open.html"

    language: str
    campaign: Campaign
    parameters: Mapping[str, str]
    state: "Admission"
    return_link: ReturnLink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPage:
    """Consent form, first or renewed; signed-in raters can withdraw instead."""

    template: ClassVar[str] = "rater/entry-consent.html"

    language: str
    campaign: Campaign
    action: str
    recruited: bool = False
    form_token: str | None = None
    withdrawal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclinedPage:
    """Consent was declined."""

    template: ClassVar[str] = "rater/entry-declined.html"

    language: str
    return_link: ReturnLink | None = None
    expired: bool = False  # True for a page that was opened again afterwards, or too late


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAwayPage:
    """No seat was left; nothing is stored but the recruiter's submission id."""

    template: ClassVar[str] = "rater/entry-turned-away.html"

    language: str
    campaign: Campaign
    recruited: bool = False
    return_link: ReturnLink | None = None


@router.get("/c/{name}")
def show_warning(
    site: SiteOf,
    request: Request,
    name: str,
    key: Annotated[str, Query(max_length=MAX_KEY_LENGTH)] = "",
    lang: Language = "",
    session: SessionKey = "",
    away: AwayToken = "",
) -> Response:
    """Show the content warning; raters who are signed in or return by their link continue at once."""
    ids, now = _collect_parameters(request.query_params), site.clock()
    resumed = enrolment.resume_session(site.platform, name, key, ids, now=now)
    if resumed is not None:
        return _sign_in(site, resumed[1])
    if session and enrolment.is_participant(site.platform, name, session, ids, now=now):
        return redirect_to("/rate")
    entry = check_entry(site.platform, name, key, ids, now=now)
    language = negotiate_language(lang or request.headers.get("accept-language", ""), entry.campaign.languages)
    was_away = bool(away) and site.tokens.is_turned_away(away, entry.campaign_id)
    parameters = {"key": key, **(entry.recruit_entry.query if entry.recruit_entry else {})}
    return page(site, _entry_page(site, entry, language, parameters, was_away=was_away))


def _entry_page(
    site: Site, entry: EntryStatus, language: str, parameters: Mapping[str, str], *, was_away: bool
) -> PageContext:
    """Return the page of an entry link; nothing is stored before consent."""
    campaign, return_link = entry.campaign, _return_link(entry, "quota_full")
    # The cookie marks a browser, so it does not apply to visitors with recruiter ids.
    if entry.state == "away" or (entry.state == "open" and was_away and entry.recruit_entry is None):
        return TurnedAwayPage(
            language=language, campaign=campaign, recruited=entry.recruit_entry is not None, return_link=return_link
        )
    if entry.state == "open":
        return_link = _return_link(entry, "no_consent")
        return WarningPage(language=language, campaign=campaign, parameters=parameters, return_link=return_link)
    if entry.state == "again" and entry.recruit_entry is not None:
        recruitment.count_repeat_visit(site.platform, entry.campaign_id, entry.recruit_entry)
    return_link = return_link if entry.state in ("full", "closed") else None
    return NotOpenPage(
        language=language, campaign=campaign, parameters=parameters, state=entry.state, return_link=return_link
    )


def _return_link(entry: EntryStatus, outcome: Outcome) -> ReturnLink | None:
    recruit_entry = entry.recruit_entry
    return None if recruit_entry is None else recruitment.return_link(entry.campaign, outcome, recruit_entry.person)


def _collect_parameters(parameters: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters among which the campaign finds the recruiter's ids."""
    return {name: str(value)[:MAX_KEY_LENGTH] for name, value in parameters.items()}


@router.post("/c/{name}")
def accept_warning(
    site: SiteOf,
    name: str,
    key: Annotated[str, Form(max_length=MAX_KEY_LENGTH)],
    language: Annotated[str, Form(max_length=MAX_LANGUAGE_LENGTH)],
    form: SubmittedForm,
) -> Response:
    """Continue to the consent form; nothing is stored yet."""
    now = site.clock()
    entry = check_entry(site.platform, name, key, _collect_parameters(form), now=now)
    arrival = Arrival(
        name,
        key,
        negotiate_language(language, entry.campaign.languages),
        enrolment.new_entry_id(now),
        entry.recruit_entry,
    )
    if entry.state != "open":
        return _redirect_to_entry(arrival)
    response = redirect_to(f"/c/{name}/consent")
    site.set_cookie(response, ARRIVAL_COOKIE, site.tokens.sign_arrival(arrival, now=now), ARRIVAL_S)
    return response


def _redirect_to_entry(arrival: Arrival) -> Response:
    """Redirect to the entry page, which explains why entry is closed."""
    query = urlencode({"key": arrival.key, "lang": arrival.language, **arrival.ids})
    return redirect_to(f"/c/{arrival.campaign}?{query}")


def negotiate_browser_language(request: Request, lang: str) -> str:
    """Negotiate a language of the interface from the query parameter, else from the browser."""
    return negotiate_language(lang or request.headers.get("accept-language", ""), languages())


@router.get("/declined")
def show_declined(site: SiteOf, request: Request, lang: Language = "", token: ArrivalToken = "") -> Response:
    """Confirm that nothing was stored, and clear the arrival cookie."""
    language = negotiate_browser_language(request, lang)
    return_link = None
    # The page is the same without an arrival token.
    with suppress(DissensusError):
        arrival = site.tokens.read_arrival(token, now=site.clock())
        return_link = _return_link(_check_arrival(site, arrival), "no_consent")
    response = page(site, DeclinedPage(language=language, return_link=return_link))
    response.delete_cookie(ARRIVAL_COOKIE)
    return response


@router.get("/c/{name}/consent")
def ask_consent(site: SiteOf, request: Request, name: str, lang: Language = "", token: ArrivalToken = "") -> Response:
    """Ask for consent."""
    try:
        arrival = _read_arrival(site, token, name)
    except NotAllowed:
        # The back button after a refusal: the cookie was deleted, as nothing is stored.
        return page(site, DeclinedPage(language=negotiate_browser_language(request, lang), expired=True))
    entry = _check_arrival(site, arrival)
    if entry.state != "open":
        return _redirect_to_entry(arrival)
    context = ConsentPage(
        language=arrival.language,
        campaign=entry.campaign,
        action=f"/c/{name}/consent",
        recruited=entry.recruit_entry is not None,
    )
    return page(site, context)


@router.post("/c/{name}/consent")
def accept_consent(
    site: SiteOf,
    request: Request,
    name: str,
    purpose: Annotated[list[str], Form()] = [],  # noqa: B006 - FastAPI copies it
    read: Annotated[str | None, Form(max_length=64)] = None,
    token: ArrivalToken = "",
) -> Response:
    """Enrol a rater who agrees; submitting again returns the same rater."""
    arrival, purposes = _read_arrival(site, token, name), dict.fromkeys(purpose, True)
    try:
        _, session = enrolment.enrol_rater(
            site.platform, arrival, purposes, text_digest=read, address=address_digest(site, request), now=site.clock()
        )
    except Conflict:
        if _check_arrival(site, arrival).state == "open":
            raise
        return _redirect_to_entry(arrival)
    return _sign_in(site, session)


def _read_arrival(site: Site, token: str, name: str) -> Arrival:
    arrival = site.tokens.read_arrival(token, now=site.clock())
    if arrival.campaign != name:
        raise NotAllowed("Open the link of this campaign again; nothing was stored.")
    return arrival


def _check_arrival(site: Site, arrival: Arrival) -> EntryStatus:
    return check_entry(site.platform, arrival.campaign, arrival.key, arrival.ids, now=site.clock())


def forget_rater(response: Response) -> None:
    """Delete the cookies by which the next person at a device could act for a rater."""
    for cookie in (SESSION_COOKIE, ARRIVAL_COOKIE):
        response.delete_cookie(cookie)


def _sign_in(site: Site, session: str) -> Response:
    response = redirect_to("/rate")
    site.set_cookie(response, SESSION_COOKIE, session, int(SESSION_LIFETIME.total_seconds()))
    return response
