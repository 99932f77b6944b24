"""Server on loopback that receives webhooks: the path names a behaviour."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback_server import serve_requests

PIECE = b"x" * 2**14
BOMB = gzip.compress(bytes(2**26))
TODAY = "Sun, 01 Mar 2026 12:00:00 GMT"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request: its headers in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """Address, requests received, and behaviours at a path that precede the one it names."""

    root: str = ""
    requests: list[ReceivedRequest] = field(default_factory=list)
    first: dict[str, list[str]] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)
    n_sent: int = 0

    def address(self, path: str) -> str:
        return f"{self.root}/{path}"

    @property
    def port(self) -> int:
        return int(self.root.rpartition(":")[2])

    def at(self, path: str) -> list[ReceivedRequest]:
        return [one for one in self.requests if one.path == f"/{path}"]


@contextmanager
def receiving(*, tls: bool = False, host: str = "127.0.0.1") -> Iterator[Receiver]:
    """Receive until the block ends."""
    state = Receiver()
    with serve_requests(type("Handler", (_Handler,), {"state": state}), host=host, tls=tls) as state.root:
        try:
            yield state
        finally:
            state.over.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        path = self.path.partition("?")[0]
        first = self.state.first.get(path.removeprefix("/"), [])
        behaviour = first.pop(0) if first else path.removeprefix("/").partition("/")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.state.requests.append(ReceivedRequest(path, headers, body))
        BEHAVIOURS.get(behaviour, _number)(self, behaviour)

    def answer(self, status: int, **headers: str) -> None:
        self.send_response_only(status)
        for name, value in {"Content_Length": "0", "Connection": "close", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def pour(self, piece: bytes, wait: float = 0.0) -> None:
        """Send without end, until the reader disconnects."""
        with suppress(OSError):
            while not self.state.over.wait(wait):
                self.wfile.write(piece)
                self.state.n_sent += len(piece)

    def log_message(self, *_: Any) -> None:
        """Tests read `requests`."""


def _number(handler: _Handler, behaviour: str) -> None:
    handler.answer(int(behaviour) if behaviour.isdecimal() else 204)


def _nonsense(handler: _Handler, _: str) -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")


def _silent(handler: _Handler, _: str) -> None:
    handler.state.over.wait()


def _endless(handler: _Handler, _: str) -> None:
    handler.answer(200, Content_Length=str(2**40))
    handler.pour(PIECE)


def _dripping(handler: _Handler, _: str) -> None:
    """Send one header after another, with pauses."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    handler.pour(b"X-More: x\r\n", 0.02)


def _stalling(handler: _Handler, _: str) -> None:
    handler.answer(200, Content_Length="10")
    handler.state.over.wait()


def _continuing(handler: _Handler, _: str) -> None:
    """Send interim answers without end."""
    handler.pour(b"HTTP/1.1 100 Continue\r\n\r\n")


def _heading(handler: _Handler, _: str) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-More: ")
    handler.pour(PIECE)


def _ending(handler: _Handler, _: str) -> None:
    """Send trailers after the end of the answer."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    handler.pour(b"X-More: x\r\n" * 1_000)


def _packed(handler: _Handler, _: str) -> None:
    """Send a compressed answer that is large when unpacked."""
    handler.answer(200, Content_Length=str(len(BOMB)), Content_Encoding="gzip")
    handler.wfile.write(BOMB)


def _brief(handler: _Handler, _: str) -> None:
    time.sleep(0.05)
    handler.answer(204)


BEHAVIOURS: Mapping[str, Callable[[_Handler, str], None]] = {
    "redirect": lambda handler, _: handler.answer(302, Location=f"{handler.state.root}/ok"),
    "later": lambda handler, _: handler.answer(429, Retry_After="1800"),
    "much-later": lambda handler, _: handler.answer(503, Retry_After=str(10**12)),
    "no-time": lambda handler, _: handler.answer(410, Date=TODAY, Retry_After=TODAY.replace("2026", "9" * 20)),
    "nonsense": _nonsense,
    "silent": _silent,
    "endless": _endless,
    "dripping": _dripping,
    "stalling": _stalling,
    "continuing": _continuing,
    "heading": _heading,
    "ending": _ending,
    "packed": _packed,
    "brief": _brief,
}
