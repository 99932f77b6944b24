"""How staff come in: by a link, by a password, and by an invitation to a campaign."""

import secrets
from typing import Annotated, Final

from fastapi import APIRouter, Cookie, Depends, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.schema.campaign.roles import DUTIES
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site, network_of
from dissensus.web.core.staff_auth import COOKIE, Key, Open, SessionKey, SiteOf, SmallForm
from dissensus.web.staff.staff_contexts import ByPassword, Joining, SignIn
from dissensus.workflows.campaign import members
from dissensus.workflows.platform import passwords, staff

router = APIRouter(dependencies=[Depends(Open("sign-in"))])

DOOR_COOKIE: Final = "dissensus_door"
"""Of a browser before it is signed in: what the form of the password is bound to."""
DOOR_S: Final = 3600
FREE_BY_NAME, FREE_BY_ADDRESS = 5, 20
"""How often signing in may fail before one waits."""
DoorKey = Annotated[str, Cookie(alias=DOOR_COOKIE, max_length=100)]


@router.get("/sign-in")
def ask_password(site: SiteOf, door: DoorKey = "") -> Response:
    """Show the form for a name and a password."""
    door = door or secrets.token_urlsafe(24)
    answer = page(site, ByPassword(form_token=site.tokens.form(door), provider=site.provider_button))
    site.set_cookie(answer, DOOR_COOKIE, door, DOOR_S)
    return answer


@router.post("/sign-in")
def by_password(site: SiteOf, request: Request, sent: SmallForm, door: DoorKey = "") -> Response:
    """Sign in by a password."""
    site.tokens.check_form(door, str(sent.get("form_token", "")))
    name, password = str(sent.get("name", "")), str(sent.get("password", ""))
    hasher = site.hasher()
    traces = {
        site.tokens.trace("name", name.strip()): FREE_BY_NAME,
        site.tokens.trace("address", network_of(request)): FREE_BY_ADDRESS,
    }
    try:
        session = passwords.sign_in_with_password(site.platform, hasher, name, password, traces=traces, now=site.clock())
    except NotAllowed as error:
        token = site.tokens.form(door)
        context = ByPassword(form_token=token, name=name, provider=site.provider_button, faults=(str(error),))
        return page(site, context, 403)
    return signed_in(site, session, "/campaigns")


def signed_in(site: Site, session: str, to: str) -> Response:
    """Let a browser be signed in, and lead it on."""
    answer = RedirectResponse(to, SEE_OTHER)
    site.set_cookie(answer, COOKIE, session, int(staff.SESSION_LIFETIME.total_seconds()))
    answer.delete_cookie(DOOR_COOKIE)
    return answer


@router.get("/sign-in/{key}")
def ask(site: SiteOf, key: Key) -> Response:
    """Offer to sign in; programs that look at links in mails do not use the link up by that."""
    staff.check_sign_in_link(site.platform, key, now=site.clock())
    return page(site, SignIn(key=key, form_token=site.tokens.form(key)))


@router.post("/sign-in/{key}")
def by_link(site: SiteOf, key: Key, sent: SmallForm) -> Response:
    """Sign in, and use the link up."""
    site.tokens.check_form(key, str(sent.get("form_token", "")))
    return signed_in(site, staff.sign_in_with_link(site.platform, key, now=site.clock()), "/campaigns")


@router.get("/join/{key}")
def ask_to_join(site: SiteOf, key: Key, session: SessionKey = "") -> Response:
    """Show what a link lets somebody into; looking does not use it up."""
    return _joining(site, key, session)


def _joining(site: Site, key: str, session: str, name: str = "", *faults: str) -> Response:
    welcome = members.preview_member_invitation(site.platform, key, now=site.clock())
    known = staff.staff_of_session(site.platform, session, now=site.clock()) if session else None
    context = Joining(
        key=key,
        form_token=site.tokens.form(session if known else key),
        welcome=welcome,
        duty=DUTIES[welcome.role],
        known_as=None if known is None else known.name,
        name=name,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post("/join/{key}")
def join(site: SiteOf, key: Key, sent: SmallForm, session: SessionKey = "") -> Response:
    """Let who is signed in, or somebody new, belong to a campaign, and use the link up."""
    known = staff.staff_of_session(site.platform, session, now=site.clock()) if session else None
    site.tokens.check_form(session if known else key, str(sent.get("form_token", "")))
    name = str(sent.get("name", ""))
    try:
        if known is not None:
            to = members.accept_invitation(site.platform, key, staff_id=known.id, now=site.clock())
            return RedirectResponse(f"/campaigns/{to}", SEE_OTHER)
        to, made = members.accept_invitation_as_new(site.platform, key, name, now=site.clock())
    except (Conflict, InvalidInput) as error:
        return _joining(site, key, session, name, str(error))
    return signed_in(site, made, f"/campaigns/{to}")
