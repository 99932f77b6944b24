"""Sign-in of staff by link or password, and by invitation to a campaign."""

import secrets
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Cookie, Depends, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.schema.campaign.roles import DUTIES
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site, client_network
from dissensus.web.core.staff_auth import STAFF_COOKIE, Key, Public, PublicForm, SessionKey, SiteOf
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.workflows.campaign import members
from dissensus.workflows.campaign.members import MemberInvitation
from dissensus.workflows.platform import passwords, staff

router = APIRouter(dependencies=[Depends(Public("sign-in"))])

SIGN_IN_COOKIE: Final = "dissensus_door"
"""Cookie that binds the password form to a browser that is not signed in."""
SIGN_IN_S: Final = 3600
FREE_BY_NAME, FREE_BY_ADDRESS = 5, 20
"""Failed sign-ins before a delay applies."""
SignInKey = Annotated[str, Cookie(alias=SIGN_IN_COOKIE, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLinkPage:
    """Confirmation of a sign-in link."""

    template: ClassVar[str] = "staff/sign-in-link.html"

    key: str
    form_token: str
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordPage:
    """The form for a name and a password, and the button of a provider where there is one."""

    template: ClassVar[str] = "staff/sign-in-password.html"

    form_token: str
    name: str = ""
    provider: str | None = None
    faults: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPage:
    """An invitation to a campaign."""

    template: ClassVar[str] = "staff/sign-in-join.html"

    key: str
    form_token: str
    welcome: MemberInvitation
    duty: str
    known_as: str | None
    name: str = ""
    faults: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE


@router.get("/sign-in")
def ask_password(site: SiteOf, door: SignInKey = "") -> Response:
    """Show the form for a name and a password."""
    door = door or secrets.token_urlsafe(24)
    answer = page(site, PasswordPage(form_token=site.tokens.form(door), provider=site.provider_button))
    site.set_cookie(answer, SIGN_IN_COOKIE, door, SIGN_IN_S)
    return answer


@router.post("/sign-in")
def by_password(site: SiteOf, request: Request, sent: PublicForm, door: SignInKey = "") -> Response:
    """Sign in by a password."""
    site.tokens.check_form(door, str(sent.get("form_token", "")))
    name, password = str(sent.get("name", "")), str(sent.get("password", ""))
    hasher = site.hasher()
    traces = {
        site.tokens.trace("name", name.strip()): FREE_BY_NAME,
        site.tokens.trace("address", client_network(request)): FREE_BY_ADDRESS,
    }
    try:
        session = passwords.sign_in_with_password(
            site.platform, hasher, name, password, traces=traces, now=site.clock()
        )
    except NotAllowed as error:
        token = site.tokens.form(door)
        context = PasswordPage(form_token=token, name=name, provider=site.provider_button, faults=(str(error),))
        return page(site, context, 403)
    return redirect_signed_in(site, session, "/campaigns")


def redirect_signed_in(site: Site, session: str, to: str) -> Response:
    """Set the session cookie and redirect."""
    answer = RedirectResponse(to, SEE_OTHER)
    site.set_cookie(answer, STAFF_COOKIE, session, int(staff.SESSION_LIFETIME.total_seconds()))
    answer.delete_cookie(SIGN_IN_COOKIE)
    return answer


@router.get("/sign-in/{key}")
def ask(site: SiteOf, key: Key) -> Response:
    """Offer to sign in; a GET by a mail scanner does not use the link up."""
    staff.check_sign_in_link(site.platform, key, now=site.clock())
    return page(site, SignInLinkPage(key=key, form_token=site.tokens.form(key)))


@router.post("/sign-in/{key}")
def by_link(site: SiteOf, key: Key, sent: PublicForm) -> Response:
    """Sign in, and use the link up."""
    site.tokens.check_form(key, str(sent.get("form_token", "")))
    return redirect_signed_in(site, staff.sign_in_with_link(site.platform, key, now=site.clock()), "/campaigns")


@router.get("/join/{key}")
def ask_to_join(site: SiteOf, key: Key, session: SessionKey = "") -> Response:
    """Show an invitation; a GET does not use it up."""
    return _joining(site, key, session)


def _joining(site: Site, key: str, session: str, name: str = "", *faults: str) -> Response:
    welcome = members.preview_member_invitation(site.platform, key, now=site.clock())
    known = staff.staff_of_session(site.platform, session, now=site.clock()) if session else None
    context = JoinPage(
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
def join(site: SiteOf, key: Key, sent: PublicForm, session: SessionKey = "") -> Response:
    """Accept an invitation, signed in or as a new person."""
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
    return redirect_signed_in(site, made, f"/campaigns/{to}")
