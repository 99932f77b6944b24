"""Whether the site lives, whether it can work, and how it does."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from dissensus.web.metrics import metrics_of
from dissensus.web.site import site_of

router = APIRouter()


@router.api_route("/healthz", methods=["GET", "HEAD"])
def lives() -> PlainTextResponse:
    """Say that this process answers."""
    return PlainTextResponse("ok\n")


@router.api_route("/readyz", methods=["GET", "HEAD"])
def works(request: Request) -> PlainTextResponse:
    """Say that the database answers, and has the tables that this version needs."""
    site_of(request).platform.check()
    return PlainTextResponse("ok\n")


@router.get("/metrics")
def measures(request: Request) -> Response:
    """Return numbers of all workers for Prometheus; a proxy keeps them from the public."""
    return Response(metrics_of(request).text(site_of(request).platform), media_type=CONTENT_TYPE_LATEST)
