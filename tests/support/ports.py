"""Ports for servers that must be told theirs."""

import os
import socket
from contextlib import suppress
from itertools import count

# Below the ports that systems give to clients and to servers that ask for any.
_CANDIDATES = count(10_000 + os.getpid() % 200 * 100)


def find_port() -> int:
    """Return a free port of loopback, which no other test looks for and the system gives to nobody."""
    for port in _CANDIDATES:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError
