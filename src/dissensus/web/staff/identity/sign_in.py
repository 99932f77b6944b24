"""Sign-in of staff by password or link, with a second factor, and by invitation to a campaign."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Cookie, Depends, Query, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.roles import DUTIES
from dissensus.schema.hints import format_value
from dissensus.web.core.responses import MAX_PATH_LENGTH, is_local_path, page, redirect_to
from dissensus.web.core.site import Site, address_digest, truncated_network
from dissensus.web.core.staff_auth import STAFF_COOKIE, Key, Public, PublicForm, SessionKey, SiteOf
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.web.staff.identity.passkey_relying_party import find_relying_party
from dissensus.workflows.campaign import members
from dissensus.workflows.campaign.members import MemberInvitation
from dissensus.workflows.platform import passwords, second_factors, sessions, sign_in_links
from dissensus.workflows.platform.passwords import MIN_LENGTH
from dissensus.workflows.platform.sign_in_limits import ADDRESS_LIMIT, MAIL_LIMIT, NAME_LIMIT, SignInTraces

if TYPE_CHECKING:
    from dissensus.store.staff import StaffRow
    from dissensus.workflows.platform.second_factors import SecondFactorView

router = APIRouter(dependencies=[Depends(Public("sign-in"))])

SIGN_IN_COOKIE: Final = "dissensus_sign_in"
"""Cookie that binds the password form to a browser that is not signed in."""
RETURN_COOKIE: Final = "dissensus_return"
"""Cookie with the page that a browser wanted, in hexadecimal: every way to sign in leads back to it."""
SIGN_IN_S: Final = 3600
"""Lifetime of both cookies."""
HOME: Final = "/campaigns"
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
    """Form for name and password, and the other ways to sign in that are available."""

    template: ClassVar[str] = "staff/sign-in-password.html"

    form_token: str
    name: str = ""
    provider: str | None
    offers_passkeys: bool
    offers_mails: bool
    is_mailed: bool = False  # True right after a link was requested
    faults: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePage:
    """Forms for a second factor: a passkey or a code."""

    template: ClassVar[str] = "staff/second-factor-code.html"

    form_token: str
    factor: "SecondFactorView"
    offers_passkeys: bool
    faults: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPage:
    """An invitation to a campaign."""

    template: ClassVar[str] = "staff/sign-in-join.html"

    key: str
    form_token: str
    invitation: MemberInvitation
    duty: str
    signed_in_as: str | None
    name: str = ""
    faults: tuple[str, ...] = ()
    min_password_length: int = MIN_LENGTH
    language: str = DEFAULT_LANGUAGE


@router.get("/sign-in")
def ask_password(
    site: SiteOf,
    request: Request,
    to: Annotated[str, Query(max_length=MAX_PATH_LENGTH)] = "",
    sign_in_key: SignInKey = "",
) -> Response:
    """Show the form for a name and a password; signing in leads back to a page of this site."""
    if to and not is_local_path(to):
        raise InvalidInput(f"{format_value(to)} is not a page of this site. Sign in at /sign-in.")
    sign_in_key = sign_in_key or secrets.token_urlsafe(24)
    response = password_page(site, request, sign_in_key, "")
    site.set_cookie(response, SIGN_IN_COOKIE, sign_in_key, SIGN_IN_S)
    if to:
        site.set_cookie(response, RETURN_COOKIE, to.encode().hex(), SIGN_IN_S)
    else:
        response.delete_cookie(RETURN_COOKIE)
    return response


def password_page(
    site: Site, request: Request, sign_in_key: str, name: str, *faults: str, is_mailed: bool = False
) -> Response:
    """Return the form for a name and a password."""
    context = PasswordPage(
        form_token=site.tokens.csrf_token(sign_in_key),
        name=name,
        provider=site.provider_button,
        offers_passkeys=find_relying_party(site, request) is not None,
        offers_mails=site.sends_mails,
        is_mailed=is_mailed,
        faults=faults,
    )
    return page(site, context, 403 if faults else 200)


@router.post("/sign-in")
def submit_password(site: SiteOf, request: Request, form: PublicForm, sign_in_key: SignInKey = "") -> Response:
    """Sign in with name and password."""
    site.tokens.check_csrf_token(sign_in_key, str(form.get("form_token", "")))
    name, password = str(form.get("name", "")), str(form.get("password", ""))
    hasher = site.hasher()
    traces = {
        site.tokens.keyed_digest("name", name.strip()): NAME_LIMIT,
        address_digest(site, request): ADDRESS_LIMIT,
    }
    try:
        session = passwords.sign_in_with_password(
            site.platform,
            hasher,
            name,
            password,
            traces=traces,
            network=truncated_network(request),
            now=site.clock(),
        )
    except NotAllowed as error:
        return password_page(site, request, sign_in_key, name, site_message(error))
    return redirect_signed_in(site, request, session)


@router.post("/sign-in/mail")
def mail_link(site: SiteOf, request: Request, form: PublicForm, sign_in_key: SignInKey = "") -> Response:
    """Mail a link that signs in; the response does not tell whether somebody has the address."""
    site.tokens.check_csrf_token(sign_in_key, str(form.get("form_token", "")))
    address = str(form.get("address", ""))
    if not site.sends_mails:
        raise NotFound("This site sends no mails. Ask its operator for a link: dissensus sign-in NAME")
    traces = {
        site.tokens.keyed_digest("mail", address.strip().casefold()): MAIL_LIMIT,
        address_digest(site, request): ADDRESS_LIMIT,
    }
    try:
        sign_in_links.mail_sign_in_link(
            site.platform,
            site.tokens.keys,
            address,
            traces=traces,
            network=truncated_network(request),
            now=site.clock(),
        )
    except NotAllowed as error:
        return password_page(site, request, sign_in_key, "", site_message(error))
    return password_page(site, request, sign_in_key, "", is_mailed=True)


def redirect_signed_in(site: Site, request: Request, session: str, to: str | None = None) -> Response:
    """Set the session cookie and redirect to a page, by default the one that the return cookie names.

    While a second factor is missing, redirect to its forms.
    """
    is_pending = second_factors.find_pending_staff(site.platform, session, now=site.clock()) is not None
    response = redirect_to("/second-factor" if is_pending else to or _wanted_page(request))
    site.set_cookie(response, STAFF_COOKIE, session, int(sessions.SESSION_LIFETIME.total_seconds()))
    response.delete_cookie(SIGN_IN_COOKIE)
    if not is_pending:
        response.delete_cookie(RETURN_COOKIE)
    return response


def _wanted_page(request: Request) -> str:
    try:
        path = bytes.fromhex(request.cookies.get(RETURN_COOKIE, "")).decode("ascii")
    except ValueError:
        return HOME
    return path if is_local_path(path) else HOME


@router.get("/second-factor")
def ask_code(site: SiteOf, request: Request, session: SessionKey = "") -> Response:
    """Show the forms for a second factor."""
    staff_row = second_factors.find_pending_staff(site.platform, session, now=site.clock())
    if staff_row is None:
        return redirect_to("/sign-in")
    return code_page(site, request, staff_row, session)


def code_page(site: Site, request: Request, staff_row: "StaffRow", session: str, *faults: str) -> Response:
    """Return the forms for a second factor."""
    context = CodePage(
        form_token=site.tokens.csrf_token(session),
        factor=second_factors.load_second_factor(site.platform, staff_row),
        offers_passkeys=find_relying_party(site, request) is not None,
        faults=faults,
    )
    return page(site, context, 403 if faults else 200)


@router.post("/second-factor")
def submit_code(site: SiteOf, request: Request, form: PublicForm, session: SessionKey = "") -> Response:
    """Finish signing in with a code of the second factor."""

    def finish(staff_row: "StaffRow") -> str:
        return second_factors.finish_sign_in(
            site.platform,
            site.tokens.keys,
            session,
            str(form.get("code", "")),
            traces=code_traces(site, request, staff_row),
            network=truncated_network(request),
            now=site.clock(),
        )

    return finish_pending(site, request, form, session, finish)


def finish_pending(
    site: Site, request: Request, form: FormData, session: str, finish: Callable[["StaffRow"], str]
) -> Response:
    """Finish a sign-in with a second factor, or return to its forms."""
    staff_row = second_factors.find_pending_staff(site.platform, session, now=site.clock())
    if staff_row is None:
        return redirect_to("/sign-in")
    site.tokens.check_csrf_token(session, str(form.get("form_token", "")))
    try:
        new_session = finish(staff_row)
    except NotAllowed as error:
        return code_page(site, request, staff_row, session, site_message(error))
    return redirect_signed_in(site, request, new_session)


def code_traces(site: Site, request: Request, staff_row: "StaffRow") -> SignInTraces:
    """Return the traces of an attempt to enter a code."""
    return {
        site.tokens.keyed_digest("code", staff_row.id): NAME_LIMIT,
        address_digest(site, request): ADDRESS_LIMIT,
    }


@router.get("/sign-in/{key}")
def confirm_link(site: SiteOf, key: Key) -> Response:
    """Offer to sign in; a GET, such as by a mail scanner, does not use the link up."""
    sign_in_links.check_sign_in_link(site.platform, key, now=site.clock())
    return page(site, SignInLinkPage(key=key, form_token=site.tokens.csrf_token(key)))


@router.post("/sign-in/{key}")
def submit_link(site: SiteOf, request: Request, key: Key, form: PublicForm) -> Response:
    """Sign in, and use the link up."""
    site.tokens.check_csrf_token(key, str(form.get("form_token", "")))
    session = sign_in_links.sign_in_with_link(site.platform, key, network=truncated_network(request), now=site.clock())
    return redirect_signed_in(site, request, session)


@router.get("/join/{key}")
def see_invitation(site: SiteOf, key: Key, session: SessionKey = "") -> Response:
    """Show an invitation; a GET does not use it up."""
    return _join_page(site, key, session)


def _join_page(site: Site, key: str, session: str, name: str = "", *faults: str) -> Response:
    invitation = members.preview_member_invitation(site.platform, key, now=site.clock())
    member = sessions.staff_of_session(site.platform, session, now=site.clock()) if session else None
    context = JoinPage(
        key=key,
        form_token=site.tokens.csrf_token(session if member else key),
        invitation=invitation,
        duty=DUTIES[invitation.role],
        signed_in_as=None if member is None else member.name,
        name=name,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post("/join/{key}")
def join(site: SiteOf, request: Request, key: Key, form: PublicForm, session: SessionKey = "") -> Response:
    """Accept an invitation, signed in or as a new person."""
    member = sessions.staff_of_session(site.platform, session, now=site.clock()) if session else None
    site.tokens.check_csrf_token(session if member else key, str(form.get("form_token", "")))
    name = str(form.get("name", ""))
    try:
        if member is not None:
            campaign = members.accept_invitation(site.platform, key, staff_id=member.id, now=site.clock())
            return redirect_to(f"/campaigns/{campaign}")
        password = str(form.get("password", ""))
        if password != form.get("repeated", ""):
            raise InvalidInput("The two passwords differ. Enter the same one twice.")
        campaign, new_session = members.accept_invitation_as_new(
            site.platform,
            site.hasher(),
            key,
            name,
            password,
            network=truncated_network(request),
            now=site.clock(),
        )
    except (Conflict, InvalidInput) as error:
        return _join_page(site, key, session, name, site_message(error))
    return redirect_signed_in(site, request, new_session, f"/campaigns/{campaign}")
