"""Clients that send slowly."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from tests.databases import sqlite_only
from tests.support.live_site import LiveSite
from uvicorn.server import ServerState

from dissensus.web.middleware import connection_timeout, request_limits
from dissensus.web.middleware.connection_timeout import TimedHttpProtocol

BEGUN = b"POST /notice HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n"


@contextmanager
def open_connections(live: LiveSite, n: int, content: bytes) -> Iterator[list[socket.socket]]:
    """Open connections that have sent the start of a request."""
    at = urlsplit(live.url)
    with ExitStack() as stack:
        rows = [stack.enter_context(socket.create_connection((at.hostname, at.port), timeout=20)) for _ in range(n)]
        for connection in rows:
            connection.sendall(content)
        yield rows


@sqlite_only
def test_stalled_requests_time_out(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "RECEIVE_TIMEOUT_S", 0.3)
    with open_connections(live, 3, BEGUN + b"content-length: 100\r\n\r\nkind=help") as waiting:
        for connection in waiting:
            with connection.makefile("rb") as received:
                answer = received.read()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"took too long" in answer


@sqlite_only
def test_slow_senders_do_not_block_others(live: LiveSite) -> None:
    # More than the request threads and the database connections.
    half_a_head, half_a_form = BEGUN, BEGUN + b"content-length: 100\r\n\r\nkind=help"
    with open_connections(live, 100, half_a_head), open_connections(live, 100, half_a_form):
        for _ in range(5):
            assert live.visitor().get("/readyz").status_code == 200


@sqlite_only
def test_a_body_that_trickles_times_out(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "RECEIVE_TIMEOUT_S", 0.5)
    with open_connections(live, 1, BEGUN + b"content-length: 1000\r\n\r\n") as (connection,):
        connection.settimeout(0.1)
        response = b""
        for _ in range(50):
            with suppress(OSError):
                connection.sendall(b"k")
            with suppress(TimeoutError):
                response = connection.recv(100)
            if response:
                break
        assert response.startswith(b"HTTP/1.1 408 ")


@sqlite_only
@pytest.mark.parametrize("start", [b"", b"GET /healthz HT", BEGUN], ids=["silent", "half a line", "half a head"])
def test_connections_without_a_request_end(live: LiveSite, monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(connection_timeout, "HEAD_TIMEOUT_S", 0.3)
    with open_connections(live, 3, start) as waiting:
        assert [ended(connection) for connection in waiting] == [True] * 3


@sqlite_only
def test_half_a_second_request_ends(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with open_connections(live, 1, request) as (connection,):
        response = HTTPResponse(connection)
        response.begin()
        assert (response.status, response.read()) == (200, b"ok\n")
        monkeypatch.setattr(connection_timeout, "HEAD_TIMEOUT_S", 0.3)
        connection.sendall(BEGUN)
        assert ended(connection)


@sqlite_only
def test_a_response_that_is_not_read_ends(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_timeout, "READ_TIMEOUT_S", 0.3)
    lost = threading.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65_536
                await asyncio.sleep(0)
        finally:
            lost.set()

    live.app.add_api_route("/endless", lambda: StreamingResponse(stream()))
    with open_connections(live, 1, b"GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n"):
        assert lost.wait(20)


def test_a_response_that_is_read_again_goes_on() -> None:
    async def read_again() -> None:
        config = uvicorn.Config(FastAPI(), lifespan="off")
        config.load()
        protocol = TimedHttpProtocol(config, ServerState(), app_state={})
        ours, theirs = socket.socketpair()
        with theirs:
            transport, _ = await asyncio.get_running_loop().create_connection(lambda: protocol, sock=ours)
            protocol.pause_writing()
            timer = protocol._read_timer
            assert timer is not None
            assert not timer.cancelled()
            protocol.resume_writing()
            assert timer.cancelled()
            transport.close()

    asyncio.run(read_again())


def ended(connection: socket.socket) -> bool:
    """Return whether the server ends a connection; it sends nothing before."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
