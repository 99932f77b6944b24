"""Access log: method, route, status and duration of every request, nothing about the visitor."""

import json
import logging
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.web.core.metrics import Metrics

UNMATCHED: Final = "none"
"""Logged instead of unmatched paths, which may hold anything."""
KNOWN_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

log = logging.getLogger("dissensus.access")


class AccessLogMiddleware:
    """Outermost ASGI middleware: count and log every response before its last byte is sent."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, logged, started = 500, False, perf_counter()

        def log_once() -> None:
            nonlocal logged
            if not logged:
                logged = True
                self._log(scope, status, perf_counter() - started)

        async def send_and_log(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                # Count before the last bytes are sent, so that metrics read after a response include it.
                log_once()
            await send(message)

        try:
            await self.app(scope, receive, send_and_log)
        finally:
            log_once()

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = name_request(scope)
        self.metrics.count(method, route, status, seconds)
        fields = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        log.info("%s %s", method, route, extra={"fields": fields})


def name_request(scope: Scope) -> tuple[str, str]:
    """Return method and route of a request; its path may hold a secret."""
    method = scope["method"] if scope["method"] in KNOWN_METHODS else UNMATCHED
    return method, getattr(scope.get("route"), "path", UNMATCHED)


class JsonLogFormatter(logging.Formatter):
    """Format log records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields: dict[str, Any] = getattr(record, "fields", {})
        return json.dumps({"at": at, **fields})
