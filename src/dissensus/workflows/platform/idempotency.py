"""Idempotency keys of forms, and of API requests: a repeated request gets the response of the first, for a day.

Responses may contain links whose keys the platform stores as hashes only. So a response is encrypted under its API
token, which is not in the database, and its idempotency key.
"""

import base64
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dissensus.encryption import decrypt, encrypt
from dissensus.errors import Conflict, InvalidInput
from dissensus.store.core import idempotency as store
from dissensus.workflows.platform.platform import Platform

RETENTION: Final = timedelta(hours=24)
MAX_KEY_LENGTH: Final = 64
PURPOSE: Final = "idempotent-response"


class RequestInProgress(Conflict):
    """The first request with this idempotency key has no response yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentRequest:
    """A request that creates something, with its idempotency key."""

    token_id: str
    token: str = field(repr=False)  # key of the token, which is not stored
    key: str  # chosen by the client
    digest: str  # of the whole request


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """Status and body of a response."""

    status: int
    body: bytes


def begin_request(platform: Platform, request: IdempotentRequest, *, now: datetime) -> StoredResponse | None:
    """Return the stored response of a repeated request; None for a first one, which is then in progress."""
    if not 1 <= len(request.key) <= MAX_KEY_LENGTH or not (request.key.isascii() and request.key.isprintable()):
        raise InvalidInput(f"An Idempotency-Key has 1 to {MAX_KEY_LENGTH} printable characters, such as a UUID.")
    with platform.database.writing() as tx:
        store.delete_requests_before(tx, now - RETENTION)
        if store.begin_request(tx, request.token_id, request.key, digest=request.digest, now=now):
            return None
        stored = store.find_response(tx, request.token_id, request.key)
    if stored is not None and stored.digest != request.digest:
        raise Conflict("This Idempotency-Key was used for another request. Use a new one for each request.")
    if stored is None or stored.status is None:
        raise RequestInProgress(
            "The same request is in progress, or was interrupted. Try again in a moment; if this stays, check whether "
            "it was done, and use another key."
        )
    body = decrypt(base64.b64decode(stored.encrypted_body), request.token, PURPOSE, request.key)
    return StoredResponse(stored.status, body)


def store_response(platform: Platform, request: IdempotentRequest, response: StoredResponse) -> None:
    """Store the response of a request."""
    body = base64.b64encode(encrypt(response.body, request.token, PURPOSE, request.key)).decode()
    with platform.database.writing() as tx:
        store.store_response(tx, request.token_id, request.key, status=response.status, encrypted_body=body)


def abandon_request(platform: Platform, request: IdempotentRequest) -> None:
    """Delete a request that created nothing, so that a corrected one may follow."""
    with platform.database.writing() as tx:
        store.delete_request(tx, request.token_id, request.key)


def delete_expired_responses(platform: Platform, now: datetime) -> int:
    """Delete responses older than one day and return their number."""
    with platform.database.reading() as tx:
        # The job runs every second and mostly finds nothing, so it reads before it writes.
        if not store.has_requests_before(tx, now - RETENTION):
            return 0
    with platform.database.writing() as tx:
        return store.delete_requests_before(tx, now - RETENTION)


def parse_form_id(text: str) -> str:
    """Return the UUID that a form was loaded with, in its canonical spelling; it is an idempotency key."""
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidInput("The form has no valid id. Reload the page, and send it again.") from None
