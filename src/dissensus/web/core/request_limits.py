"""Request limits and security headers: body size, timeouts, same-origin checks, content security policy."""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.web.core.problem import API_PREFIX, problem_response

MAX_BYTES: Final = 1 << 20
MAX_UPLOAD_BYTES: Final = 64 << 20
"""Maximum upload of staff."""
MAX_API_BYTES: Final = 8 << 20
"""Maximum JSON body of the API."""
RECEIVE_TIMEOUT_S: Final = 30
"""Timeout for the next chunk of a request body."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CONTENT_SECURITY_POLICY: Final = "; ".join(
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
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class RequestTooLarge(Exception):
    """The request body exceeds the limit."""


class RequestTooSlow(Exception):
    """The request body did not arrive in time."""


class RequestLimitsMiddleware:
    """ASGI middleware that enforces request limits and sets security headers."""

    def __init__(
        self, app: ASGIApp, large: tuple[str, ...] = ("/campaigns", "/curation"), most: int = MAX_BYTES
    ) -> None:
        self.app = app
        self.large = large
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
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
        except RequestTooLarge:
            await _told(scope, 413, f"At most {most:,} bytes can be sent here.")(scope, receive, _guarded(send))
        except RequestTooSlow:
            told = _told(scope, 408, "The request took too long to arrive. Send it again.")
            await told(scope, receive, _guarded(send))

    def _most(self, scope: Scope) -> int:
        if scope["path"].startswith(API_PREFIX):
            return MAX_API_BYTES
        return MAX_UPLOAD_BYTES if scope["path"].startswith(self.large) else self.most

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most(scope):
            return _told(scope, 413, f"At most {self._most(scope):,} bytes can be sent here.")
        if scope["method"] not in SAFE_METHODS and not _from_here(headers):
            return _told(scope, 403, "Another site sent this request. Open the page here and repeat.")
        return None


def _from_here(headers: Headers) -> bool:
    """Return whether a request is same-origin, or from a client without these headers."""
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
            message = await asyncio.wait_for(receive(), None if whole else RECEIVE_TIMEOUT_S)
        except TimeoutError:
            raise RequestTooSlow from None
        whole = not message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen > most:
            raise RequestTooLarge
        return message

    return limited


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return guarded


def _secured(send: Send) -> Send:
    """Add `Secure` to cookies of HTTPS requests, also without a configured base URL."""

    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, value + b"; Secure" if name == b"set-cookie" and b"secure" not in value.lower() else value)
                for name, value in message["headers"]
            ]
        await send(message)

    return secured


def _told(scope: Scope, status: int, text: str) -> Response:
    """Return an error response, as JSON for API clients."""
    if scope["path"].startswith(API_PREFIX):
        return problem_response(status, text)
    if Headers(scope=scope).get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text, status)
