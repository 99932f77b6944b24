"""Verification of webhook deliveries, for the program that receives them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field, ValidationError

from dissensus.api_models.webhooks import WebhookBatchResource, WebhookMessageResource
from dissensus.campaign.webhooks.batches import BATCH_TYPE
from dissensus.campaign.webhooks.signatures import TOLERANCE, verify_signature
from dissensus.errors import InvalidInput


class VerifiedDelivery(WebhookBatchResource):
    """A delivery whose signature was verified."""

    id: Annotated[str, Field(description="Delivery id, the same for each retry.")]


def verify_webhook(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime | None = None,
    tolerance: timedelta = TOLERANCE,
) -> VerifiedDelivery:
    """Verify the signature of a webhook delivery, and return its events.

    Names of headers may be in upper or lower case. `NotAllowed` means that the request is not signed with the secret,
    or that its time differs from `now` by more than the tolerance; `InvalidInput`, that it is not a batch of events.

    Notes
    -----
    Deliveries arrive at least once: ignore deliveries whose `id`, and events whose sequence number, arrived before.

    Examples
    --------
    >>> verify_webhook("whsec_" + "A" * 44, {"webhook-id": "msg_1"}, b"{}")
    Traceback (most recent call last):
        ...
    dissensus.errors.NotAllowed: The request is not signed with the secret of this webhook. Do nothing with it.
    """
    if not isinstance(body, bytes):
        raise InvalidInput(
            "The body must be the bytes received: JSON that was parsed and written again does not match the signature."
        )
    if now is not None and now.tzinfo is None:
        raise InvalidInput(f"now is {now}, without a time zone. Give one, such as datetime.now(UTC).")
    message_id = verify_signature(secret, headers, body, now=now or datetime.now(UTC), tolerance=tolerance)
    try:
        message = WebhookMessageResource.model_validate_json(body)
    except ValidationError:
        message = None
    if message is None or message.type != BATCH_TYPE:
        raise InvalidInput(
            f"The signature is valid, but the type is not {BATCH_TYPE}. Client and site may differ in version."
        )
    return VerifiedDelivery(id=message_id, **dict(message.data))
