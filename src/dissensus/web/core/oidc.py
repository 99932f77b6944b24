"""OpenID Connect protocol: authorization code flow with PKCE (OpenID Connect Core 1.0, section 3.1)."""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx

from dissensus.errors import DissensusError, NotAllowed, Unavailable
from dissensus.extras import require_extra
from dissensus.schema.hints import format_value
from dissensus.settings import Settings, load_oidc_client_secret
from dissensus.web.core.signed_tokens import OidcFlow

ALGORITHMS: Final = ("RS256", "PS256", "ES256")
"""Public-key algorithms only; shared secrets are not accepted."""
TIMEOUT_S: Final = 10
METADATA_LIFETIME_S: Final = 600
"""Time for which metadata of the provider are cached."""
FAILURE_LIFETIME_S: Final = 15
"""Time for which a failure to fetch them is cached."""
LEEWAY_S: Final = 60
"""Allowed clock skew."""
METADATA_PATH: Final = "/.well-known/openid-configuration"
NO_RESPONSE: Final = "The provider does not respond. Sign in with a password or a link, or try again later."

log = logging.getLogger("dissensus.oidc")


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    """Identity that the provider asserts."""

    subject: str  # Issuer and subject identifier
    email: str | None  # None if the provider has not verified it


class MetadataCache:
    """Metadata of the provider, fetched by one thread at a time; a failure is cached for a short time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._issuer: str | None = None
        self._expires_at = 0.0  # By the monotonic clock
        self._result: dict[str, Any] | DissensusError = Unavailable(
            "The provider has not answered yet. Try again in a moment, or sign in with a password or a link."
        )

    def get(self, settings: Settings) -> dict[str, Any]:
        """Return the metadata; raise the failure of the last request while it is cached."""
        is_current = settings.oidc_issuer == self._issuer and monotonic() < self._expires_at
        # Other threads do not wait for a slow provider.
        if not is_current and self._lock.acquire(blocking=False):
            try:
                self._fetch(settings)
            finally:
                self._lock.release()
        # Read once: another thread may replace it.
        result = self._result
        if isinstance(result, DissensusError):
            # Each raise would add frames to the traceback of the cached error, and keep their requests in memory.
            raise result.with_traceback(None)
        return result

    def _fetch(self, settings: Settings) -> None:
        try:
            with _client(settings) as client:
                self._result, lifetime_s = _fetch_metadata(client, settings), METADATA_LIFETIME_S
        except (NotAllowed, Unavailable) as error:
            self._result, lifetime_s = error, FAILURE_LIFETIME_S
        self._issuer, self._expires_at = settings.oidc_issuer, monotonic() + lifetime_s


def check_oidc_settings(settings: Settings) -> None:
    """Check the OpenID settings and that the extra is installed."""
    if settings.oidc_issuer is None:
        return
    load_oidc_client_secret(settings)
    with require_extra("oidc_issuer", "oidc"):
        import authlib.oidc.core  # type: ignore[import-untyped]  # noqa: F401
        import joserfc.jwt  # noqa: F401


def start_flow() -> OidcFlow:
    """Return fresh random state for a sign-in."""
    return OidcFlow(*(secrets.token_urlsafe(32) for _ in range(3)))


def authorization_url(settings: Settings, metadata: Mapping[str, Any], flow: OidcFlow, *, redirect_uri: str) -> str:
    """Return the authorisation URL."""
    from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

    query = {
        "response_type": "code",
        "client_id": settings.oidc_client_id,
        "redirect_uri": redirect_uri,
        "scope": "openid email",
        "state": flow.state,
        "nonce": flow.nonce,
        "code_challenge": create_s256_code_challenge(flow.verifier),
        "code_challenge_method": "S256",
    }
    endpoint = str(metadata["authorization_endpoint"])
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


def fetch_identity(
    settings: Settings, metadata: Mapping[str, Any], flow: OidcFlow, code: str, *, redirect_uri: str, now: datetime
) -> OidcIdentity:
    """Exchange the authorisation code for a verified identity."""
    basic = httpx.BasicAuth(
        quote(str(settings.oidc_client_id), safe=""), quote(load_oidc_client_secret(settings), safe="")
    )
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": flow.verifier,
    }
    with _client(settings) as client:
        tokens = _fetch_json(client, "POST", metadata["token_endpoint"], data=form, auth=basic)
        keys = _fetch_json(client, "GET", metadata["jwks_uri"])
    claims = _verify_id_token(settings, tokens, keys, flow.nonce, now)
    subject, email = f"{settings.oidc_issuer} {claims['sub']}", claims.get("email")
    # The standard requires a boolean: some providers send a string, and "false" is truthy.
    return OidcIdentity(subject, str(email) if email and claims.get("email_verified") is True else None)


def _verify_id_token(
    settings: Settings, tokens: dict[str, Any], keys: dict[str, Any], nonce: str, now: datetime
) -> dict[str, Any]:
    """Return the claims of the ID token; raise `NotAllowed` if it is invalid."""
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
    params = {"nonce": nonce, "client_id": client_id, "access_token": tokens.get("access_token")}
    try:
        token = jwt.decode(tokens["id_token"], KeySet.import_key_set(keys), algorithms=list(ALGORITHMS))  # type: ignore[arg-type]
        claims = CodeIDToken(token.claims, token.header, options, params)
        claims.validate(now=int(now.timestamp()), leeway=LEEWAY_S)
    except (JoseError, KeyError, ValueError, TypeError):
        raise NotAllowed("The response of the provider could not be verified. Begin again at /sign-in.") from None
    return dict(claims)


def _client(settings: Settings) -> httpx.Client:
    try:
        return httpx.Client(timeout=TIMEOUT_S, headers={"accept": "application/json"})
    except (ImportError, OSError, ValueError) as error:
        # Proxies and certificates come from the environment; details belong in the log.
        log.error("No connection to %s can be made: %s. Check SSL_CERT_FILE and *_PROXY.", settings.oidc_issuer, error)
        raise Unavailable(NO_RESPONSE) from None


def _fetch_metadata(client: httpx.Client, settings: Settings) -> dict[str, Any]:
    issuer = str(settings.oidc_issuer)
    metadata = _fetch_json(client, "GET", issuer.rstrip("/") + METADATA_PATH)
    if metadata.get("issuer") != issuer:
        raise Unavailable(
            f"The provider identifies itself as {format_value(metadata.get('issuer'))}. "
            "If that is correct, set oidc_issuer to it."
        )
    missing = {"authorization_endpoint", "token_endpoint", "jwks_uri"} - set(metadata)
    if missing:
        raise Unavailable(f"The metadata of the provider are incomplete. Missing: {', '.join(sorted(missing))}.")
    return metadata


def _fetch_json(client: httpx.Client, method: str, url: str, **options: Any) -> dict[str, Any]:
    try:
        response = client.request(method, url, **options)
        body = response.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        raise Unavailable(NO_RESPONSE) from None
    if response.status_code == 400:
        raise NotAllowed("The provider does not recognise this sign-in (any more). Begin again at /sign-in.")
    if response.status_code != 200 or not isinstance(body, dict):
        raise Unavailable(
            f"The provider answers with {response.status_code}. Sign in with a password or a link meanwhile."
        )
    return body
