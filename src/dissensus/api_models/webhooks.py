"""Audit-log events, and the webhooks that deliver them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from dissensus.api_models.resource import Resource


class EventResource(Resource):
    """An event of the audit log, linked to the events before it by its digest."""

    sequence: int
    kind: str
    at: Annotated[datetime | None, Field(description="Null if it was erased.")]
    actor: Annotated[Literal["staff", "rater", "other"] | None, Field(description="Null if it was erased.")]
    staff: Annotated[str | None, Field(description="Id of the member.")]
    content: Mapping[str, Any]
    digest: str
    chain_digest: str


class WebhookResource(Resource):
    """An address to which events of a campaign are delivered."""

    id: str
    address: str
    kinds: Annotated[tuple[str, ...], Field(description="Event kinds; empty for all, including future ones.")]
    state: Annotated[
        Literal["active", "failing", "paused"], Field(description="Failing ones are retried; paused ones are not.")
    ]
    failure_reason: Annotated[str, Field(description="Reason of the last failed delivery; empty if it succeeded.")]
    pause_reason: Annotated[str, Field(description="Reason of the pause; empty if it is not paused.")]
    sequence: Annotated[int, Field(description="Sequence number of the last event delivered.")]
    last_sequence: Annotated[int, Field(description="Last sequence number of the log.")]
    owner: Annotated[str, Field(description="Name of the owner who is responsible for it.")]
    due_at: Annotated[datetime, Field(description="Time of the next retry, if it is failing.")]
    delivered_at: Annotated[datetime | None, Field(description="Time of the last successful delivery.")]
    created_at: datetime


class WebhooksResource(Resource):
    """Webhooks of a campaign."""

    webhooks: tuple[WebhookResource, ...]


class CreatedWebhookResource(WebhookResource):
    """A new webhook with its secret, which is shown only once."""

    secret: Annotated[str, Field(repr=False, description="Secret that signs its deliveries.")]


class WebhookBatchResource(Resource):
    """Consecutive events of a campaign, delivered in one request."""

    campaign: Annotated[str, Field(description="Name of the campaign.")]
    webhook: Annotated[str, Field(description="Id of the webhook.")]
    after: Annotated[int, Field(description="Sequence number after which the batch begins.")]
    through: Annotated[int, Field(description="Last sequence number that the batch covers.")]
    last_sequence: Annotated[int, Field(description="Last sequence number of the log.")]
    events: Annotated[tuple[EventResource, ...], Field(description="In the order of the log, of the webhook's kinds.")]


class WebhookMessageResource(Resource):
    """Body of a webhook request."""

    type: str
    data: WebhookBatchResource
