"""A small real server on loopback: the first part of a path says how it behaves, the rest names a file."""

import ssl
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path
from typing import Any

# For 127.0.0.1, signed by itself, made for these tests and trusted by nothing else.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1sb29wYmFj
ayB0ZXN0MCAXDTAwMDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1sb29wYmFjayB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZqAu
BS1Hzj79IBM2E1qtKn/ydl1eA/K13gbuIGbdvQW+CiGRXV1ertQbYbh6WtExJmBr
hFraBsLNtSmVZC0/oqN0MHIwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUN2U3
sqG0VVKRBeZttjjJ5As7ePIwHwYDVR0jBBgwFoAUN2U3sqG0VVKRBeZttjjJ5As7
ePIwDgYDVR0PAQH/BAQDAgKEMA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0EAwID
SAAwRQIhAPFfVmnGg1+4+9epcqeiyyO1AI7Ix5iYvXfcakbWb7/3AiByKY1tcf8i
Xk5xT4X1kr54VyGcQsKAFQK1e7JAENxgoQ==
-----END CERTIFICATE-----
"""
_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNbALzDvDNCyhOIjo
MJRbvneY3YP56/fkiR/KoG00ijOhRANCAARmoC4FLUfOPv0gEzYTWq0qf/J2XV4D
8rXeBu4gZt29Bb4KIZFdXV6u1BthuHpa0TEmYGuEWtoGws21KZVkLT+i
-----END PRIVATE KEY-----
"""
PIECE = 2**14
ONE, TWO = '"one"', '"two"'


@dataclass(slots=True)
class Loopback:
    """What is served, where, and what has happened."""

    bodies: dict[str, bytes]
    elsewhere: str = ""
    root: str = ""
    asked: list["Asked"] = field(default_factory=list)
    n_sent: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def address(self, behaviour: str) -> str:
        return f"{self.root}/{behaviour}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its headers in lower case, the file, and how often it was asked for before."""

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
    with _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state})) as server:
        if tls:
            server.socket = _context().wrap_socket(server.socket, server_side=True)
        state.root = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            state.over.set()
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients leave when they like."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Loopback

    def do_GET(self) -> None:
        behaviour, _, path = self.path.removeprefix("/").partition("/")
        turn = sum((asked.behaviour, asked.path) == (behaviour, path) for asked in self.state.asked)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(behaviour, path, headers, self.state.bodies.get(path, b""), turn, self.state)
        self.state.asked.append(asked)
        self._send(BEHAVIOURS[behaviour](asked))

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
        """Tests read `asked`."""


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "both.pem")
        path.write_text(CERTIFICATE + _KEY)
        context.load_cert_chain(path)
    return context


def _sized(body: bytes, sent: bytes | None = None, **headers: str) -> Answer:
    """Answer with all that is promised, or less."""
    return Answer(200, {"Content-Length": str(len(body)), **_named(headers)}, _pieces(body if sent is None else sent))


def _empty(status: int, **headers: str) -> Answer:
    return Answer(status, {"Content-Length": "0", **_named(headers)})


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


def _ranges(asked: Asked, etag: str = ONE, *, careless: bool = False, most: int | None = None) -> Answer:
    """Answer with the range that is asked for, if the file is still the one meant; or with less of it."""
    body, start = asked.body, asked.headers.get("range", "").removeprefix("bytes=").removesuffix("-")
    if not start or (asked.headers.get("if-range", etag) != etag and not careless):
        return _sized(body, ETag=etag)
    if int(start) >= len(body):
        return _empty(416, Content_Range=f"bytes */{len(body)}")
    return _part(body, int(start), min(len(body), int(start) + (most or len(body))), ETag=etag)


