"""Routes of the sign-in by an OpenID provider: redirect to it, and callback."""

from hmac import compare_digest
from typing import Annotated, Final

from fastapi import APIRouter, Cookie, Depends, Query, Request
from fastapi.responses import Response

from dissensus.errors import NotAllowed, NotFound
from dissensus.web.core import oidc
from dissensus.web.core.responses import redirect_to
from dissensus.web.core.signed_tokens import OIDC_FLOW_S
from dissensus.web.core.site import Site, truncated_network
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.staff.identity.sign_in import redirect_signed_in
from dissensus.workflows.platform import oidc_sign_in

router = APIRouter(dependencies=[Depends(Public("sign-in"))])

FLOW_COOKIE: Final = "dissensus_oidc_flow"
Parameter = Annotated[str, Query(max_length=4000)]


@router.get("/oidc")
def begin_oidc_sign_in(site: SiteOf, request: Request) -> Response:
    """Redirect to the provider."""
    _check_configured(site)
    flow = oidc.start_flow()
    metadata = site.oidc_metadata.get(site.settings)
    url = oidc.authorization_url(site.settings, metadata, flow, redirect_uri=_callback_url(site, request))
    response = redirect_to(url)
    site.set_cookie(response, FLOW_COOKIE, site.tokens.sign_oidc_flow(flow, now=site.clock()), OIDC_FLOW_S)
    return response


@router.get("/oidc/callback")
def finish_oidc_sign_in(
    site: SiteOf,
    request: Request,
    code: Parameter = "",
    state: Parameter = "",
    token: Annotated[str, Cookie(alias=FLOW_COOKIE, max_length=2000)] = "",
) -> Response:
    """Sign in with the identity that the provider asserts."""
    _check_configured(site)
    flow = site.tokens.read_oidc_flow(token, now=site.clock())
    if not code or not compare_digest(state.encode(), flow.state.encode()):
        raise NotAllowed("The provider did not confirm your sign-in. Begin again at /sign-in.")
    metadata, redirect_uri = site.oidc_metadata.get(site.settings), _callback_url(site, request)
    identity = oidc.fetch_identity(site.settings, metadata, flow, code, redirect_uri=redirect_uri, now=site.clock())
    session = oidc_sign_in.sign_in_by_provider(
        site.platform,
        subject=identity.subject,
        email=identity.email,
        network=truncated_network(request),
        now=site.clock(),
    )
    response = redirect_signed_in(site, request, session)
    response.delete_cookie(FLOW_COOKIE)
    return response


def _callback_url(site: Site, request: Request) -> str:
    return f"{site.address_for(request)}/oidc/callback"


def _check_configured(site: Site) -> None:
    if site.settings.oidc_issuer is None:
        raise NotFound("No OpenID provider is configured. Sign in with a password or a link.")
