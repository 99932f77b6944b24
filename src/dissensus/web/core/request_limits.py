"""What stands before every route: who may send what, how much of it, and what browsers may do with the answer."""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.web.core.problem import PREFIX, problem

MOST_BYTES: Final = 1 << 20
MOST_UPLOADED: Final = 64 << 20
"""Of a file of items, which staff alone may send."""
MOST_FROM_PROGRAMS: Final = 8 << 20
"""Of JSON, which is read whole; more items come in more requests."""
PATIENCE_S: Final = 30
"""For the next part of a request."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class TooLarge(Exception):
    """More was sent than is taken."""


class TooSlow(Exception):
    """Nothing more came for too long."""


class Guard:
    """An ASGI application before another one."""

    def __init__(
        self, app: ASGIApp, large: tuple[str, ...] = ("/campaigns", "/curation"), most: int = MOST_BYTES
    ) -> None:
        self.app = app
        self.large = large
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, _guarded(send))
            return
        most = self._most(scope)
        send = _secured(send) if scope["scheme"] == "https" else send
        try:
            await self.app(scope, _limited(receive, most), _guarded(send))
        except TooLarge:
            await _told(scope, 413, f"At most {most:,} bytes can be sent here.")(scope, receive, _guarded(send))
        except TooSlow:
            told = _told(scope, 408, "The request took too long to arrive. Send it again.")
            await told(scope, receive, _guarded(send))

    def _most(self, scope: Scope) -> int:
        if scope["path"].startswith(PREFIX):
            return MOST_FROM_PROGRAMS
        return MOST_UPLOADED if scope["path"].startswith(self.large) else self.most

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most(scope):
            return _told(scope, 413, f"At most {self._most(scope):,} bytes can be sent here.")
        if scope["method"] not in SAFE and not _from_here(headers):
            return _told(scope, 403, "Another site sent this request. Open the page here and repeat.")
        return None


def _from_here(headers: Headers) -> bool:
    """Tell whether a request came from our own pages, or from a program, which has no such headers."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _limited(receive: Receive, most: int) -> Receive:
    seen, whole = 0, False

    async def limited() -> Message:
        nonlocal seen, whole
        try:
            # Once the request is here, whoever receives waits for the visitor to leave, as long as an answer takes.
            message = await asyncio.wait_for(receive(), None if whole else PATIENCE_S)
        except TimeoutError:
            raise TooSlow from None
        whole = not message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge
        return message

    return limited


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return guarded


def _secured(send: Send) -> Send:
    """Keep cookies to https for whoever came by it, be the address of the site set or not."""

    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, value + b"; Secure" if name == b"set-cookie" and b"secure" not in value.lower() else value)
                for name, value in message["headers"]
            ]
        await send(message)

    return secured


def _told(scope: Scope, status: int, text: str) -> Response:
    """Return a refusal, to programs as data."""
    if scope["path"].startswith(PREFIX):
        return problem(status, text)
    if Headers(scope=scope).get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text, status)
