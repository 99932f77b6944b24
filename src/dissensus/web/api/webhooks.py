"""API routes for webhooks."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.api_models.webhooks import CreatedWebhookResource, WebhookResource, WebhooksResource
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.requests import WebhookRequest, WebhookStateRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import webhooks

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Webhooks"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("webhooks"))]
WebhookId = Annotated[str, Path(max_length=100)]


@router.get("/webhooks", operation_id="list_webhooks")
def list_webhooks(site: SiteOf, caller: Authorized, name: Name) -> WebhooksResource:
    """List the webhooks of a campaign with their delivery state, the earliest first."""
    rows = webhooks.list_webhooks(site.platform, name, staff_id=caller.staff.id)
    return WebhooksResource(webhooks=tuple(map(WebhookResource.model_validate, rows)))


@router.post("/webhooks", operation_id="add_webhook", status_code=201)
def add(
    site: SiteOf, caller: Authorized, name: Name, body: WebhookRequest, _slot: SlowRequestSlot
) -> CreatedWebhookResource:
    """Add a webhook. Its secret is returned only in this response."""
    webhook, secret = webhooks.add_webhook(
        site.platform, name, body.to_settings(), signer=site.webhook_signer, staff_id=caller.staff.id, now=site.clock()
    )
    return CreatedWebhookResource(**WebhookResource.model_validate(webhook).model_dump(), secret=secret)


@router.post("/webhooks/{webhook_id}/state", operation_id="set_webhook_state")
def change_webhook_state(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    webhook_id: WebhookId,
    body: WebhookStateRequest,  # noqa: ARG001 - validated, and has one value
) -> WebhookResource:
    """Resume a failing or paused webhook at once, at its current position."""
    webhook = webhooks.resume_webhook(
        site.platform, name, webhook_id, signer=site.webhook_signer, staff_id=caller.staff.id, now=site.clock()
    )
    return WebhookResource.model_validate(webhook)


@router.delete("/webhooks/{webhook_id}", operation_id="remove_webhook", status_code=204)
def remove(site: SiteOf, caller: Authorized, name: Name, webhook_id: WebhookId) -> None:
    """Delete a webhook."""
    webhooks.remove_webhook(site.platform, name, webhook_id, staff_id=caller.staff.id, now=site.clock())
