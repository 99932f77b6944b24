"""Passkeys (WebAuthn) of staff: registration, removal, sign-in, and confirmation of the identity.

A page asks for the options of the browser's dialog, and then sends the answer of the browser as a form.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.schema.advice import site_message
from dissensus.web.core.responses import redirect_to
from dissensus.web.core.site import Site, address_digest, truncated_network
from dissensus.web.core.staff_auth import Public, PublicForm, Require, SessionKey, SiteOf, StaffForm, StaffRequest
from dissensus.web.staff.identity.account import confirmation_page, resolve_return_path
from dissensus.web.staff.identity.passkey_relying_party import require_relying_party
from dissensus.web.staff.identity.second_factor import PAGE, recovery_codes_page, second_factor_page
from dissensus.web.staff.identity.sign_in import SignInKey, finish_pending, password_page, redirect_signed_in
from dissensus.workflows.platform import passkeys, second_factors
from dissensus.workflows.platform.sign_in_limits import ADDRESS_LIMIT, SignInTraces

router = APIRouter()

STRANGERS: Final = [Depends(Public("sign-in"))]
Authorized = Annotated[StaffRequest, Depends(Require("account"))]
RecentlyConfirmed = Annotated[StaffRequest, Depends(Require("account", recent=True))]
Options = dict[str, Any]


@router.post(f"{PAGE}/passkey-options")
def begin_registration(site: SiteOf, caller: RecentlyConfirmed, request: Request, _form: StaffForm) -> Options:
    """Return the options for a new passkey."""
    party = require_relying_party(site, request)
    return passkeys.begin_registration(site.platform, party, caller.staff, session=caller.session, now=site.clock())


@router.post(f"{PAGE}/add-passkey")
def finish_registration(site: SiteOf, caller: RecentlyConfirmed, request: Request, form: StaffForm) -> Response:
    """Add a passkey, and show recovery codes once if the person had none."""
    party = require_relying_party(site, request)
    credential, name = str(form.get("credential", "")), str(form.get("name", ""))
    try:
        codes = passkeys.finish_registration(
            site.platform, party, caller.staff, credential, name, session=caller.session, now=site.clock()
        )
    except (Conflict, InvalidInput, NotAllowed) as error:
        return second_factor_page(site, caller, request, site_message(error))
    return recovery_codes_page(site, caller, codes) if codes else redirect_to(PAGE)


@router.post(f"{PAGE}/remove-passkey")
def remove_passkey(site: SiteOf, caller: RecentlyConfirmed, form: StaffForm) -> Response:
    """Remove a passkey."""
    passkey_id = str(form.get("passkey", ""))
    passkeys.remove_passkey(site.platform, caller.staff, passkey_id, session=caller.session, now=site.clock())
    return redirect_to(PAGE)


@router.post("/account/confirm/passkey-options")
def begin_confirmation(site: SiteOf, caller: Authorized, request: Request, _form: StaffForm) -> Options:
    """Return the options for proving the identity again."""
    party = require_relying_party(site, request)
    return passkeys.begin_confirmation(site.platform, party, caller.staff, session=caller.session, now=site.clock())


@router.post("/account/confirm/passkey")
def finish_confirmation(site: SiteOf, caller: Authorized, request: Request, form: StaffForm) -> Response:
    """Check a passkey, and go back to the page that asked for it."""
    party, to = require_relying_party(site, request), resolve_return_path(str(form.get("to", "")))
    credential = str(form.get("credential", ""))
    try:
        passkeys.confirm_passkey(
            site.platform, party, caller.staff, credential, session=caller.session, now=site.clock()
        )
    except NotAllowed as error:
        return confirmation_page(site, caller, request, to, site_message(error))
    return redirect_to(to)


@router.post("/passkey/options", dependencies=STRANGERS)
def begin_sign_in(site: SiteOf, request: Request, form: PublicForm, sign_in_key: SignInKey = "") -> Options:
    """Return the options for signing in."""
    site.tokens.check_csrf_token(sign_in_key, str(form.get("form_token", "")))
    party, traces = require_relying_party(site, request), _traces(site, request)
    return passkeys.begin_sign_in(site.platform, party, form_key=sign_in_key, traces=traces, now=site.clock())


@router.post("/passkey", dependencies=STRANGERS)
def finish_sign_in(site: SiteOf, request: Request, form: PublicForm, sign_in_key: SignInKey = "") -> Response:
    """Sign in with a passkey."""
    site.tokens.check_csrf_token(sign_in_key, str(form.get("form_token", "")))
    party, traces = require_relying_party(site, request), _traces(site, request)
    try:
        session = passkeys.sign_in_with_passkey(
            site.platform,
            party,
            str(form.get("credential", "")),
            form_key=sign_in_key,
            traces=traces,
            network=truncated_network(request),
            now=site.clock(),
        )
    except NotAllowed as error:
        return password_page(site, request, sign_in_key, "", site_message(error))
    return redirect_signed_in(site, request, session)


def _traces(site: Site, request: Request) -> SignInTraces:
    return {address_digest(site, request): ADDRESS_LIMIT}


@router.post("/second-factor/passkey-options", dependencies=STRANGERS)
def begin_second_factor(site: SiteOf, request: Request, form: PublicForm, session: SessionKey = "") -> Options:
    """Return the options for finishing a sign-in."""
    staff_row = second_factors.find_pending_staff(site.platform, session, now=site.clock())
    if staff_row is None:
        raise InvalidInput(second_factors.SIGN_IN_EXPIRED)
    site.tokens.check_csrf_token(session, str(form.get("form_token", "")))
    party = require_relying_party(site, request)
    return passkeys.begin_second_factor(site.platform, party, staff_row, session=session, now=site.clock())


@router.post("/second-factor/passkey", dependencies=STRANGERS)
def finish_second_factor(site: SiteOf, request: Request, form: PublicForm, session: SessionKey = "") -> Response:
    """Finish signing in with a passkey."""
    return finish_pending(
        site,
        request,
        form,
        session,
        lambda _: passkeys.finish_second_factor(
            site.platform,
            require_relying_party(site, request),
            session,
            str(form.get("credential", "")),
            network=truncated_network(request),
            now=site.clock(),
        ),
    )
