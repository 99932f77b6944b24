"""Account pages of staff: password, sessions, API tokens, and confirmation of the identity."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import parse_digits
from dissensus.web.api.openapi import reading_scopes, scopes_by_subject
from dissensus.web.core.permissions import ACTIONS, SCOPES
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import (
    STAFF_COOKIE,
    Require,
    SiteOf,
    StaffForm,
    StaffPage,
    StaffRequest,
    check_recent_confirmation,
)
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.web.staff.identity.passkey_relying_party import find_relying_party
from dissensus.web.staff.identity.sign_in import code_traces
from dissensus.workflows.campaign import members
from dissensus.workflows.platform import api_tokens, passwords, second_factors, security_log, sessions, staff
from dissensus.workflows.platform.api_tokens import MAX_DAYS
from dissensus.workflows.platform.passwords import MIN_LENGTH
from dissensus.workflows.platform.sign_in_limits import NAME_LIMIT

if TYPE_CHECKING:
    from dissensus.store.identity.api_tokens import ApiTokenRow
    from dissensus.store.identity.security_log import SecurityEvent
    from dissensus.store.identity.sessions import StaffSession
    from dissensus.store.members import PendingInvitation
    from dissensus.workflows.platform.second_factors import SecondFactorView


router = APIRouter()

EVENT_PERIOD: Final = timedelta(days=30)
MAX_EVENTS: Final = 20
"""Maximum number of security events on the page, which are those of the last `EVENT_PERIOD`."""
CONFIRMED_PATHS: Final = re.compile(r"/account(/second-factor)?|/directory|/campaigns/[\w.-]{1,100}/staff")
"""Pages with forms that need a recent confirmation."""
Authorized = Annotated[StaffRequest, Depends(Require("account"))]
RecentlyConfirmed = Annotated[StaffRequest, Depends(Require("account", recent=True))]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOutPage:
    """Signed out."""

    template: ClassVar[str] = "staff/account-signed-out.html"

    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """Form of a new API token, as typed."""

    name: str = ""
    scopes: frozenset[str] = frozenset()
    days: str = "90"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage(StaffPage):
    """Password, sessions and API tokens of the signed-in person."""

    template: ClassVar[str] = "staff/account.html"

    operator: bool
    has_password: bool
    factor: "SecondFactorView"
    sessions: tuple["StaffSession", ...]
    this_session: str
    tokens: tuple["ApiTokenRow", ...]
    token_exclusions: Mapping[str, tuple[str, ...]]
    invitations: tuple[tuple[str, "PendingInvitation"], ...]
    scopes: Mapping[str, tuple[tuple[str, str], ...]]  # By subject, each with its description
    idle_minutes: int
    address: str | None  # E-mail address
    mails_events: bool
    events: tuple["SecurityEvent", ...]
    outcome: str = ""
    faults: tuple[str, ...] = ()
    new_token: NewToken = NewToken()
    min_password_length: int = MIN_LENGTH
    max_days: int = MAX_DAYS
    max_events: int = MAX_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationPage(StaffPage):
    """Request to prove the identity again before a change of credentials or roles."""

    template: ClassVar[str] = "staff/account-confirm.html"

    to: str
    has_password: bool
    factor: "SecondFactorView"
    offers_passkeys: bool
    provider: str | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPage(StaffPage):
    """A new API token, shown once."""

    template: ClassVar[str] = "staff/account-token.html"

    key: str
    token: "ApiTokenRow"
    address: str  # Base URL of the site, for an example request


@router.get("/account")
def show_account(site: SiteOf, caller: Authorized, outcome: Annotated[str, Query(max_length=20)] = "") -> Response:
    """Show the account page."""
    return _account_page(site, caller, outcome="password" if outcome == "password" else "")


def _account_page(
    site: Site, caller: StaffRequest, *faults: str, outcome: str = "", new_token: NewToken | None = None
) -> Response:
    now = site.clock()
    tokens = api_tokens.list_tokens(site.platform, caller.staff, now=now)
    context = caller.page(
        AccountPage,
        operator=caller.staff.operator,
        has_password=passwords.has_password(site.platform, caller.staff),
        factor=second_factors.load_second_factor(site.platform, caller.staff),
        sessions=sessions.list_sessions(site.platform, caller.staff, now=now),
        this_session=sessions.hash_session_key(caller.session),
        tokens=tokens,
        token_exclusions=members.list_token_exclusions(site.platform, [token.id for token in tokens]),
        invitations=members.list_own_invitations(site.platform, staff_id=caller.staff.id, now=now),
        scopes={
            subject: tuple((name, ACTIONS[name].description) for name in names)
            for subject, names in scopes_by_subject().items()
        },
        idle_minutes=site.settings.session_idle_minutes,
        address=staff.find_email(site.platform, caller.staff),
        mails_events=site.sends_mails,
        events=security_log.list_own_events(site.platform, caller.staff, since=now - EVENT_PERIOD)[:MAX_EVENTS],
        outcome=outcome,
        faults=faults,
        new_token=new_token or NewToken(),
    )
    return page(site, context, 422 if faults else 200)


@router.post("/account/password")
def change_password(site: SiteOf, caller: Authorized, request: Request, form: StaffForm) -> Response:
    """Set or change the password, and end all other sessions."""
    new, current = str(form.get("new", "")), str(form.get("current", ""))
    hasher = site.hasher()
    if not passwords.has_password(site.platform, caller.staff):
        check_recent_confirmation(site, request, caller.session)
    try:
        if new != form.get("repeated"):
            raise InvalidInput("The two new passwords differ.")
        if passwords.has_password(site.platform, caller.staff):
            _confirm_password(site, caller, current)
        passwords.change_password(site.platform, hasher, caller.staff, new, session=caller.session, now=site.clock())
    except (InvalidInput, NotAllowed) as error:
        return _account_page(site, caller, site_message(error))
    return redirect_to("/account?outcome=password")


def _confirm_password(site: Site, caller: StaffRequest, password: str) -> None:
    traces = {site.tokens.keyed_digest("name", caller.staff.name): NAME_LIMIT}
    passwords.confirm_password(
        site.platform,
        site.hasher(),
        caller.staff,
        password,
        session=caller.session,
        traces=traces,
        now=site.clock(),
    )


def _confirm_code(site: Site, caller: StaffRequest, request: Request, code: str) -> None:
    traces = code_traces(site, request, caller.staff)
    second_factors.confirm_code(
        site.platform,
        site.tokens.keys,
        caller.staff,
        code,
        session=caller.session,
        traces=traces,
        now=site.clock(),
    )


@router.get("/account/confirm")
def show_confirmation(
    site: SiteOf, caller: Authorized, request: Request, to: Annotated[str, Query(max_length=300)] = "/account"
) -> Response:
    """Ask a person to prove their identity again."""
    return confirmation_page(site, caller, request, to)


def confirmation_page(site: Site, caller: StaffRequest, request: Request, to: str, *faults: str) -> Response:
    """Return the forms for proving the identity again."""
    context = caller.page(
        ConfirmationPage,
        to=resolve_return_path(to),
        has_password=passwords.has_password(site.platform, caller.staff),
        factor=second_factors.load_second_factor(site.platform, caller.staff),
        offers_passkeys=find_relying_party(site, request) is not None,
        provider=site.provider_button,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def resolve_return_path(to: str) -> str:
    """Return a path if its page has forms that need a recent confirmation, else that of the account page."""
    return to if CONFIRMED_PATHS.fullmatch(to) else "/account"


@router.post("/account/confirm")
def confirm_identity(site: SiteOf, caller: Authorized, request: Request, form: StaffForm) -> Response:
    """Check the password or a code of the second factor, and go back to the page that asked for it."""
    to = resolve_return_path(str(form.get("to", "")))
    try:
        if "code" in form:
            _confirm_code(site, caller, request, str(form["code"]))
        else:
            _confirm_password(site, caller, str(form.get("password", "")))
    except NotAllowed as error:
        return confirmation_page(site, caller, request, to, site_message(error))
    return redirect_to(to)


@router.post("/account/sessions/end")
def end_session(site: SiteOf, caller: Authorized, form: StaffForm) -> Response:
    """End a session."""
    sessions.end_session(site.platform, caller.staff, str(form.get("session", "")), now=site.clock())
    return redirect_to("/account")


@router.post("/account/tokens")
def create_token(site: SiteOf, caller: RecentlyConfirmed, request: Request, form: StaffForm) -> Response:
    """Create an API token, and show it once."""
    scopes = {str(scope) for scope in form.getlist("scope")}
    if form.get("read"):
        scopes |= reading_scopes()
    typed = NewToken(name=str(form.get("name", "")), scopes=frozenset(scopes), days=str(form.get("days", "")))
    try:
        api_tokens.check_scopes(sorted(scopes), SCOPES)
        days = _parse_days(typed.days)
        key, token = api_tokens.create_token(
            site.platform, caller.staff, typed.name, scopes=sorted(scopes), days=days, now=site.clock()
        )
    except (InvalidInput, Conflict) as error:
        return _account_page(site, caller, site_message(error), new_token=typed)
    return page(site, caller.page(TokenPage, key=key, token=token, address=site.address_for(request)))


def _parse_days(text: str) -> int:
    days = parse_digits(text)
    if days is None:
        raise InvalidInput(f"{format_value(text)} is not a valid number of days. Write a whole number.")
    return days


@router.post("/account/tokens/revoke")
def revoke_token(site: SiteOf, caller: Authorized, form: StaffForm) -> Response:
    """Revoke an API token."""
    api_tokens.revoke_token(site.platform, caller.staff, str(form.get("token", "")), now=site.clock())
    return redirect_to("/account")


@router.post("/account/invitations/revoke")
def revoke_invitation(site: SiteOf, caller: Authorized, form: StaffForm) -> Response:
    """Revoke an unused invitation that the person made."""
    members.revoke_own_invitation(site.platform, str(form.get("invitation", "")), staff_id=caller.staff.id)
    return redirect_to("/account")


@router.post("/sign-out")
def sign_out(site: SiteOf, caller: Authorized, form: StaffForm) -> Response:
    """Sign out of the current session, or of all sessions."""
    if form.get("sessions") == "all":
        sessions.sign_out_everywhere(site.platform, caller.staff.name, now=site.clock())
    sessions.sign_out(site.platform, caller.session)
    response = page(site, SignedOutPage())
    response.delete_cookie(STAFF_COOKIE)
    return response
