"""Addresses that are told what happens."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.requests import WebhookStateRequest, WebhookRequest
from dissensus.web.api.schemas import WebhookMade, Webhooks, WebhookShown
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.campaign import webhooks

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Webhooks"])

By = Annotated[Visit, Depends(RequireScope("webhooks"))]
WebhookId = Annotated[str, Path(max_length=100)]


@router.get("/webhooks", operation_id="list_webhooks")
def list_webhooks(site: SiteOf, visit: By, name: Name) -> Webhooks:
    """List the webhooks of a campaign, the earliest first, and whether they take what they are told."""
    found = webhooks.list_webhooks(site.platform, name, staff_id=visit.staff.id)
    return Webhooks(webhooks=[WebhookShown.model_validate(one) for one in found])


@router.post("/webhooks", operation_id="add_webhook", status_code=201)
def add(site: SiteOf, visit: By, name: Name, sent: WebhookRequest, _turn: InTurn) -> WebhookMade:
    """Add a webhook. Its secret is answered this once."""
    made, secret = webhooks.add_webhook(
        site.platform, name, sent.wanted(), post=site.post, staff_id=visit.staff.id, now=site.clock()
    )
    return WebhookMade(**WebhookShown.model_validate(made).model_dump(), secret=secret)


@router.post("/webhooks/{webhook_id}/state", operation_id="move_webhook")
def move(site: SiteOf, visit: By, name: Name, webhook_id: WebhookId, sent: WebhookStateRequest) -> WebhookShown:  # noqa: ARG001
    """Let a webhook that fails or was paused go on at once, from where it was."""
    found = webhooks.resume_webhook(site.platform, name, webhook_id, post=site.post, staff_id=visit.staff.id, now=site.clock())
    return WebhookShown.model_validate(found)


@router.delete("/webhooks/{webhook_id}", operation_id="remove_webhook", status_code=204)
def remove(site: SiteOf, visit: By, name: Name, webhook_id: WebhookId) -> None:
    """Remove a webhook: it is told nothing more."""
    webhooks.remove_webhook(site.platform, name, webhook_id, staff_id=visit.staff.id, now=site.clock())
