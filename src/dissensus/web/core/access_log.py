"""Every answer is counted and written down: what was asked for, how it ended, how long it took, and nothing of whom."""

import json
import logging
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.web.core.metrics import Metrics

NOWHERE: Final = "none"
"""Where no route fits: what somebody typed is not written down, since it may hold anything."""
KNOWN: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

log = logging.getLogger("dissensus.access")


class Watch:
    """An ASGI application before all others: whoever has an answer finds it counted."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and tell how it ended."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, told, started = 500, False, perf_counter()

        def tell() -> None:
            nonlocal told
            if not told:
                told = True
                self._tell(scope, status, perf_counter() - started)

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                # Before its last bytes go: who has an answer finds it counted, whichever worker is asked.
                tell()
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            tell()

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in KNOWN else NOWHERE
        route = getattr(scope.get("route"), "path", NOWHERE)
        self.metrics.count(method, route, status, seconds)
        told = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        log.info("%s %s", method, route, extra={"told": told})


class JsonLines(logging.Formatter):
    """One line of JSON for each record, with what it tells."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, Any] = getattr(record, "told", {})
        return json.dumps({"at": at, **told})
