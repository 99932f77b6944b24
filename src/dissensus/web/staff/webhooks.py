"""Who is told what happens in a campaign."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.webhook_contexts import BLANK, WebhookMade, Webhooks
from dissensus.workflows.campaign import webhooks
from dissensus.workflows.campaign.webhooks import NewWebhook

router = APIRouter()

By = Annotated[Visit, Depends(May("webhooks"))]


@router.get("/campaigns/{name}/webhooks")
def see(site: SiteOf, visit: By, name: Name) -> Response:
    """Show the webhooks of a campaign."""
    return _webhooks(site, visit, name)


def _webhooks(site: Site, visit: Visit, name: str, *faults: str, typed: NewWebhook = BLANK) -> Response:
    context = Webhooks(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        webhooks=webhooks.list_webhooks(site.platform, name, staff_id=visit.staff.id),
        typed=typed,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post("/campaigns/{name}/webhooks")
def add(site: SiteOf, visit: By, name: Name, sent: Sent, _turn: InTurn) -> Response:
    """Add a webhook, and show its secret once."""
    typed = NewWebhook(
        address=str(sent.get("address", "")).strip(),
        kinds=tuple(str(kind) for kind in sent.getlist("kind")),
        after=0 if sent.get("from") == "start" else None,
    )
    try:
        made, secret = webhooks.add_webhook(
            site.platform, name, typed, post=site.post, staff_id=visit.staff.id, now=site.clock()
        )
    except (InvalidInput, Conflict) as error:
        return _webhooks(site, visit, name, *str(error).splitlines(), typed=typed)
    context = WebhookMade(owner=visit.staff.name, form_token=visit.form_token, name=name, webhook=made, secret=secret)
    return page(site, context)


@router.post("/campaigns/{name}/webhooks/go-on")
def go_on(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Let a webhook go on from where it was."""
    one = str(sent.get("webhook", ""))
    webhooks.resume_webhook(site.platform, name, one, post=site.post, staff_id=visit.staff.id, now=site.clock())
    return _back(name)


@router.post("/campaigns/{name}/webhooks/remove")
def remove(site: SiteOf, visit: By, name: Name, sent: Sent) -> Response:
    """Remove a webhook."""
    one = str(sent.get("webhook", ""))
    webhooks.remove_webhook(site.platform, name, one, staff_id=visit.staff.id, now=site.clock())
    return _back(name)


def _back(name: str) -> Response:
    return RedirectResponse(f"/campaigns/{name}/webhooks", SEE_OTHER)
