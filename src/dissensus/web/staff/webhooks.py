"""Webhook pages of a campaign: list, secret of a new webhook, resumption and removal."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.campaign.public_events import EVENT_KINDS
from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.workflows.campaign import webhooks
from dissensus.workflows.campaign.webhooks import MAX_WEBHOOKS, NewWebhook

if TYPE_CHECKING:
    from dissensus.store.webhooks import WebhookRow


router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("webhooks"))]
CHOICES: Final = tuple((kind, described.text) for kind, described in EVENT_KINDS.items())
BLANK: Final = NewWebhook(address="")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksPage(StaffPage):
    """Webhooks of a campaign, with the form that adds one."""

    template: ClassVar[str] = "staff/webhooks.html"

    name: str
    webhooks: tuple["WebhookRow", ...]
    typed: NewWebhook = BLANK
    faults: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = CHOICES
    max_webhooks: int = MAX_WEBHOOKS


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecretPage(StaffPage):
    """A new webhook with its secret, shown once."""

    template: ClassVar[str] = "staff/webhooks-secret.html"

    name: str
    webhook: "WebhookRow"
    secret: str


@router.get("/campaigns/{name}/webhooks")
def show_webhooks(site: SiteOf, caller: Authorized, name: Name) -> Response:
    """Show the webhooks of a campaign."""
    return _webhooks_page(site, caller, name)


def _webhooks_page(site: Site, caller: StaffRequest, name: str, *faults: str, typed: NewWebhook = BLANK) -> Response:
    context = caller.page(
        WebhooksPage,
        name=name,
        webhooks=webhooks.list_webhooks(site.platform, name, staff_id=caller.staff.id),
        typed=typed,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post("/campaigns/{name}/webhooks")
def add_webhook(site: SiteOf, caller: Authorized, name: Name, form: StaffForm, _slot: SlowRequestSlot) -> Response:
    """Create a webhook, and show its secret once."""
    typed = NewWebhook(
        address=str(form.get("address", "")).strip(),
        kinds=tuple(str(kind) for kind in form.getlist("kind")),
        after=0 if form.get("from") == "start" else None,
    )
    try:
        webhook, secret = webhooks.add_webhook(
            site.platform, name, typed, signer=site.webhook_signer, staff_id=caller.staff.id, now=site.clock()
        )
    except (InvalidInput, Conflict) as error:
        return _webhooks_page(site, caller, name, *site_message(error).splitlines(), typed=typed)
    context = caller.page(WebhookSecretPage, name=name, webhook=webhook, secret=secret)
    return page(site, context)


@router.post("/campaigns/{name}/webhooks/resume")
def resume_webhook(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Resume a paused webhook."""
    webhook_id = str(form.get("webhook", ""))
    webhooks.resume_webhook(
        site.platform, name, webhook_id, signer=site.webhook_signer, staff_id=caller.staff.id, now=site.clock()
    )
    return _redirect(name)


@router.post("/campaigns/{name}/webhooks/remove")
def remove_webhook(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Remove a webhook."""
    webhook_id = str(form.get("webhook", ""))
    webhooks.remove_webhook(site.platform, name, webhook_id, staff_id=caller.staff.id, now=site.clock())
    return _redirect(name)


def _redirect(name: str) -> Response:
    return redirect_to(f"/campaigns/{name}/webhooks")
