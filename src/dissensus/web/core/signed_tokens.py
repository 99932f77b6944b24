"""What visitors carry, signed: nobody can make it, and nothing is kept of it before they agree."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from itsdangerous import BadSignature, URLSafeSerializer

from dissensus.campaign.encryption import covered
from dissensus.errors import NotAllowed
from dissensus.recruit.prolific import ProlificEntry
from dissensus.workflows.rater.enrolment import Arrival

ARRIVAL_S: Final = 3600
"""How long somebody may read before they agree or not."""
DETOUR_S: Final = 600
"""How long somebody may be with a provider."""
SALT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Detour:
    """Somebody who is on their way to a provider and back.

    Parameters
    ----------
    state, nonce, verifier
        What they come back with, what the provider vouches with, and what proves that we sent them.
    """

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """Signs and checks tokens.

    Parameters
    ----------
    secret
        Known to the workers of one platform alone.
    """

    secret: str = field(repr=False)

    def arrival(self, arrival: Arrival, *, now: datetime) -> str:
        """Return a token for somebody who saw the warning."""
        return self._signer("arrival").dumps([int(now.timestamp()), asdict(arrival)])

    def read_arrival(self, token: str, *, now: datetime) -> Arrival:
        """Return what such a token says.

        Raises
        ------
        NotAllowed
            It is not ours, or older than an hour.
        """
        made_at, found = self._read("arrival", token)
        if now.timestamp() - made_at > ARRIVAL_S:
            raise NotAllowed("This page was open for too long. Open your link again; nothing was kept.")
        sent = found.pop("sent")
        return Arrival(**found, sent=None if sent is None else ProlificEntry(**sent))

    def detour(self, detour: Detour, *, now: datetime) -> str:
        """Return a token for somebody who is sent to a provider."""
        return self._signer("detour").dumps([int(now.timestamp()), *astuple(detour)])

    def read_detour(self, token: str, *, now: datetime) -> Detour:
        """Return what such a token says.

        Raises
        ------
        NotAllowed
            It is not ours, or older than ten minutes.
        """
        made_at, *detour = self._read("detour", token)
        if now.timestamp() - made_at > DETOUR_S:
            raise NotAllowed("Signing in took too long. Begin again at /sign-in.")
        return Detour(*detour)

    def away(self, campaign_id: str) -> str:
        """Return a token of somebody for whom a campaign had no seat; it says nothing of them."""
        return self._signer("away").dumps(campaign_id)

    def is_away(self, token: str, campaign_id: str) -> bool:
        """Tell whether a token is of somebody for whom a campaign had no seat."""
        try:
            return bool(self._signer("away").loads(token) == campaign_id)
        except BadSignature:
            return False

    def withdrawal(self, rater_id: str) -> str:
        """Return a token by which a rater can withdraw, at any time."""
        return self._signer("withdrawal").dumps(rater_id)

    def read_withdrawal(self, token: str) -> str:
        """Return the rater that such a token is of."""
        return str(self._read("withdrawal", token))

    def cursor(self, of: str, place: Sequence[object]) -> str:
        """Return a token for a place in a list, which says nothing to who carries it: ids in it are not for them."""
        salt = token_hex(SALT_BYTES)
        body = covered(json.dumps([_digest(of), *place]).encode(), self.secret, "cursor", salt)
        return self._signer("place").dumps([salt, base64.b64encode(body).decode()])

    def read_cursor(self, of: str, token: str) -> list[Any] | None:
        """Return the place in a list that such a token is for, None where it is not ours, or of another list."""
        try:
            salt, body = self._signer("place").loads(token)
        except BadSignature:
            return None
        known, *place = json.loads(covered(base64.b64decode(body), self.secret, "cursor", salt))
        return place if known == _digest(of) else None

    def form(self, session: str) -> str:
        """Return what forms of a session carry, so that no other site can send them."""
        return hmac.new(self.secret.encode(), f"form:{session}".encode(), hashlib.sha256).hexdigest()

    def trace(self, kind: str, value: str) -> str:
        """Return what is kept of who tried to sign in: the same each time, and nobody can tell of whom."""
        return hmac.new(self.secret.encode(), f"trace:{kind}:{value}".encode("utf-8", "replace"), "sha256").hexdigest()

    def check_form(self, session: str, given: str | None) -> None:
        """Refuse a form that did not come from a page of this session."""
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


def _digest(of: str) -> str:
    # Names are as long as they like, and addresses are not.
    return hashlib.sha256(of.encode("utf-8", "surrogatepass")).hexdigest()[:32]
