"""Sign-in of staff with an OpenID provider."""

from hmac import compare_digest
from typing import Annotated, Final

from fastapi import APIRouter, Cookie, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import NotAllowed, NotFound
from dissensus.web.core import oidc
from dissensus.web.core.responses import SEE_OTHER
from dissensus.web.core.signed_tokens import OIDC_FLOW_S
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.staff.sign_in import redirect_signed_in
from dissensus.workflows.platform import staff

router = APIRouter(dependencies=[Depends(Public("sign-in"))])

FLOW_COOKIE: Final = "dissensus_detour"
Said = Annotated[str, Query(max_length=4000)]


@router.get("/oidc")
def leave(site: SiteOf, request: Request) -> Response:
    """Redirect to the provider."""
    _check(site)
    detour = oidc.start_flow()
    answer = RedirectResponse(oidc.authorization_url(site.settings, detour, back=_back(site, request)), SEE_OTHER)
    site.set_cookie(answer, FLOW_COOKIE, site.tokens.detour(detour, now=site.clock()), OIDC_FLOW_S)
    return answer


@router.get("/oidc/back")
def come_back(
    site: SiteOf,
    request: Request,
    code: Said = "",
    state: Said = "",
    token: Annotated[str, Cookie(alias=FLOW_COOKIE, max_length=2000)] = "",
) -> Response:
    """Sign in with the identity that the provider asserts."""
    _check(site)
    if not token:
        raise NotAllowed("This browser did not begin to sign in here, or too long ago. Begin again at /sign-in.")
    detour = site.tokens.read_detour(token, now=site.clock())
    if not code or not compare_digest(state.encode(), detour.state.encode()):
        raise NotAllowed("The provider did not let you in. Begin again at /sign-in.")
    found = oidc.fetch_identity(site.settings, detour, code, back=_back(site, request), now=site.clock())
    session = staff.sign_in_by_provider(site.platform, subject=found.subject, email=found.email, now=site.clock())
    answer = redirect_signed_in(site, session, "/campaigns")
    answer.delete_cookie(FLOW_COOKIE)
    return answer


def _back(site: Site, request: Request) -> str:
    return f"{site.address_for(request)}/oidc/back"


def _check(site: Site) -> None:
    if site.settings.oidc_issuer is None:
        raise NotFound("There is no provider to sign in by. Sign in by a password or a link.")
