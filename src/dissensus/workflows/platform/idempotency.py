"""The same request twice is one: what was answered to the first is kept for a day, and answered again.

Answers may hold links, of which the platform keeps hashes alone. So an answer is kept under the keys of its request, of
which the token is nowhere in the database: each is covered by bytes of its own from SHAKE-256 (FIPS 202), used once.
"""

import base64
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final

from dissensus.campaign.encryption import covered
from dissensus.errors import Conflict, InvalidInput
from dissensus.store import idempotency as store
from dissensus.workflows.platform.platform import Platform

RETENTION: Final = timedelta(hours=24)
MAX_KEY_LENGTH: Final = 64
SALT_BYTES: Final = 16


class RequestInProgress(Conflict):
    """The first of two same requests has no answer yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentRequest:
    """A request that makes something."""

    token_id: str  # Of the token by which it came
    token: str = field(repr=False)  # Its key, which is kept nowhere
    key: str  # Chosen by the program
    digest: str  # Of all that it says


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What was answered."""

    status: int
    body: bytes


def begin_request(platform: Platform, request: IdempotentRequest, *, now: datetime) -> StoredResponse | None:
    """Return what was answered to the same request; None where it is the first, which is under way from now on."""
    if not 1 <= len(request.key) <= MAX_KEY_LENGTH or not (request.key.isascii() and request.key.isprintable()):
        raise InvalidInput(f"An Idempotency-Key has 1 to {MAX_KEY_LENGTH} printable characters, such as a UUID.")
    with platform.database.writing() as tx:
        store.forget_before(tx, now - RETENTION)
        if store.begin(tx, request.token_id, request.key, digest=request.digest, now=now):
            return None
        found = store.answered(tx, request.token_id, request.key)
    if found is not None and found.digest != request.digest:
        raise Conflict("This Idempotency-Key was another request's. Use a new one for each thing that you make.")
    if found is None or found.status is None:
        raise RequestInProgress(
            "The same request is under way, or ended without a word. Try again in a moment; if this stays, look "
            "whether it was done, and use another key."
        )
    return StoredResponse(found.status, covered(base64.b64decode(found.sealed), request.token, request.key, found.salt))


def store_response(platform: Platform, request: IdempotentRequest, answer: StoredResponse) -> None:
    """Keep what was answered."""
    salt = token_hex(SALT_BYTES)
    sealed = base64.b64encode(covered(answer.body, request.token, request.key, salt)).decode()
    with platform.database.writing() as tx:
        store.keep(tx, request.token_id, request.key, status=answer.status, salt=salt, sealed=sealed)


def abandon_request(platform: Platform, request: IdempotentRequest) -> None:
    """Forget a request that made nothing, so that it can be made right and sent again."""
    with platform.database.writing() as tx:
        store.forget(tx, request.token_id, request.key)


def delete_expired_responses(platform: Platform, now: datetime) -> int:
    """Forget what was answered more than a day ago, and return how much that was."""
    with platform.database.reading() as tx:
        # It is asked every second, and most seconds must not wait for a turn to write.
        if not store.has_before(tx, now - RETENTION):
            return 0
    with platform.database.writing() as tx:
        return store.forget_before(tx, now - RETENTION)
