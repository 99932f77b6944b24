"""How raters come in: warned, asked, and only then kept."""

from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Cookie, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from dissensus.errors import Conflict, NotAllowed
from dissensus.web.contexts import Agreement, Declined, NotOpen, TurnedAway, Warned
from dissensus.web.pages import Context
from dissensus.web.phrases import chosen, languages
from dissensus.web.site import Site
from dissensus.web.tokens import ENTRY_S, Entry
from dissensus.web.visiting import Open, SiteOf
from dissensus.workflows import entering
from dissensus.workflows.entering import SESSION

router = APIRouter(dependencies=[Depends(Open("enter"))])

SESSION_COOKIE, ENTRY_COOKIE, AWAY_COOKIE = "dissensus_rater", "dissensus_entry", "dissensus_away"
AWAY_S: Final = 30 * 24 * 3600
"""How long a browser remembers that there was no seat, so that nobody tries other answers."""
SEE_OTHER: Final = 303
SessionKey = Annotated[str, Cookie(alias=SESSION_COOKIE, max_length=100)]
AwayToken = Annotated[str, Cookie(alias=AWAY_COOKIE, max_length=500)]
EntryToken = Annotated[str, Cookie(alias=ENTRY_COOKIE, max_length=2000)]
Language = Annotated[str, Query(alias="lang", max_length=40)]


@router.get("/c/{name}")
def warn(
    site: SiteOf,
    request: Request,
    name: str,
    key: Annotated[str, Query(max_length=200)] = "",
    wanted: Language = "",
    session: SessionKey = "",
    away: AwayToken = "",
) -> Response:
    """Warn of what is to be seen; who takes part already, or came by this personal link before, goes on at once."""
    found = entering.resume(site.platform, name, key, now=site.clock())
    if found is not None:
        return _signed_in(site, found[1])
    if session and entering.takes_part(site.platform, name, session, now=site.clock()):
        return RedirectResponse("/rate", SEE_OTHER)
    here = entering.entrance(site.platform, name, key, now=site.clock())
    language = chosen(wanted or request.headers.get("accept-language", ""), here.campaign.languages)
    if here.state != "open":
        return page(site, NotOpen(language=language, campaign=here.campaign, key=key, state=here.state))
    if away and site.tokens.is_away(away, here.campaign_id):
        return page(site, TurnedAway(language=language, campaign=here.campaign))
    return page(site, Warned(language=language, campaign=here.campaign, key=key))


@router.post("/c/{name}")
def warned(
    site: SiteOf, name: str, key: Annotated[str, Form(max_length=200)], language: Annotated[str, Form()]
) -> Response:
    """Let who read the warning read on; nothing is kept of them."""
    here, now = entering.entrance(site.platform, name, key, now=site.clock()), site.clock()
    languages = here.campaign.languages
    entry = Entry(name, key, language if language in languages else languages[0], entering.entry_id(now))
    if here.state != "open":
        return _back(entry)
    answer = RedirectResponse(f"/c/{name}/consent", SEE_OTHER)
    site.set_cookie(answer, ENTRY_COOKIE, site.tokens.entry(entry, now=now), ENTRY_S)
    return answer


def _back(entry: Entry) -> Response:
    """Lead to the entrance, which says why nobody is let in now."""
    asked = urlencode({"key": entry.key, "lang": entry.language})
    return RedirectResponse(f"/c/{entry.campaign}?{asked}", SEE_OTHER)


@router.get("/declined")
def decline(site: SiteOf, request: Request, wanted: Language = "") -> Response:
    """Say that nothing was kept of who did not agree, and forget that they came."""
    language = chosen(wanted or request.headers.get("accept-language", ""), languages())
    answer = page(site, Declined(language=language))
    answer.delete_cookie(ENTRY_COOKIE)
    return answer


@router.get("/c/{name}/consent")
def ask(site: SiteOf, name: str, token: EntryToken = "") -> Response:
    """Ask for consent."""
    entry = _entry(site, token, name)
    here = entering.entrance(site.platform, name, entry.key, now=site.clock())
    if here.state != "open":
        return _back(entry)
    return page(site, Agreement(language=entry.language, campaign=here.campaign, action=f"/c/{name}/consent"))


@router.post("/c/{name}/consent")
def agree(
    site: SiteOf,
    name: str,
    purpose: Annotated[list[str], Form()] = [],  # noqa: B006 - FastAPI copies it
    read: Annotated[str | None, Form(max_length=64)] = None,
    token: EntryToken = "",
) -> Response:
    """Let in who agrees; who sends the form again is let in as the one that they are."""
    entry = _entry(site, token, name)
    try:
        _, session = entering.agree(
            site.platform,
            name,
            key=entry.key,
            purposes=dict.fromkeys(purpose, True),
            language=entry.language,
            rater_id=entry.rater_id,
            read=read,
            now=site.clock(),
        )
    except Conflict:
        if entering.entrance(site.platform, name, entry.key, now=site.clock()).state == "open":
            raise
        return _back(entry)
    return _signed_in(site, session)


def _entry(site: Site, token: str, name: str) -> Entry:
    entry = site.tokens.read_entry(token, now=site.clock())
    if entry.campaign != name:
        raise NotAllowed("Open the link of this campaign again; nothing was kept.")
    return entry


def page(site: Site, context: Context, status: int = 200) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(site.pages.render(context), status)


def _signed_in(site: Site, session: str) -> Response:
    answer = RedirectResponse("/rate", SEE_OTHER)
    site.set_cookie(answer, SESSION_COOKIE, session, int(SESSION.total_seconds()))
    return answer
