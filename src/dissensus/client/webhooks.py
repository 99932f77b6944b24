"""What the platform tells by itself, for who receives it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter, ValidationError

from dissensus.campaign.webhook_batches import TYPE
from dissensus.campaign.webhook_signatures import TOLERANCE, verified
from dissensus.client.events import Delivery, Event
from dissensus.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    campaign: str
    webhook: str
    after: int
    through: int
    head: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    type: str
    data: _Data


def verify_webhook(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime | None = None,
    tolerance: timedelta = TOLERANCE,
) -> Delivery:
    """Return what a site tells of a campaign, if it did sign it.

    Notes
    -----
    Deliveries come at least once: pass over those whose `id` you have, and events whose place you have.

    Examples
    --------
    >>> verify_webhook("whsec_" + "A" * 44, {"webhook-id": "msg_1"}, b"{}")
    Traceback (most recent call last):
        ...
    dissensus.errors.NotAllowed: The request is not signed with the secret of this webhook. Do nothing with it.
    """
    if not isinstance(body, bytes):
        raise InvalidInput("The body is needed as bytes, as it came: read anew, it is not what was signed.")
    message_id = verified(secret, headers, body, now=now or datetime.now(UTC), tolerance=tolerance)
    try:
        read = TypeAdapter(_Body).validate_json(body)
    except ValidationError:
        read = None
    if read is None or read.type != TYPE:
        raise InvalidInput(f"The request is signed, and is no {TYPE}. Has the site another version than this?")
    told = read.data
    return Delivery(
        id=message_id,
        campaign=told.campaign,
        webhook=told.webhook,
        after=told.after,
        through=told.through,
        head=told.head,
        events=told.events,
    )
