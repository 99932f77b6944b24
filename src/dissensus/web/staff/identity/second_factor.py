"""Second-factor pages of the account: authenticator app, passkeys and recovery codes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final
from urllib.parse import urlsplit

import segno
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.errors import Conflict, NotAllowed
from dissensus.schema.advice import site_message
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.identity.passkey_relying_party import find_relying_party
from dissensus.workflows.platform import second_factors

if TYPE_CHECKING:
    from dissensus.workflows.platform.second_factors import SecondFactorView, TotpEnrolment

router = APIRouter()

PAGE: Final = "/account/second-factor"
GROUP_LENGTH: Final = 4
QR_SCALE: Final = 5
Authorized = Annotated[StaffRequest, Depends(Require("account"))]
RecentlyConfirmed = Annotated[StaffRequest, Depends(Require("account", recent=True))]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactorPage(StaffPage):
    """State of the second factors, and the secret of an authenticator app until it is confirmed."""

    template: ClassVar[str] = "staff/second-factor.html"

    factor: "SecondFactorView"
    enrolment: "TotpEnrolment | None"
    required: bool
    offers_passkeys: bool
    faults: tuple[str, ...] = ()

    @property
    def qr_code(self) -> str:
        """QR code of the secret as SVG, on white also in dark mode, since cameras need the contrast."""
        if self.enrolment is None:
            return ""
        code = segno.make(self.enrolment.uri, error="m")
        return code.svg_inline(scale=QR_SCALE, border=4, dark="#000", light="#fff", title="QR code of the secret")

    @property
    def secret_groups(self) -> str:
        """Secret in groups of four characters."""
        secret = "" if self.enrolment is None else self.enrolment.secret
        return " ".join(secret[i : i + GROUP_LENGTH] for i in range(0, len(secret), GROUP_LENGTH))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryCodesPage(StaffPage):
    """New recovery codes, shown once."""

    template: ClassVar[str] = "staff/second-factor-recovery.html"

    codes: tuple[str, ...]


@router.get(PAGE)
def show_second_factor(site: SiteOf, caller: Authorized, request: Request) -> Response:
    """Show the second factors; the secret of an authenticator app is shown only until it is confirmed."""
    return second_factor_page(site, caller, request)


def second_factor_page(site: Site, caller: StaffRequest, request: Request, *faults: str) -> Response:
    """Return the page of the second factors."""
    issuer = urlsplit(site.address_for(request)).netloc
    context = caller.page(
        SecondFactorPage,
        factor=second_factors.load_second_factor(site.platform, caller.staff),
        enrolment=second_factors.load_enrolment(site.platform, site.tokens.keys, caller.staff, issuer=issuer),
        required=site.settings.owners_need_second_factor,
        offers_passkeys=find_relying_party(site, request) is not None,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post(f"{PAGE}/begin")
def begin_enrolment(site: SiteOf, caller: RecentlyConfirmed, request: Request, _form: StaffForm) -> Response:
    """Create the secret of an authenticator app."""
    try:
        second_factors.begin_enrolment(site.platform, site.tokens.keys, caller.staff)
    except Conflict as error:
        return second_factor_page(site, caller, request, site_message(error))
    return redirect_to(PAGE)


@router.post(f"{PAGE}/confirm")
def confirm_enrolment(site: SiteOf, caller: RecentlyConfirmed, request: Request, form: StaffForm) -> Response:
    """Confirm the secret by a code of the app, and show recovery codes once if the person had none."""
    code = str(form.get("code", ""))
    try:
        codes = second_factors.confirm_enrolment(
            site.platform, site.tokens.keys, caller.staff, code, session=caller.session, now=site.clock()
        )
    except (Conflict, NotAllowed) as error:
        return second_factor_page(site, caller, request, site_message(error))
    return recovery_codes_page(site, caller, codes) if codes else redirect_to(PAGE)


def recovery_codes_page(site: Site, caller: StaffRequest, codes: tuple[str, ...]) -> Response:
    """Return the page with new recovery codes."""
    return page(site, caller.page(RecoveryCodesPage, codes=codes))


@router.post(f"{PAGE}/recovery-codes")
def renew_recovery_codes(site: SiteOf, caller: RecentlyConfirmed, request: Request, _form: StaffForm) -> Response:
    """Replace the recovery codes, and show the new ones once."""
    try:
        codes = second_factors.renew_recovery_codes(site.platform, caller.staff, now=site.clock())
    except Conflict as error:
        return second_factor_page(site, caller, request, site_message(error))
    return recovery_codes_page(site, caller, codes)


@router.post(f"{PAGE}/remove")
def remove_second_factor(site: SiteOf, caller: RecentlyConfirmed, _form: StaffForm) -> Response:
    """Remove the authenticator app, and end all other sessions."""
    second_factors.remove_totp(site.platform, caller.staff, session=caller.session, now=site.clock())
    return redirect_to(PAGE)
