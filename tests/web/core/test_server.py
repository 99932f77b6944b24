"""Sockets of the server."""

import socket

import pytest

from dissensus.errors import Unavailable
from dissensus.web.core import server


def test_responses_are_not_delayed_by_nagle() -> None:
    with server._listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_a_port_in_use_is_reported() -> None:
    with server._listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port}"):
            server._listening("127.0.0.1", port)