def _part(body: bytes, start: int, end: int, **headers: str) -> Answer:
    span = {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/{len(body)}"}
    return Answer(206, {**span, **headers}, _pieces(body[start:end]))


def _cut(asked: Asked, **headers: str) -> Answer:
    return _sized(asked.body, asked.half, **headers)


def _on_and_on(asked: Asked) -> Iterator[bytes]:
    while not asked.server.over.is_set():
        yield from _pieces(asked.body)


def _stalling(asked: Asked) -> Answer:
    def pieces() -> Iterator[bytes]:
        yield asked.half
        asked.server.over.wait()

    return Answer(200, {"Content-Length": str(len(asked.body)), "ETag": ONE}, pieces())


def _drip(asked: Asked) -> Iterator[bytes]:
    size = len(asked.body) // 10
    for start in range(0, len(asked.body), size):
        asked.server.over.wait(0.15)
        yield asked.body[start : start + size]


def _silent(asked: Asked) -> Answer:
    asked.server.over.wait()
    return _empty(204)


def _redirect(location: str) -> Answer:
    return _empty(302, Location=location)


def _busy(asked: Asked) -> Answer:
    """Ask to wait by a number, then by a date, then answer."""
    if asked.turn > 1:
        return _sized(asked.body)
    if asked.turn:
        return _empty(503, Retry_After="Fri, 31 Dec 2100 00:00:09 GMT", Date="Fri, 31 Dec 2100 00:00:00 GMT")
    return _empty(429, Retry_After="7")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:518a\nsize 16200131\n"
PAGE = b"<html><title>Sign in, please</title></html>\n"
CHUNKED = {"Transfer-Encoding": "chunked"}

BEHAVIOURS: dict[str, Callable[[Asked], Answer]] = {
    "whole": lambda asked: _sized(asked.body),
    "chunked": lambda asked: Answer(200, CHUNKED, _pieces(asked.body)),
    "unsized": lambda asked: Answer(200, {}, _pieces(asked.body)),
    "encoded": lambda asked: _sized(asked.body, Content_Encoding="gzip"),
    "ranges": _ranges,
    "changed": lambda asked: _ranges(asked, TWO),
    "careless": lambda asked: _ranges(asked, TWO, careless=True),
    "piecemeal": lambda asked: _ranges(asked, most=100),
    "tail": lambda asked: _part(asked.body, len(asked.body) - 100, len(asked.body)),
    "tail_of_one": lambda asked: BEHAVIOURS["tail" if "range" in asked.headers else "whole"](asked),
    "cut": lambda asked: _cut(asked, ETag=ONE),
    "cut_untagged": _cut,
    "cut_weak": lambda asked: _cut(asked, ETag=f"W/{ONE}"),
    "cut_once": lambda asked: _ranges(asked) if asked.turn else _cut(asked, ETag=ONE),
    "short": lambda asked: _sized(asked.half),
    "corrupted": lambda asked: _sized(asked.body[:-1] + bytes([asked.body[-1] ^ 1]), ETag=ONE),
    "longer": lambda asked: _sized(asked.body + b"x"),
    "huge": lambda asked: Answer(200, {"Content-Length": str(5 * 2**30)}, repeat(asked.body)),
    "endless": lambda asked: Answer(200, CHUNKED, _on_and_on(asked)),
    "page": lambda asked: _sized(PAGE, Content_Type="text/html"),
    "pointer": lambda asked: _sized(POINTER),
    "empty": lambda asked: _empty(200),
    "silent": _silent,
    "stalling": _stalling,
    "stalling_once": lambda asked: _ranges(asked) if asked.turn else _stalling(asked),
    "drip": lambda asked: Answer(200, {"Content-Length": str(len(asked.body))}, _drip(asked)),
    "redirect": lambda asked: _redirect(f"/absolute/{asked.path}"),
    "absolute": lambda asked: _redirect(f"{asked.server.root}/cut_once/{asked.path}"),
    "loop": lambda asked: _redirect(f"/loop/{asked.path}"),
    "away": lambda asked: _redirect(f"{asked.server.elsewhere}/{asked.path}"),
    "missing": lambda asked: _empty(404),
    "forbidden": lambda asked: _empty(403),
    "broken": lambda asked: _empty(500),
    "broken_once": lambda asked: _sized(asked.body) if asked.turn else _empty(500),
    "busy": _busy,
    "busy_for_long": lambda asked: _empty(429, Retry_After="3600"),
}
