"""Request limits and security headers: header and body size, timeouts, same-origin checks, content security policy."""

import asyncio
import re
from collections.abc import Mapping
from time import monotonic
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
MAX_HEADER_BYTES: Final = 16 << 10
"""Maximum size of the request line and all headers."""
MAX_COOKIE_BYTES: Final = 8 << 10
RECEIVE_TIMEOUT_S: Final = 30
"""Timeout for the next chunk of a request body."""
MIN_BYTES_PER_S: Final = 500
"""Minimum mean speed of a request body, after the first `RECEIVE_TIMEOUT_S`."""
OWN_COOKIE: Final = re.compile(rb"(?:__Host-)?dissensus_\w+=[\w.~:=-]*")
"""Cookies of this site, none of which is quoted."""
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
        self, app: ASGIApp, upload_paths: tuple[str, ...] = ("/campaigns", "/curation"), max_bytes: int = MAX_BYTES
    ) -> None:
        self.app = app
        self.upload_paths = upload_paths
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_security_headers(send))
            return
        scope["headers"] = _own_cookies(scope["headers"])
        limit = self._max_bytes(scope)
        send = _with_secure_cookies(send) if scope["scheme"] == "https" else send
        try:
            await self.app(scope, _with_limits(receive, limit), _with_security_headers(send))
        except RequestTooLarge:
            await _error_response(scope, 413, f"The request is too large: at most {limit:,} bytes are allowed here.")(
                scope, receive, _with_security_headers(send)
            )
        except RequestTooSlow:
            response = _error_response(scope, 408, "The request took too long to arrive. Send it again.")
            response.headers["connection"] = "close"
            await response(scope, receive, _with_security_headers(send))

    def _max_bytes(self, scope: Scope) -> int:
        if scope["path"].startswith(API_PREFIX):
            return MAX_API_BYTES
        return MAX_UPLOAD_BYTES if scope["path"].startswith(self.upload_paths) else self.max_bytes

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        refusal = _header_refusal(scope)
        if refusal is not None:
            return refusal
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_bytes(scope):
            return _error_response(
                scope, 413, f"The request is too large: at most {self._max_bytes(scope):,} bytes are allowed here."
            )
        if scope["method"] not in SAFE_METHODS and not _is_same_origin(headers):
            return _error_response(
                scope, 403, "This request came from another site. Open the page on this site and repeat."
            )
        return None


def _header_refusal(scope: Scope) -> Response | None:
    """Return a refusal of headers or cookies that are too large."""
    n_cookie = sum(len(value) for name, value in scope["headers"] if name == b"cookie")
    if n_cookie > MAX_COOKIE_BYTES:
        text = f"The cookies are too large: at most {MAX_COOKIE_BYTES:,} bytes are allowed. Delete those of this site."
        return _error_response(scope, 431, text)
    n_bytes = len(scope["raw_path"]) + len(scope["query_string"])
    n_bytes += sum(len(name) + len(value) for name, value in scope["headers"])
    if n_bytes > MAX_HEADER_BYTES:
        text = f"The address and headers are too large: at most {MAX_HEADER_BYTES:,} bytes are allowed."
        return _error_response(scope, 431, text)
    return None


def _with_limits(receive: Receive, limit: int) -> Receive:
    received, complete, start = 0, False, monotonic()

    async def receive_limited() -> Message:
        nonlocal received, complete
        # A byte from time to time would keep a request open without an end.
        remaining = start + RECEIVE_TIMEOUT_S + received / MIN_BYTES_PER_S - monotonic()
        try:
            # After the body, `receive` waits for the client to disconnect, however long the response takes.
            message = await asyncio.wait_for(receive(), None if complete else min(RECEIVE_TIMEOUT_S, remaining))
        except TimeoutError:
            raise RequestTooSlow from None
        complete = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > limit:
            raise RequestTooLarge
        return message

    return receive_limited


def _with_security_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return send_with_headers


def _with_secure_cookies(send: Send) -> Send:
    """Add `Secure` to cookies of HTTPS requests, also without a configured base URL."""

    async def send_secure(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, value + b"; Secure" if name == b"set-cookie" and b"secure" not in value.lower() else value)
                for name, value in message["headers"]
            ]
        await send(message)

    return send_secure


def _error_response(scope: Scope, status: int, text: str) -> Response:
    """Return an error response, as JSON for API clients."""
    if scope["path"].startswith(API_PREFIX):
        return problem_response(status, text)
    if Headers(scope=scope).get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text, status)
