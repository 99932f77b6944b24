"""Webhook receiver for recruiter events."""

import logging
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from dissensus.errors import NotFound
from dissensus.recruit.prolific import verify_event
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.workflows.rater import recruitment

router = APIRouter(dependencies=[Depends(Public("recruiter-webhook"))])

log = logging.getLogger("dissensus.events")


async def _body(request: Request) -> bytes:
    return await request.body()


@router.post("/prolific/events")
def receive_event(site: SiteOf, request: Request, body: Annotated[bytes, Depends(_body)]) -> Response:
    """Accept a signed Prolific event; duplicates are accepted too, so that they are not retried."""
    secret = site.settings.prolific_secret
    if secret is None:
        raise NotFound("This site does not accept Prolific events. Set prolific_secret to the secret of the workspace.")
    event = verify_event(request.headers, body, secret=secret, now=site.clock())
    changed = recruitment.handle_recruiter_event(site.platform, event, now=site.clock())
    fields = {"event": event.id, "kind": event.kind, "status": event.status, "changed": changed}
    log.info("prolific %s", event.id, extra={"fields": fields})
    return JSONResponse({"changed": changed})
