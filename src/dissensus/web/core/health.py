"""Health checks and Prometheus metrics."""

from secrets import compare_digest
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from dissensus.web.core.metrics import metrics_of
from dissensus.web.core.site import site_of
from dissensus.web.core.staff_auth import Public

router = APIRouter(dependencies=[Depends(Public("look"))])


@router.api_route("/healthz", methods=["GET", "HEAD"])
def check_liveness() -> PlainTextResponse:
    """Liveness: this process answers."""
    return PlainTextResponse("ok\n")


@router.api_route("/readyz", methods=["GET", "HEAD"])
def check_readiness(request: Request) -> PlainTextResponse:
    """Readiness: the database answers and its schema is current."""
    site_of(request).platform.check()
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
    kind, _, sent_token = authorization.partition(" ")
    matches = compare_digest(sent_token.strip().encode(), token.encode())
    return not token or (kind.lower() == "bearer" and matches)
