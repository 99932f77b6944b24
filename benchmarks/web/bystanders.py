"""Connections beside the raters: readiness probes, and clients that are silent or slow."""

import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

PROBE_INTERVAL_S, PROBE_TIMEOUT_S, N_PROBES = 0.25, 20.0, 64
N_OF_EACH = 8
"""Connections of each kind."""
HEAD = b"Host: 127.0.0.1\r\nAccept: application/json\r\n"
PIPELINED = 200


@dataclass
class ReadinessProbe:
    """Requests of `/readyz` at fixed times, which do not wait for earlier ones."""

    base_url: str
    latencies: list[float] = field(default_factory=list)
    n_failures: int = 0  # Not ready, or no answer
    successes: list[float] = field(default_factory=list)  # Times at which the site was ready
    stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "ReadinessProbe":
        self.successes.append(time.monotonic())
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join()

    @property
    def longest_outage_s(self) -> float:
        """Longest time between two answers that the site is ready."""
        ordered = sorted(self.successes)
        return max((after - before for before, after in pairwise(ordered)), default=0.0)

    def _run(self) -> None:
        with ThreadPoolExecutor(N_PROBES) as pool:
            while not self.stop.wait(PROBE_INTERVAL_S):
                pool.submit(self._probe)

    def _probe(self) -> None:
        start = time.monotonic()
        try:
            with urllib.request.urlopen(f"{self.base_url}/readyz", timeout=PROBE_TIMEOUT_S) as response:
                response.read()
        except OSError:
            self.n_failures += 1
            return
        end = time.monotonic()
        self.latencies.append(end - start)
        self.successes.append(end)


class IdleConnections:
    """Connections that send nothing, half a head or a body by bytes, or read responses by bytes; ended ones reopen."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: dict[tuple[Callable[[socket.socket], None], int], socket.socket] = {}
        self._stop_event = threading.Event()
        self.n_ended = 0  # By the site

    def __enter__(self) -> "IdleConnections":
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_event.set()
        self._thread.join()
        for connection in self._sockets.values():
            connection.close()

    def _run(self) -> None:
        places = [
            (kind, i) for kind in (_send_nothing, _send_half_head, _send_body, _read_slowly) for i in range(N_OF_EACH)
        ]
        while not self._stop_event.wait(1):
            for place in places:
                self._keep(place)

    def _keep(self, place: tuple[Callable[[socket.socket], None], int]) -> None:
        """Send or read a byte, or connect again."""
        kind, _ = place
        connection = self._sockets.get(place)
        try:
            if connection is None:
                self._sockets[place] = connection = _connect(self._port)
                kind(connection)
                # With a timeout, each look would wait for it.
                connection.setblocking(False)
            elif kind is _send_body:
                connection.send(b"a")
            if not _is_open(connection, n_bytes=1 if kind is _read_slowly else 0):
                raise ConnectionResetError
        except OSError:
            if connection is not None:
                connection.close()
                self.n_ended += 1
            self._sockets.pop(place, None)


def _connect(port: int) -> socket.socket:
    connection = socket.socket()
    # Otherwise the kernel takes whole responses.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(1)
    try:
        connection.connect(("127.0.0.1", port))
    except OSError:
        connection.close()
        raise
    return connection


def _is_open(connection: socket.socket, *, n_bytes: int) -> bool:
    with suppress(BlockingIOError):
        # Without reading a byte, unless asked to.
        flags = socket.MSG_DONTWAIT | (0 if n_bytes else socket.MSG_PEEK)
        return connection.recv(max(1, n_bytes), flags) != b""
    return True


def _send_nothing(_connection: socket.socket) -> None:
    pass


def _send_half_head(connection: socket.socket) -> None:
    connection.sendall(b"GET /rate HTTP/1.1\r\n" + HEAD)


def _send_body(connection: socket.socket) -> None:
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10000\r\n"
    connection.sendall(b"POST /sign-in HTTP/1.1\r\n" + HEAD + form + b"\r\n")


def _read_slowly(connection: socket.socket) -> None:
    connection.sendall((b"GET /api/v1/openapi.json HTTP/1.1\r\n" + HEAD + b"\r\n") * PIPELINED)
