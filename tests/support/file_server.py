"""Server of files on loopback: the first part of a path names a behaviour, the rest a file."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import chain, repeat
from typing import Any

from tests.support.loopback_server import serve_requests

PIECE = 2**14
ONE, TWO = '"one"', '"two"'


@dataclass(slots=True)
class Loopback:
    """Files served, address, and requests received."""

    bodies: dict[str, bytes]
    elsewhere: str = ""
    root: str = ""
    requests: list["FileRequest"] = field(default_factory=list)
    n_sent: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def address(self, behaviour: str) -> str:
        return f"{self.root}/{behaviour}"


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A request: its headers in lower case, the file, and the number of earlier requests for it."""

    behaviour: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    turn: int
    server: Loopback

    @property
    def half(self) -> bytes:
        return self.body[: len(self.body) // 2]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    pieces: Iterable[bytes] = ()


@contextmanager
def serving(bodies: dict[str, bytes], *, tls: bool = False, elsewhere: str = "") -> Iterator[Loopback]:
    """Serve until the block ends."""
    state = Loopback(bodies, elsewhere)
    with serve_requests(type("Handler", (_Handler,), {"state": state}), tls=tls) as state.root:
        try:
            yield state
        finally:
            state.over.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Loopback

    def do_GET(self) -> None:
        behaviour, _, path = self.path.removeprefix("/").partition("/")
        turn = sum((request.behaviour, request.path) == (behaviour, path) for request in self.state.requests)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = FileRequest(behaviour, path, headers, self.state.bodies.get(path, b""), turn, self.state)
        self.state.requests.append(request)
        self._send(BEHAVIOURS[behaviour](request))

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in (*answer.headers.items(), ("Connection", "close")):
            self.send_header(name, value)
        self.end_headers()
        chunked = "Transfer-Encoding" in answer.headers
        for piece in chain(answer.pieces, [b""]) if chunked else answer.pieces:
            self.state.n_sent += len(piece)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)

    def log_message(self, *_: Any) -> None:
        """Tests read `requests`."""


def _sized(body: bytes, content: bytes | None = None, **headers: str) -> Answer:
    """Answer with a content length, and the body or less of it."""
    return Answer(
        200, {"Content-Length": str(len(body)), **_named(headers)}, _pieces(body if content is None else content)
    )


def _empty(status: int, **headers: str) -> Answer:
    return Answer(status, {"Content-Length": "0", **_named(headers)})


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


def _ranges(request: FileRequest, etag: str = ONE, *, careless: bool = False, most: int | None = None) -> Answer:
    """Answer with the requested range if the file is unchanged, or with at most `most` bytes of it."""
    body, start = request.body, request.headers.get("range", "").removeprefix("bytes=").removesuffix("-")
    if not start or (request.headers.get("if-range", etag) != etag and not careless):
        return _sized(body, ETag=etag)
    if int(start) >= len(body):
        return _empty(416, Content_Range=f"bytes */{len(body)}")
    return _part(body, int(start), min(len(body), int(start) + (most or len(body))), ETag=etag)


def _part(body: bytes, start: int, end: int, **headers: str) -> Answer:
    span = {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/{len(body)}"}
    return Answer(206, {**span, **headers}, _pieces(body[start:end]))


def _cut(request: FileRequest, **headers: str) -> Answer:
    return _sized(request.body, request.half, **headers)


def _on_and_on(request: FileRequest) -> Iterator[bytes]:
    while not request.server.over.is_set():
        yield from _pieces(request.body)


def _stalling(request: FileRequest) -> Answer:
    def pieces() -> Iterator[bytes]:
        yield request.half
        request.server.over.wait()

    return Answer(200, {"Content-Length": str(len(request.body)), "ETag": ONE}, pieces())


def _drip(request: FileRequest) -> Iterator[bytes]:
    size = len(request.body) // 10
    for start in range(0, len(request.body), size):
        request.server.over.wait(0.33)
        yield request.body[start : start + size]


def _silent(request: FileRequest) -> Answer:
    request.server.over.wait()
    return _empty(204)


def _redirect(location: str) -> Answer:
    return _empty(302, Location=location)


def _busy(request: FileRequest) -> Answer:
    """Ask to retry after a number of seconds, then after a date, then answer."""
    if request.turn > 1:
        return _sized(request.body)
    if request.turn:
        return _empty(503, Retry_After="Fri, 31 Dec 2100 00:00:09 GMT", Date="Fri, 31 Dec 2100 00:00:00 GMT")
    return _empty(429, Retry_After="7")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:518a\nsize 16200131\n"
PAGE = b"<html><title>Sign in, please</title></html>\n"
CHUNKED = {"Transfer-Encoding": "chunked"}

BEHAVIOURS: dict[str, Callable[[FileRequest], Answer]] = {
    "whole": lambda request: _sized(request.body),
    "chunked": lambda request: Answer(200, CHUNKED, _pieces(request.body)),
    "unsized": lambda request: Answer(200, {}, _pieces(request.body)),
    "encoded": lambda request: _sized(request.body, Content_Encoding="gzip"),
    "ranges": _ranges,
    "changed": lambda request: _ranges(request, TWO),
    "careless": lambda request: _ranges(request, TWO, careless=True),
    "piecemeal": lambda request: _ranges(request, most=100),
    "tail": lambda request: _part(request.body, len(request.body) - 100, len(request.body)),
    "tail_of_one": lambda request: BEHAVIOURS["tail" if "range" in request.headers else "whole"](request),
    "cut": lambda request: _cut(request, ETag=ONE),
    "cut_untagged": _cut,
    "cut_weak": lambda request: _cut(request, ETag=f"W/{ONE}"),
    "cut_once": lambda request: _ranges(request) if request.turn else _cut(request, ETag=ONE),
    "short": lambda request: _sized(request.half),
    "corrupted": lambda request: _sized(request.body[:-1] + bytes([request.body[-1] ^ 1]), ETag=ONE),
    "longer": lambda request: _sized(request.body + b"x"),
    "huge": lambda request: Answer(200, {"Content-Length": str(5 * 2**30)}, repeat(request.body)),
    "endless": lambda request: Answer(200, CHUNKED, _on_and_on(request)),
    "page": lambda request: _sized(PAGE, Content_Type="text/html"),
    "pointer": lambda request: _sized(POINTER),
    "empty": lambda request: _empty(200),
    "silent": _silent,
    "stalling": _stalling,
    "stalling_once": lambda request: _ranges(request) if request.turn else _stalling(request),
    "drip": lambda request: Answer(200, {"Content-Length": str(len(request.body))}, _drip(request)),
    "redirect": lambda request: _redirect(f"/absolute/{request.path}"),
    "absolute": lambda request: _redirect(f"{request.server.root}/cut_once/{request.path}"),
    "loop": lambda request: _redirect(f"/loop/{request.path}"),
    "away": lambda request: _redirect(f"{request.server.elsewhere}/{request.path}"),
    "missing": lambda request: _empty(404),
    "forbidden": lambda request: _empty(403),
    "broken": lambda request: _empty(500),
    "broken_once": lambda request: _sized(request.body) if request.turn else _empty(500),
    "busy": _busy,
    "busy_for_long": lambda request: _empty(429, Retry_After="3600"),
}
