"""Health checks and Prometheus metrics."""

import logging
from secrets import compare_digest
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from dissensus.errors import Conflict, NoDatabase, Unavailable
from dissensus.schema.advice import site_message
from dissensus.web.core.metrics import metrics_of
from dissensus.web.core.site import site_of
from dissensus.web.core.staff_auth import Public

log = logging.getLogger("dissensus.errors")
router = APIRouter(dependencies=[Depends(Public("look"))])


@router.api_route("/healthz", methods=["GET", "HEAD"])
def check_liveness() -> PlainTextResponse:
    """Liveness: this process answers."""
    return PlainTextResponse("ok\n")


@router.api_route("/readyz", methods=["GET", "HEAD"])
def check_readiness(request: Request) -> PlainTextResponse:
    """Readiness: the database answers with current tables, takes writes, and has room; else the check that failed."""
    site = site_of(request)
    for name, check in site.platform.readiness_checks(now=site.clock()).items():
        try:
            check()
        except Conflict as error:
            return PlainTextResponse(f"{name}: {site_message(error)}\n", 409)
        except Unavailable as error:
            log.error("Not ready: %s: %s", name, error)
            # Details of the database belong in the log, not in the response.
            text = "The database does not answer. The log says why." if isinstance(error, NoDatabase) else error
            return PlainTextResponse(f"{name}: {text}\n", 503)
    return PlainTextResponse("ok\n")


@router.get("/metrics")
def export_metrics(request: Request, authorization: Annotated[str, Header()] = "") -> Response:
    """Export the metrics of all workers; requires the token if one is configured."""
    site = site_of(request)
    if not _has_token(authorization, site.settings.metrics_token or ""):
        text = "Metrics require the token: send it as Authorization: Bearer TOKEN (setting metrics_token).\n"
        return PlainTextResponse(text, 401, {"www-authenticate": "Bearer"})
    return Response(metrics_of(request).export(site.platform), media_type=CONTENT_TYPE_LATEST)


def _has_token(authorization: str, token: str) -> bool:
    scheme, _, sent_token = authorization.partition(" ")
    matches = compare_digest(sent_token.strip().encode(), token.encode())
    return not token or (scheme.lower() == "bearer" and matches)
