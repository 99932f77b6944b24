"""Signing in by an OpenID provider: the authorization code flow with PKCE, as OpenID Connect Core 1.0, section 3.1."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx

from dissensus.errors import NotAllowed, Unavailable
from dissensus.schema.hints import format_value
from dissensus.settings import Settings, load_oidc_client_secret
from dissensus.web.core.signed_tokens import OidcFlow

ALGORITHMS: Final = ("RS256", "PS256", "ES256")
"""Public-key algorithms only; shared secrets are not accepted."""
TIMEOUT_S: Final = 10
LEEWAY_S: Final = 60
"""Allowed clock skew."""
METADATA: Final = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    """Identity that the provider asserts."""

    subject: str  # Who they are there, with the issuer before it
    email: str | None  # Their address, None where the provider has not verified it


def check_oidc_settings(settings: Settings) -> None:
    """Check the OpenID settings and that the extra is installed."""
    if settings.oidc_issuer is None:
        return
    load_oidc_client_secret(settings)
    try:
        import authlib.oidc.core  # type: ignore[import-untyped]  # noqa: F401 - an extra
        import joserfc.jwt  # noqa: F401 - comes with it
    except ImportError:
        raise Unavailable(
            "oidc_issuer is set, and what speaks to a provider is not installed: pip install 'dissensus[oidc]'"
        ) from None


def start_flow() -> OidcFlow:
    """Return fresh random state for a sign-in."""
    return OidcFlow(*(secrets.token_urlsafe(32) for _ in range(3)))


def authorization_url(settings: Settings, detour: OidcFlow, *, back: str) -> str:
    """Return the authorisation URL."""
    from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

    asked = {
        "response_type": "code",
        "client_id": settings.oidc_client_id,
        "redirect_uri": back,
        "scope": "openid email",
        "state": detour.state,
        "nonce": detour.nonce,
        "code_challenge": create_s256_code_challenge(detour.verifier),
        "code_challenge_method": "S256",
    }
    with _client() as client:
        endpoint = str(_metadata(client, settings)["authorization_endpoint"])
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


def fetch_identity(settings: Settings, detour: OidcFlow, code: str, *, back: str, now: datetime) -> OidcIdentity:
    """Exchange the authorisation code for a verified identity."""
    basic = httpx.BasicAuth(
        quote(str(settings.oidc_client_id), safe=""), quote(load_oidc_client_secret(settings), safe="")
    )
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": back,
        "code_verifier": detour.verifier,
    }
    with _client() as client:
        metadata = _metadata(client, settings)
        answer = _asked(client, "POST", metadata["token_endpoint"], data=form, auth=basic)
        keys = _asked(client, "GET", metadata["jwks_uri"])
    claims = _claims(settings, answer, keys, detour.nonce, now)
    subject, email = f"{settings.oidc_issuer} {claims['sub']}", claims.get("email")
    # As the standard has it, a truth value: some send a text, which is true whatever it says.
    return OidcIdentity(subject, str(email) if email and claims.get("email_verified") is True else None)


def _claims(
    settings: Settings, answer: dict[str, Any], keys: dict[str, Any], nonce: str, now: datetime
) -> dict[str, Any]:
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    client_id = settings.oidc_client_id
    options = {
        "iss": {"essential": True, "value": settings.oidc_issuer},
        "aud": {"essential": True, "value": client_id},
        "nonce": {"essential": True, "value": nonce},
    }
    params = {"nonce": nonce, "client_id": client_id, "access_token": answer.get("access_token")}
    try:
        token = jwt.decode(answer["id_token"], KeySet.import_key_set(keys), algorithms=list(ALGORITHMS))  # type: ignore[arg-type]
        claims = CodeIDToken(token.claims, token.header, options, params)
        claims.validate(now=int(now.timestamp()), leeway=LEEWAY_S)
    except (JoseError, KeyError, ValueError, TypeError):
        raise NotAllowed("What the provider said cannot be trusted. Begin again at /sign-in.") from None
    return dict(claims)


def _client() -> httpx.Client:
    return httpx.Client(timeout=TIMEOUT_S, headers={"accept": "application/json"})


def _metadata(client: httpx.Client, settings: Settings) -> dict[str, Any]:
    issuer = str(settings.oidc_issuer)
    found = _asked(client, "GET", issuer.rstrip("/") + METADATA)
    if found.get("issuer") != issuer:
        raise Unavailable(
            f"The provider calls itself {format_value(found.get('issuer'))}. Set oidc_issuer to that, if it is yours."
        )
    missing = {"authorization_endpoint", "token_endpoint", "jwks_uri"} - set(found)
    if missing:
        raise Unavailable(f"The provider does not say where it is: {', '.join(sorted(missing))} is missing.")
    return found


def _asked(client: httpx.Client, method: str, url: str, **sent: Any) -> dict[str, Any]:
    try:
        answer = client.request(method, url, **sent)
        found = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        raise Unavailable(
            "The provider does not answer. Sign in by a password or a link, or try again later."
        ) from None
    if answer.status_code == 400:
        raise NotAllowed("The provider does not know of this visit (any more). Begin again at /sign-in.")
    if answer.status_code != 200 or not isinstance(found, dict):
        raise Unavailable(f"The provider answers with {answer.status_code}. Sign in by a password or a link meanwhile.")
    return found
