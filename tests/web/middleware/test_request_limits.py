"""Limits of the request line, headers, cookies and bodies."""

import asyncio
import socket
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from tests.databases import sqlite_only
from tests.support.live_site import LiveSite

from dissensus.web.middleware.request_limits import (
    MAX_API_BYTES,
    MAX_BYTES,
    MAX_COOKIE_BYTES,
    MAX_HEADER_BYTES,
    MAX_UPLOAD_BYTES,
    RequestLimitsMiddleware,
)

FORM, FILES, JSON = b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b"application/json"


async def read_body(scope: Scope, receive: Receive, send: Send) -> None:
    """Accept a request after its body."""
    await Request(scope, receive).body()
    await Response(status_code=204)(scope, receive, send)


def send_request(
    *headers: tuple[bytes, bytes],
    path: str = "/notice",
    query: bytes = b"",
    pieces: tuple[bytes, ...] = (),
    max_bytes: int = MAX_BYTES,
) -> int:
    """Send a request through the middleware, and return the status of the response."""
    statuses = list[int]()
    bodies = iter((*pieces, b""))

    async def receive() -> Message:
        body = next(bodies)
        return {"type": "http.request", "body": body, "more_body": bool(body)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    target = {"path": path, "raw_path": path.encode(), "query_string": query}
    scope: Scope = {"type": "http", "method": "POST", "headers": list(headers), **target}
    asyncio.run(RequestLimitsMiddleware(read_body, max_bytes=max_bytes)(scope, receive, send))
    (status,) = statuses
    return status


@pytest.mark.parametrize(
    ("path", "content_type", "limit"),
    [
        ("/notice", FORM, MAX_BYTES),
        ("/notice", FILES, MAX_BYTES),
        ("/campaigns/new", FORM, MAX_BYTES),
        ("/campaigns/new", FILES, MAX_UPLOAD_BYTES),
        ("/curation", FILES, MAX_UPLOAD_BYTES),
        ("/api/v1/campaigns", JSON, MAX_API_BYTES),
        ("/api/v1/campaigns", FILES, MAX_API_BYTES),
    ],
)
def test_a_body_may_have_the_size_of_the_limit_of_its_path(path: str, content_type: bytes, limit: int) -> None:
    for size, status in ((limit, 204), (limit + 1, 413)):
        headers = ((b"content-type", content_type), (b"content-length", str(size).encode()))
        assert send_request(*headers, path=path) == status, size


def test_a_form_with_parts_is_in_utf_8() -> None:
    for ending, status in (
        (b"", 204),
        (b"; charset=utf-8", 204),
        (b'; Charset="UTF-8"; x=y', 204),
        (b"; charset=punycode", 415),
        (b"; charset=undefined", 415),
        (b"; charset=utf-8; charset=utf-7", 415),
        (b"; charset*=utf-8''utf-7", 415),
        (b"; charset*0=utf-8; charset*1=x", 415),
    ):
        assert send_request((b"content-type", FILES + ending)) == status, ending


@pytest.mark.parametrize("length", [b"", b"-1", b"1e3", b"+1", b"1.0"])
def test_a_length_that_is_not_a_number_is_refused(length: bytes) -> None:
    assert send_request((b"content-length", length)) == 413


def test_the_pieces_of_a_body_without_a_length_are_counted() -> None:
    assert send_request(pieces=(b"x" * 6, b"x" * 4), max_bytes=10) == 204
    assert send_request(pieces=(b"x" * 6, b"x" * 4, b"x"), max_bytes=10) == 413


def test_cookies_and_headers_may_have_the_size_of_their_limit() -> None:
    for more, status in ((0, 204), (1, 431)):
        cookies = [(b"cookie", b"c" * size) for size in (MAX_COOKIE_BYTES - 9, 9 + more)]
        assert send_request(*cookies) == status
        # The address counts with its query, and a header with its name.
        header = (b"x-one", b"b" * (MAX_HEADER_BYTES - len(b"/notice" + b"a=1" + b"x-one") + more))
        assert send_request(header, query=b"a=1") == status


@sqlite_only
@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"cookie": "a=" + "b" * MAX_COOKIE_BYTES}, "The cookies are too large: at most 8,192 bytes"),
        ({"cookie": 'dissensus_rater="' + "\\a" * 30_000 + '"'}, "The cookies are too large"),
        ({"x-anything": "b" * MAX_HEADER_BYTES}, "The address and headers are too large: at most 16,384 bytes"),
        ({f"x-{number}": "b" * 200 for number in range(90)}, "The address and headers are too large"),
    ],
    ids=["one cookie", "a quoted cookie", "one header", "many headers"],
)
def test_large_headers_are_refused(live: LiveSite, headers: dict[str, str], message: str) -> None:
    visitor = live.visitor()
    for path in ("/rate", "/healthz", "/static/x/rater.css", "/api/v1/campaigns"):
        response = visitor.get(path, headers=headers)
        assert response.status_code == 431, path
        assert message in response.text


@sqlite_only
def test_a_long_address_is_refused(live: LiveSite) -> None:
    response = live.visitor().get("/healthz?" + "q" * MAX_HEADER_BYTES)
    assert response.status_code == 431


@sqlite_only
def test_cookies_of_others_and_quoted_cookies_are_ignored(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    values = list[str]()

    def unquote(value: str) -> str:
        values.append(value)
        return value

    monkeypatch.setattr("http.cookies._unquote", unquote)
    cookie = "; ".join(['other="a\\142c"', 'dissensus_rater="' + "\\a" * 2_000 + '"', "dissensus_staff=abc"])
    assert live.visitor().get("/rate", headers={"cookie": cookie}).status_code == 403
    assert values == ["abc"]


@sqlite_only
def test_several_cookie_headers_count_together(live: LiveSite) -> None:
    address = urlsplit(live.url)
    line = b"Cookie: a=" + b"b" * (MAX_COOKIE_BYTES // 2) + b"\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + 2 * line + b"\r\n")
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 431 ")


@sqlite_only
def test_a_long_name_of_a_static_file_is_not_found(live: LiveSite) -> None:
    assert live.visitor().get("/static/x/" + "a" * 300).status_code == 404
