"""Visitors who send slowly, by chance or on purpose."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
from tests.support.live_site import Live

from dissensus.web.core import request_limits

BEGUN = b"POST /notice HTTP/1.1\r\nhost: here\r\ncontent-type: application/x-www-form-urlencoded\r\n"


@contextmanager
def connected(live: Live, n: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent the beginning of a request."""
    at = urlsplit(live.url)
    with ExitStack() as opened:
        found = [opened.enter_context(socket.create_connection((at.hostname, at.port), timeout=20)) for _ in range(n)]
        for one in found:
            one.sendall(sent)
        yield found


def test_who_stops_in_the_middle_of_a_form_is_told_and_let_go(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "RECEIVE_TIMEOUT_S", 0.3)
    with connected(live, 3, BEGUN + b"content-length: 100\r\n\r\nkind=help") as waiting:
        for one in waiting:
            with one.makefile("rb") as received:
                answer = received.read()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"took too long" in answer


def test_many_who_send_slowly_keep_nobody_else_waiting(live: Live) -> None:
    # More than the threads that answer, and than connections to the database.
    half_a_head, half_a_form = BEGUN, BEGUN + b"content-length: 100\r\n\r\nkind=help"
    with connected(live, 100, half_a_head), connected(live, 100, half_a_form):
        for _ in range(5):
            assert live.visitor().get("/readyz", timeout=5).status_code == 200
