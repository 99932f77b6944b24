"""Origin of requests: hosts that the site answers for, and requests of other sites."""

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from dissensus.schema.hints import format_value
from dissensus.schema.urls import LOOPBACK_HOSTS
from dissensus.settings import Settings
from dissensus.web.middleware.refusal import refuse

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that monitoring requests under any host name; their responses contain no links and set no cookies."""


def list_hosts(settings: Settings) -> frozenset[str]:
    """Return the host names of the site: that of its public address, the listening address, and loopback."""
    return LOOPBACK_HOSTS | {settings.host.lower(), urlsplit(settings.address).hostname or ""}


class AllowedHostsMiddleware:
    """ASGI middleware that refuses requests for other hosts, which could otherwise appear in links to this site.

    The address at which the connection arrived is always allowed.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        host = _host_name(Headers(scope=scope).get("host", ""))
        local_address, _ = scope["server"] or ("", 0)
        if host in self.hosts or host == local_address:
            await self.app(scope, receive, send)
            return
        text = (
            f"This site does not answer for the host {format_value(host)}. Check the address. Operators: set base_url "
            "(DISSENSUS_BASE_URL) to the public address of the site, and let the proxy pass on the Host header."
        )
        await refuse(scope, 421, text)(scope, receive, send)


class SameOriginMiddleware:
    """ASGI middleware that refuses requests of other sites, unless they only read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS or _is_same_origin(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        text = "This request came from another site. Open the page on this site and repeat."
        await refuse(scope, 403, text)(scope, receive, send)


def _host_name(host: str) -> str:
    """Return a Host header without the port.

    Examples
    --------
    >>> [_host_name(host) for host in ("Rate.example.org:443", "[::1]:8000", "10.0.0.1", "evil@x", "[")]
    ['rate.example.org', '::1', '10.0.0.1', 'evil@x', '[']
    """
    if host.startswith("["):
        name, bracket, _ = host[1:].partition("]")
        return name.lower() if bracket else host
    return host.partition(":")[0].lower()


def _is_same_origin(headers: Headers) -> bool:
    """Return whether a request is same-origin, or from a client without these headers."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")
