"""Signed tokens: arrival, withdrawal and OpenID state, pagination cursors and CSRF tokens."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from typing import Any, Final

from itsdangerous import BadSignature, URLSafeSerializer

from dissensus.campaign.encryption import decrypt, encrypt
from dissensus.errors import NotAllowed
from dissensus.recruit.prolific import ProlificEntry
from dissensus.workflows.rater.enrolment import Arrival

ARRIVAL_S: Final = 3600
"""Lifetime of an arrival token, from the warning to the consent form."""
OIDC_FLOW_S: Final = 600
"""Lifetime of a sign-in with the OpenID provider."""


@dataclass(frozen=True, slots=True)
class OidcFlow:
    """State of one sign-in with the OpenID provider."""

    state: str  # What they come back with, what the provider vouches with, and what proves that we sent them
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class TokenSigner:
    """Sign and verify tokens."""

    secret: str = field(repr=False)  # Known to the workers of one platform alone

    def arrival(self, arrival: Arrival, *, now: datetime) -> str:
        """Return a token for a visitor who saw the warning."""
        return self._signer("arrival").dumps([int(now.timestamp()), asdict(arrival)])

    def read_arrival(self, token: str, *, now: datetime) -> Arrival:
        """Return the content of such a token; raise `NotAllowed` if it is invalid or expired."""
        made_at, found = self._read("arrival", token)
        if now.timestamp() - made_at > ARRIVAL_S:
            raise NotAllowed("This page was open for too long. Open your link again; nothing was kept.")
        sent = found.pop("sent")
        return Arrival(**found, sent=None if sent is None else ProlificEntry(**sent))

    def detour(self, detour: OidcFlow, *, now: datetime) -> str:
        """Return a token that carries the state of a sign-in."""
        return self._signer("detour").dumps([int(now.timestamp()), *astuple(detour)])

    def read_detour(self, token: str, *, now: datetime) -> OidcFlow:
        """Return the content of such a token; raise `NotAllowed` if it is invalid or expired."""
        made_at, *detour = self._read("detour", token)
        if now.timestamp() - made_at > OIDC_FLOW_S:
            raise NotAllowed("Signing in took too long. Begin again at /sign-in.")
        return OidcFlow(*detour)

    def away(self, campaign_id: str) -> str:
        """Return a token that marks a browser as turned away from a campaign."""
        return self._signer("away").dumps(campaign_id)

    def is_away(self, token: str, campaign_id: str) -> bool:
        """Return whether a token marks a browser as turned away from a campaign."""
        try:
            return bool(self._signer("away").loads(token) == campaign_id)
        except BadSignature:
            return False

    def withdrawal(self, rater_id: str) -> str:
        """Return a withdrawal token; it never expires."""
        return self._signer("withdrawal").dumps(rater_id)

    def read_withdrawal(self, token: str) -> str:
        """Return the rater id of a withdrawal token."""
        return str(self._read("withdrawal", token))

    def cursor(self, of: str, position: Sequence[object]) -> str:
        """Return an encrypted cursor: a position in a list, whose ids are not for the client."""
        body = encrypt(json.dumps(list(position)).encode(), self.secret, "cursor", of)
        return base64.urlsafe_b64encode(body).decode()

    def read_cursor(self, of: str, token: str) -> list[Any] | None:
        """Return the position of a cursor; None if it is invalid or of another list."""
        try:
            body = decrypt(base64.b64decode(token.encode(), b"-_", validate=True), self.secret, "cursor", of)
        except (ValueError, NotAllowed):
            return None
        position: list[Any] = json.loads(body)
        return position

    def form(self, session: str) -> str:
        """Return the CSRF token of a session."""
        return hmac.new(self.secret.encode(), f"form:{session}".encode(), hashlib.sha256).hexdigest()

    def trace(self, kind: str, value: str) -> str:
        """Return a keyed digest that identifies a name or address in the list of failed sign-ins."""
        return hmac.new(self.secret.encode(), f"trace:{kind}:{value}".encode("utf-8", "replace"), "sha256").hexdigest()

    def check_form(self, session: str, given: str | None) -> None:
        """Raise `NotAllowed` unless the CSRF token belongs to the session."""
        if given is None or not hmac.compare_digest(self.form(session).encode(), given.encode("utf-8", "replace")):
            raise NotAllowed("This form is not of your session (any more). Go back, load the page again and repeat.")

    def _read(self, purpose: str, token: str) -> Any:
        try:
            return self._signer(purpose).loads(token)
        except BadSignature:
            raise NotAllowed("This link is not one of ours, or a part of it is missing. Open it whole.") from None

    def _signer(self, purpose: str) -> URLSafeSerializer:
        return URLSafeSerializer(
            self.secret, salt=f"dissensus-{purpose}", signer_kwargs={"digest_method": hashlib.sha256}
        )
