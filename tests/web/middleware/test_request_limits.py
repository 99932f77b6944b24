"""Limits of the request line, headers and cookies."""

import socket
from urllib.parse import urlsplit

import pytest
from tests.support.live_site import LiveSite

from dissensus.web.middleware.request_limits import MAX_COOKIE_BYTES, MAX_HEADER_BYTES

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


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


def test_a_long_address_is_refused(live: LiveSite) -> None:
    response = live.visitor().get("/healthz?" + "q" * MAX_HEADER_BYTES)
    assert response.status_code == 431


def test_cookies_of_others_and_quoted_cookies_are_ignored(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    values = list[str]()

    def unquote(value: str) -> str:
        values.append(value)
        return value

    monkeypatch.setattr("http.cookies._unquote", unquote)
    cookie = "; ".join(['other="a\\142c"', 'dissensus_rater="' + "\\a" * 2_000 + '"', "dissensus_staff=abc"])
    assert live.visitor().get("/rate", headers={"cookie": cookie}).status_code == 403
    assert values == ["abc"]


def test_several_cookie_headers_count_together(live: LiveSite) -> None:
    address = urlsplit(live.url)
    line = b"Cookie: a=" + b"b" * (MAX_COOKIE_BYTES // 2) + b"\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + 2 * line + b"\r\n")
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 431 ")


def test_a_long_name_of_a_static_file_is_not_found(live: LiveSite) -> None:
    assert live.visitor().get("/static/x/" + "a" * 300).status_code == 404
