"""Request limits: size of headers and bodies, character encoding of forms, and timeouts."""

import asyncio
import re
from time import monotonic
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.web.core.forms import is_multipart
from dissensus.web.core.problem import API_ADDRESS
from dissensus.web.middleware.refusal import refuse

MAX_BYTES: Final = 1 << 20
"""Maximum size of other request bodies."""
MAX_UPLOAD_BYTES: Final = 64 << 20
"""Maximum size of a form of staff with files."""
MAX_API_BYTES: Final = 8 << 20
"""Maximum size of a JSON body of the API."""
MAX_HEADER_BYTES: Final = 16 << 10
"""Maximum size of the request line and all headers."""
MAX_COOKIE_BYTES: Final = 8 << 10
RECEIVE_TIMEOUT_S: Final = 30
"""Timeout for the next chunk of a request body."""
MIN_BYTES_PER_S: Final = 500
"""Minimum mean speed of a request body, after the first `RECEIVE_TIMEOUT_S`."""
PIECE_BYTES: Final = 16 << 10
"""Maximum size of a piece of a request body that is passed on at once."""
_UTF_8: Final = re.compile(r';\s*charset="?utf-8"?\s*(?=;|$)')


class RequestTooLarge(Exception):
    """The request body exceeds the limit."""


class RequestTooSlow(Exception):
    """The request body did not arrive in time."""


class RequestLimitsMiddleware:
    """ASGI middleware that enforces request limits."""

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
            await refusal(scope, receive, send)
            return
        limit = self._max_bytes(scope)
        try:
            await self.app(scope, _with_limits(receive, limit), send)
        except RequestTooLarge:
            await _refuse_size(scope, limit)(scope, receive, send)
        except RequestTooSlow:
            response = refuse(scope, 408, "The request took too long to arrive. Send it again.")
            response.headers["connection"] = "close"
            await response(scope, receive, send)

    def _max_bytes(self, scope: Scope) -> int:
        if API_ADDRESS.match(scope["path"]):
            return MAX_API_BYTES
        is_upload = scope["path"].startswith(self.upload_paths) and is_multipart(Headers(scope=scope))
        return MAX_UPLOAD_BYTES if is_upload else self.max_bytes

    def _refusal(self, scope: Scope) -> Response | None:
        refusal = _header_refusal(scope)
        if refusal is not None:
            return refusal
        if not _is_utf_8(Headers(scope=scope)):
            return refuse(scope, 415, "The character encoding of a form must be UTF-8. Send it without a charset.")
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_bytes(scope):
            return _refuse_size(scope, self._max_bytes(scope))
        return None


def _is_utf_8(headers: Headers) -> bool:
    """Return whether a form with parts, if the request is one, names UTF-8 or no character encoding.

    Parsers decode each field by any codec of Python that a client names, and some take time that is quadratic in the
    size.
    """
    return not is_multipart(headers) or "charset" not in _UTF_8.sub("", headers["content-type"].lower())


def _refuse_size(scope: Scope, limit: int) -> Response:
    return refuse(scope, 413, f"The request is too large: at most {limit:,} bytes are allowed here.")


def _header_refusal(scope: Scope) -> Response | None:
    """Return a refusal of headers or cookies that are too large."""
    n_cookie_bytes = sum(len(value) for name, value in scope["headers"] if name == b"cookie")
    if n_cookie_bytes > MAX_COOKIE_BYTES:
        text = f"The cookies are too large: at most {MAX_COOKIE_BYTES:,} bytes are allowed. Delete those of this site."
        return refuse(scope, 431, text)
    n_bytes = len(scope["raw_path"]) + len(scope["query_string"])
    n_bytes += sum(len(name) + len(value) for name, value in scope["headers"])
    if n_bytes > MAX_HEADER_BYTES:
        text = f"The address and headers are too large: at most {MAX_HEADER_BYTES:,} bytes are allowed."
        return refuse(scope, 431, text)
    return None


def _with_limits(receive: Receive, limit: int) -> Receive:
    received, complete, start, rest = 0, False, monotonic(), b""

    def next_piece(message: Message) -> Message:
        nonlocal rest
        body = rest or message.get("body", b"")
        rest = body[PIECE_BYTES:]
        return {**message, "body": body[:PIECE_BYTES], "more_body": bool(rest) or not complete}

    async def receive_limited() -> Message:
        nonlocal received, complete
        if rest:
            # Parsers of forms work in the event loop: other requests proceed between pieces.
            await asyncio.sleep(0)
            return next_piece({"type": "http.request"})
        # Without a minimum speed, a byte from time to time would keep a request open for ever.
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
        return next_piece(message) if message["type"] == "http.request" else message

    return receive_limited
