"""The real site, under a real server, as somebody with a browser meets it."""

import asyncio
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
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

from dissensus.settings import Settings
from dissensus.web.core.app import create_app
from dissensus.web.core.site import Site
from dissensus.workflows.platform.platform import Platform

SECRET = "for-tests-alone-and-nobody-else-0123456789"
CHEAP = {"password_passes": 1, "password_memory_mib": 1}
#: for clients of a site on loopback, which need none: to read all certificates takes longer than a request
TRUST = ssl.create_default_context()
LOOK_AGAIN_S = 0.01
ROUTES = list[BaseRoute]()


@dataclass
class Hands:
    """A clock that tests set."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **time: float) -> None:
        self.at += timedelta(**time)


@dataclass(frozen=True)
class Live:
    """A site that answers at an address."""

    url: str
    app: FastAPI
    clock: Hands
    open: ExitStack

    @property
    def site(self) -> Site:
        site: Site = self.app.state.site
        return site

    @property
    def platform(self) -> Platform:
        return self.site.platform

    def visitor(self, **headers: str) -> "Visitor":
        """Somebody who comes with a browser of their own."""
        client = httpx.Client(base_url=self.url, follow_redirects=True, timeout=20, headers=headers, verify=TRUST)
        return Visitor(self.open.enter_context(client))


@contextmanager
def serving(database_url: str, **settings: Any) -> Iterator[Live]:
    """Run the site over a database until the block ends."""
    clock = Hands()
    app = create_app(Settings(**{**CHEAP, "database_url": database_url, **settings}), SECRET)
    app.state.site = replace(app.state.site, clock=clock)
    share_routes(app)
    with answering(app) as url, ExitStack() as clients:
        yield Live(url, app, clock, clients)


def share_routes(app: FastAPI) -> None:
    """Take over what the first site of this process worked out about its routes, which takes longer than a page.

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
    """A server that ends once its last answer is out: the original looks for that ten times a second."""

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(LOOK_AGAIN_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for one in sockets or []:
            one.close()
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
def answering(app: FastAPI) -> Iterator[str]:
    """Run an application until the block ends, and give its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # As the site itself listens: else the second part of each answer comes 40 ms late.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(app, log_level="critical", lifespan="on", ws="none", timeout_graceful_shutdown=2)
        server = Prompt(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@dataclass(frozen=True)
class Visitor:
    """A browser without scripts: it loads pages and sends their forms."""

    http: httpx.Client

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.http.get(path, **options)

    def send(self, path: str, /, **fields: Any) -> httpx.Response:
        """Send a form as the page it came from would."""
        return self.http.post(path, data=fields)

    def enter(self, key: str, *, name: str = "pilot", purposes: tuple[str, ...] = ("rating",)) -> httpx.Response:
        """Read the warning and agree; the answer is the first page of a rater."""
        self.get(f"/c/{name}", params={"key": key}).raise_for_status()
        self.send(f"/c/{name}", key=key, language="en").raise_for_status()
        return self.send(f"/c/{name}/consent", purpose=list(purposes))

    def rate(self, page: httpx.Response, **answers: Any) -> httpx.Response:
        """Answer the questions of a page."""
        return self.send(f"/rate/{assignment(page)}", **hidden(page), **answers)

    def save(self, page: httpx.Response, answers: Mapping[str, Any], **changes: Any) -> httpx.Response:
        """Send answers as the script of a page does."""
        sent = {
            "key": str(uuid4()),
            "revision": 1,
            "visit": "visit",
            "visible_ms": 1000,
            "idle_ms": 0,
            "answers": {name: {"value": value} for name, value in answers.items()},
        }
        return self.http.post(
            f"/rate/{assignment(page)}/save",
            content=json.dumps({**sent, **changes}),
            headers={"x-form-token": hidden(page)["form_token"], "accept": "application/json"},
        )


def hidden(page: httpx.Response) -> dict[str, str]:
    """What a page's forms carry unseen; a later form of the page overrules an earlier one."""
    names = "form_token|visit|revision|check|attempt"
    return dict(re.findall(rf'<input type="hidden" name="({names})" value="([^"]*)">', page.text))


def assignment(page: httpx.Response) -> str:
    """The assignment that a page shows."""
    found = re.search(r'<form id="answers" method="post" action="/rate/([^"]+)"', page.text)
    assert found, page.text
    return found.group(1)
