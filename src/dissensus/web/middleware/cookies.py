"""Cookies of this site: filter, `Secure` attribute and `__Host-` prefix."""

import re
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST_PREFIX: Final = b"__Host-"
"""Browsers accept these cookies only from this very host, by HTTPS (RFC 6265bis, section 4.1.3.2)."""
COOKIE: Final = re.compile(rb"dissensus_\w+=[\w.~:=-]*")
"""Cookies of this site, none of which is quoted."""


class CookieMiddleware:
    """ASGI middleware: with HTTPS, cookies of this site have the `__Host-` prefix, which the application does not see.

    So neither another host of the same domain nor a page without HTTPS can plant a session.
    """

    def __init__(self, app: ASGIApp, *, secure: bool = False) -> None:
        self.app = app
        self.secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        secure = self.secure or scope["scheme"] == "https"
        scope["headers"] = _own_cookies(scope["headers"], HOST_PREFIX if secure else b"")
        await self.app(scope, receive, _with_secure_cookies(send) if secure else send)


def _own_cookies(headers: list[tuple[bytes, bytes]], prefix: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers with the cookies of this site only, without their prefix.

    `http.cookies` takes time that grows with the square of the length to unquote a value (CVE-2024-7592, before
    Python 3.11.10). Quoted values never reach it.
    """
    cookies = [part.strip() for name, value in headers if name == b"cookie" for part in value.split(b";")]
    own = [cookie.removeprefix(prefix) for cookie in cookies if cookie.startswith(prefix)]
    valid = b"; ".join(cookie for cookie in own if COOKIE.fullmatch(cookie))
    return [header for header in headers if header[0] != b"cookie"] + ([(b"cookie", valid)] if valid else [])


def _with_secure_cookies(send: Send) -> Send:
    async def send_secure(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, HOST_PREFIX + value + b"; Secure" if name == b"set-cookie" else value)
                for name, value in message["headers"]
            ]
        await send(message)

    return send_secure
