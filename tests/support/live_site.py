"""The real site under a real server, and clients without scripts."""

import asyncio
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import uvicorn
from fastapi import FastAPI
from starlette.routing import BaseRoute
from tests.support.campaigns import NOW

from dissensus.encryption import SecretKeys
from dissensus.http_client import POOL_LIMITS
from dissensus.settings import Settings
from dissensus.web.app import create_app
from dissensus.web.core.site import Site
from dissensus.web.middleware.connection_timeout import TimedHttpProtocol
from dissensus.workflows.platform.platform import Platform

SECRET = "for-tests-alone-and-nobody-else-0123456789"
CHEAP = {"password_passes": 1, "password_memory_mib": 1}
#: For clients of a site on loopback; loading all certificates takes longer than a request
TRUST = ssl.create_default_context()
LOOK_AGAIN_S = 0.01
ROUTES = list[BaseRoute]()


@dataclass
class ManualClock:
    """A clock that tests set."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **time: float) -> None:
        self.at += timedelta(**time)


@dataclass(frozen=True)
class LiveSite:
    """A running site and its address."""

    url: str
    app: FastAPI
    clock: ManualClock
    open: ExitStack

    @property
    def site(self) -> Site:
        site: Site = self.app.state.site
        return site

    @property
    def platform(self) -> Platform:
        return self.site.platform

    def visitor(self, **headers: str) -> "Visitor":
        """A visitor with a new browser."""
        client = httpx.Client(
            base_url=self.url, follow_redirects=True, timeout=20, limits=POOL_LIMITS, headers=headers, verify=TRUST
        )
        return Visitor(self.open.enter_context(client))


@contextmanager
def serving(database_url: str, **settings: Any) -> Iterator[LiveSite]:
    """Run the site over a database until the block ends."""
    clock = ManualClock()
    site_settings = Settings(**{**CHEAP, "database_url": database_url, **settings})
    app = create_app(site_settings, SecretKeys(SECRET))
    app.state.site = replace(app.state.site, clock=clock)
    share_routes(app)
    with answering(app, trusted_proxies=site_settings.proxy_networks) as url, ExitStack() as clients:
        yield LiveSite(url, app, clock, clients)


def share_routes(app: FastAPI) -> None:
    """Reuse the route data of the first site of this process; computing them takes longer than a page.

    No route belongs to one application: they find theirs through the request.
    """
    if not ROUTES:
        ROUTES.extend(app.router.routes)
    assert [_room(route) for route in app.router.routes] == [_room(route) for route in ROUTES]
    app.router.routes[:] = ROUTES


def _room(route: BaseRoute) -> object:
    """The module-level router that was included, or the path of a route of the application itself."""
    return getattr(route, "original_router", None) or getattr(route, "path", None)


class Prompt(uvicorn.Server):
    """A server that stops right after its last response; the original polls ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._main = Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        stop = asyncio.Event()
        self._main.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            # Without a start there is no main loop to stop.
            self._main.cancel()

    def stop(self) -> None:
        """End the main loop, from another thread, unless the start failed."""
        with suppress(CancelledError):
            loop, stop = self._main.result()
            loop.call_soon_threadsafe(stop.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(LOOK_AGAIN_S)
        for task in self.server_state.tasks:
            task.cancel()
        await self.lifespan.shutdown()


@contextmanager
def answering(app: FastAPI, *, trusted_proxies: str = "") -> Iterator[str]:
    """Run an application until the block ends; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # As the site itself listens: otherwise the second part of each response arrives 40 ms late.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            app,
            log_level="critical",
            lifespan="on",
            ws="none",
            http=TimedHttpProtocol,
            forwarded_allow_ips=trusted_proxies,
            timeout_graceful_shutdown=2,
        )
        server = Prompt(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.stop()
            thread.join()


@dataclass(frozen=True)
class Visitor:
    """A browser without scripts: it loads pages and sends their forms."""

    http: httpx.Client

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.http.get(path, **options)

    def send(self, path: str, /, **fields: Any) -> httpx.Response:
        """Send a form as its page would."""
        return self.http.post(path, data=fields)

    def enter(self, key: str, *, name: str = "pilot", purposes: tuple[str, ...] = ("rating",)) -> httpx.Response:
        """Accept the warning and consent; return the first page of a rater."""
        self.get(f"/c/{name}", params={"key": key}).raise_for_status()
        self.send(f"/c/{name}", key=key, language="en").raise_for_status()
        return self.send(f"/c/{name}/consent", purpose=list(purposes))

    def rate(self, page: httpx.Response, **answers: Any) -> httpx.Response:
        """Answer the questions of a page."""
        return self.send(f"/rate/{assignment(page)}", **hidden(page), **answers)

    def save(self, page: httpx.Response, answers: Mapping[str, Any], **changes: Any) -> httpx.Response:
        """Send answers as the script of a page does."""
        body = {
            "key": str(uuid4()),
            "revision": 1,
            "visit": "visit",
            "visible_ms": 1000,
            "idle_ms": 0,
            "answers": {name: {"value": value} for name, value in answers.items()},
        }
        return self.http.post(
            f"/rate/{assignment(page)}/save",
            content=json.dumps({**body, **changes}),
            headers={"x-form-token": hidden(page)["form_token"], "accept": "application/json"},
        )


def hidden(page: httpx.Response) -> dict[str, str]:
    """Hidden fields of all forms of a page; later forms take precedence."""
    names = "form_token|visit|opened|revision|check|attempt"
    return dict(re.findall(rf'<input type="hidden" name="({names})" value="([^"]*)">', page.text))


def assignment(page: httpx.Response) -> str:
    """The id of the assignment on a page."""
    match = re.search(r'<form id="answers" method="post" action="/rate/([^"]+)"', page.text)
    assert match, page.text
    return match.group(1)
