"""Signed tokens of arrivals, withdrawals and OpenID sign-ins, CSRF tokens, encrypted cursors and keyed digests."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import datetime
from typing import Any, Final

from itsdangerous import BadSignature, URLSafeSerializer

from dissensus.encryption import SecretKeys
from dissensus.errors import NotAllowed
from dissensus.recruit.entry import RecruitEntry
from dissensus.workflows.platform.second_factors import SIGN_IN_EXPIRED
from dissensus.workflows.rater.enrolment import Arrival

ARRIVAL_S: Final = 3600
"""Lifetime of an arrival token, from the warning to the consent form."""
OIDC_FLOW_S: Final = 600
"""Lifetime of a sign-in with the OpenID provider."""
NO_ARRIVAL: Final = (
    "Your browser did not send the cookie of this visit, or it is not ours. Open your link again; nothing was stored."
)
NO_FLOW: Final = "This sign-in was not started in this browser, or has expired. Begin again at /sign-in."


@dataclass(frozen=True, slots=True)
class OidcFlow:
    """State of one sign-in with the OpenID provider."""

    state: str  # Returned by the provider with the redirect
    nonce: str  # Repeated in the ID token
    verifier: str  # PKCE code verifier


@dataclass(frozen=True, slots=True)
class TokenSigner:
    """Sign with the current secret key, and verify with all of them."""

    keys: SecretKeys  # Shared by the workers of one platform

    def sign_arrival(self, arrival: Arrival, *, now: datetime) -> str:
        """Return a token for a visitor who saw the warning."""
        return self._signer("arrival").dumps([int(now.timestamp()), asdict(arrival)])

    def read_arrival(self, token: str, *, now: datetime) -> Arrival:
        """Return the content of a token; raise `NotAllowed` if it is invalid or expired."""
        made_at, fields = self._read("arrival", token, NO_ARRIVAL)
        if now.timestamp() - made_at > ARRIVAL_S:
            raise NotAllowed("This page was open for too long. Open your link again; nothing was stored.")
        entry = fields.pop("recruit_entry")
        return Arrival(**fields, recruit_entry=None if entry is None else RecruitEntry(**entry))

    def sign_oidc_flow(self, flow: OidcFlow, *, now: datetime) -> str:
        """Return a token that carries the state of a sign-in."""
        return self._signer("oidc_flow").dumps([int(now.timestamp()), *astuple(flow)])

    def read_oidc_flow(self, token: str, *, now: datetime) -> OidcFlow:
        """Return the content of a token; raise `NotAllowed` if it is invalid or expired."""
        made_at, *flow = self._read("oidc_flow", token, NO_FLOW)
        if now.timestamp() - made_at > OIDC_FLOW_S:
            raise NotAllowed(SIGN_IN_EXPIRED)
        return OidcFlow(*flow)

    def sign_turned_away(self, campaign_id: str) -> str:
        """Return a token that marks a browser as turned away from a campaign."""
        return self._signer("turned_away").dumps(campaign_id)

    def is_turned_away(self, token: str, campaign_id: str) -> bool:
        """Return whether a token marks a browser as turned away from a campaign."""
        try:
            return bool(self._signer("turned_away").loads(token) == campaign_id)
        except BadSignature:
            return False

    def sign_withdrawal(self, rater_id: str) -> str:
        """Return a withdrawal token; it never expires."""
        return self._signer("withdrawal").dumps(rater_id)

    def read_withdrawal(self, token: str) -> str:
        """Return the rater id of a withdrawal token; raise `NotAllowed` if it is invalid."""
        return str(self._read("withdrawal", token, "This link is invalid or incomplete. Open the complete link."))

    def encrypt_cursor(self, list_name: str, position: Sequence[object]) -> str:
        """Return an encrypted cursor; the position holds ids that clients must not see."""
        body = self.keys.encrypt(json.dumps(list(position)).encode(), "cursor", list_name)
        return base64.urlsafe_b64encode(body).decode()

    def read_cursor(self, list_name: str, token: str) -> list[Any] | None:
        """Return the position of a cursor; None if it is invalid or of another list."""
        try:
            body = self.keys.decrypt(base64.b64decode(token.encode(), b"-_", validate=True), "cursor", list_name)
        except (ValueError, NotAllowed):
            return None
        position: list[Any] = json.loads(body)
        return position

    def csrf_token(self, session: str) -> str:
        """Return the CSRF token of a session."""
        return _csrf_token(self.keys.current, session)

    def keyed_digest(self, kind: str, value: str) -> str:
        """Return a digest of a value of one kind, such as an address; without the key nobody can test guesses of it."""
        return hmac.new(
            self.keys.current.encode(), f"trace:{kind}:{value}".encode("utf-8", "replace"), "sha256"
        ).hexdigest()

    def check_csrf_token(self, session: str, token: str | None) -> None:
        """Raise `NotAllowed` unless the CSRF token belongs to the session."""
        sent_token = (token or "").encode("utf-8", "replace")
        if not any(hmac.compare_digest(_csrf_token(key, session).encode(), sent_token) for key in self.keys):
            raise NotAllowed(
                "This form does not belong to your session (any more). Go back, load the page again and repeat."
            )

    def _read(self, purpose: str, token: str, refusal: str) -> Any:
        try:
            return self._signer(purpose).loads(token)
        except BadSignature:
            raise NotAllowed(refusal) from None

    def _signer(self, purpose: str) -> URLSafeSerializer:
        # The serializer signs with the last key.
        return URLSafeSerializer(
            [*reversed(tuple(self.keys))], salt=f"dissensus-{purpose}", signer_kwargs={"digest_method": hashlib.sha256}
        )


def _csrf_token(key: str, session: str) -> str:
    return hmac.new(key.encode(), f"form:{session}".encode(), hashlib.sha256).hexdigest()
