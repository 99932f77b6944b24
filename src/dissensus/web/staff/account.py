"""What somebody of the staff does with their own account: password, sessions, tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.schema.hints import format_value
from dissensus.web.core.permissions import ACTIONS, SCOPES
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import COOKIE, May, Sent, SiteOf, Visit
from dissensus.web.staff.sign_in import FREE_BY_NAME
from dissensus.web.staff.staff_contexts import Account, SignedOut, TokenMade
from dissensus.workflows.platform import api_tokens, passwords, staff

router = APIRouter()

Mine = Annotated[Visit, Depends(May("account"))]


@router.get("/account")
def see(site: SiteOf, visit: Mine, done: Annotated[str, Query(max_length=20)] = "") -> Response:
    """Show one's own account."""
    return _account(site, visit, done="password" if done == "password" else "")


def _account(site: Site, visit: Visit, *faults: str, done: str = "") -> Response:
    now = site.clock()
    context = Account(
        owner=visit.staff.name,
        form_token=visit.form_token,
        has_password=passwords.has_password(site.platform, visit.staff),
        sessions=staff.list_sessions(site.platform, visit.staff, now=now),
        this_session=staff.hash_session_key(visit.session),
        tokens=api_tokens.list_tokens(site.platform, visit.staff, now=now),
        scopes=tuple((name, ACTIONS[name].says) for name in ACTIONS if name in SCOPES),
        done=done,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post("/account/password")
def change_password(site: SiteOf, visit: Mine, sent: Sent) -> Response:
    """Set or change one's password, and end all other sessions."""
    new, old = str(sent.get("new", "")), str(sent.get("old", ""))
    hasher, traces = site.hasher(), {site.tokens.trace("name", visit.staff.name): FREE_BY_NAME}
    try:
        if new != sent.get("again"):
            raise InvalidInput("The new password was not written twice the same.")
        passwords.confirm_password(site.platform, hasher, visit.staff, old, traces=traces, now=site.clock())
        passwords.change_password(site.platform, hasher, visit.staff, new, session=visit.session)
    except (InvalidInput, NotAllowed) as error:
        return _account(site, visit, str(error))
    return RedirectResponse("/account?done=password", SEE_OTHER)


@router.post("/account/sessions/end")
def end_session(site: SiteOf, visit: Mine, sent: Sent) -> Response:
    """End one of one's own sessions."""
    staff.end_session(site.platform, visit.staff, str(sent.get("session", "")))
    return RedirectResponse("/account", SEE_OTHER)


@router.post("/account/tokens")
def make_token(site: SiteOf, visit: Mine, sent: Sent) -> Response:
    """Make a token, and show it once."""
    scopes = [str(one) for one in sent.getlist("scope")]
    try:
        api_tokens.check_scopes(scopes, SCOPES)
        days = _days(str(sent.get("days", "")))
        name = str(sent.get("name", ""))
        key, token = api_tokens.create_token(site.platform, visit.staff, name, scopes=scopes, days=days, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _account(site, visit, str(error))
    address = site.settings.address
    return page(
        site,
        TokenMade(owner=visit.staff.name, form_token=visit.form_token, key=key, token=token, address=address),
    )


def _days(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise InvalidInput(f"{format_value(text)} is no number of days. Write a whole number.")
    return int(text)


@router.post("/account/tokens/revoke")
def revoke_token(site: SiteOf, visit: Mine, sent: Sent) -> Response:
    """End one of one's own tokens at once."""
    api_tokens.revoke_token(site.platform, visit.staff, str(sent.get("token", "")))
    return RedirectResponse("/account", SEE_OTHER)


@router.post("/sign-out")
def sign_out(site: SiteOf, visit: Mine, sent: Sent) -> Response:
    """Sign out, here or everywhere."""
    if sent.get("where") == "everywhere":
        staff.sign_out_everywhere(site.platform, visit.staff.name)
    staff.sign_out(site.platform, visit.session)
    answer = page(site, SignedOut())
    answer.delete_cookie(COOKIE)
    return answer
