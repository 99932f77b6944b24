"""How raters come in: warned, asked, and only then kept."""

from typing import Annotated, Final

from fastapi import APIRouter, Cookie, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from dissensus.errors import NotAllowed
from dissensus.web.contexts import Agreement, Declined, Warned
from dissensus.web.pages import Context
from dissensus.web.phrases import chosen, languages
from dissensus.web.site import Site, site_of
from dissensus.web.tokens import ENTRY_S, Entry
from dissensus.workflows import rating
from dissensus.workflows.rating import SESSION

router = APIRouter()

SESSION_COOKIE, ENTRY_COOKIE = "dissensus_rater", "dissensus_entry"
SEE_OTHER: Final = 303
SiteOf = Annotated[Site, Depends(site_of)]
EntryToken = Annotated[str, Cookie(alias=ENTRY_COOKIE, max_length=2000)]
Language = Annotated[str, Query(alias="lang", max_length=40)]


@router.get("/c/{name}")
def warn(
    site: SiteOf,
    request: Request,
    name: str,
    key: Annotated[str, Query(max_length=200)] = "",
    wanted: Language = "",
) -> Response:
    """Warn of what is to be seen; who came by this personal link before goes on at once."""
    found = rating.resume(site.platform, key, now=site.clock())
    if found is not None:
        return _signed_in(site, found[1])
    campaign = rating.entrance(site.platform, name, key)
    language = chosen(wanted or request.headers.get("accept-language", ""), campaign.languages)
    return page(site, Warned(language=language, campaign=campaign, key=key))


@router.post("/c/{name}")
def warned(
    site: SiteOf, name: str, key: Annotated[str, Form(max_length=200)], language: Annotated[str, Form()]
) -> Response:
    """Let who read the warning read on; nothing is kept of them."""
    campaign = rating.entrance(site.platform, name, key)
    entry = Entry(name, key, language if language in campaign.languages else campaign.languages[0])
    answer = RedirectResponse(f"/c/{name}/consent", SEE_OTHER)
    site.set_cookie(answer, ENTRY_COOKIE, site.tokens.entry(entry, now=site.clock()), ENTRY_S)
    return answer


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
    campaign = rating.entrance(site.platform, name, entry.key)
    return page(site, Agreement(language=entry.language, campaign=campaign, action=f"/c/{name}/consent"))


@router.post("/c/{name}/consent")
def agree(site: SiteOf, name: str, purpose: Annotated[list[str], Form()] = [], token: EntryToken = "") -> Response:  # noqa: B006 - FastAPI copies it
    """Let in who agrees."""
    entry = _entry(site, token, name)
    purposes = dict.fromkeys(purpose, True)
    _, session = rating.agree(
        site.platform, name, key=entry.key, purposes=purposes, language=entry.language, now=site.clock()
    )
    answer = _signed_in(site, session)
    answer.delete_cookie(ENTRY_COOKIE)
    return answer


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
