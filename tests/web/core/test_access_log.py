"""What is written down and counted of requests, and what never is."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.support.live_site import Live, serving

from dissensus.web.core.access_log import AccessLogMiddleware, JsonLogFormatter
from dissensus.web.core.metrics import make_metrics
from dissensus.workflows.platform.platform import open_platform

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def told(records: list[logging.LogRecord]) -> list[dict[str, Any]]:
    return [json.loads(JsonLogFormatter().format(record)) for record in records if record.name == "dissensus.access"]


@one_kind
def test_a_line_tells_the_route_and_nothing_of_whom(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dissensus.access")
    headers = {"user-agent": "secret-browser", "x-forwarded-for": "203.0.113.7", "cookie": "dissensus_owner=secret"}
    with httpx.Client(base_url=live.url, headers=headers) as browser:
        browser.get("/campaigns/secret-name?token=secret")
        browser.get("/secret%0A%7B%7D?x=secret")
        browser.request("BREW", "/healthz")
        browser.head("/healthz")
        browser.post("/campaigns/new", headers={"origin": "https://elsewhere.example"})
        lines = told(caplog.records)
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("GET", "/campaigns/{name}", 403),
        ("GET", "none", 404),
        ("none", "/healthz", 405),
        ("HEAD", "/healthz", 200),
        ("POST", "none", 403),
    ]
    assert all(set(line) == {"at", "method", "route", "status", "ms"} for line in lines)
    assert "secret" not in json.dumps(lines)
    assert "203.0.113.7" not in json.dumps(lines)


def test_what_breaks_is_counted_as_500_and_goes_on() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        return

    metrics = make_metrics()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(AccessLogMiddleware(broken, metrics)({"type": "http", "method": "GET"}, receive, send))
    labels = {"method": "GET", "route": "none", "status": "500"}
    assert metrics.registry.get_sample_value("dissensus_requests_total", labels) == 1


def test_an_answer_is_counted_once_and_before_its_last_bytes_have_come() -> None:
    metrics = make_metrics()
    labels = {"method": "GET", "route": "none", "status": "200"}
    counted = []

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"b"})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        counted.append(metrics.registry.get_sample_value("dissensus_requests_total", labels))

    asyncio.run(AccessLogMiddleware(answering, metrics)({"type": "http", "method": "GET"}, receive, send))
    assert counted == [None, None, 1]
    assert metrics.registry.get_sample_value("dissensus_requests_total", labels) == 1


def test_without_a_database_the_rest_is_still_told(tmp_path: Path) -> None:
    metrics, platform = make_metrics(), open_platform(f"sqlite:///{tmp_path}/no/such/folder.db", threads=1)
    metrics.count("GET", "/healthz", 200, 0.01)
    text = metrics.text(platform).decode()
    platform.close()
    assert "dissensus_database_up 0.0" in text
    assert 'dissensus_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
    assert "dissensus_raters" not in text


def test_two_sites_in_one_process_count_apart() -> None:
    one, other = make_metrics(), make_metrics()
    one.count("GET", "/", 200, 0.01)
    one.count_delivery("taken")
    assert one.registry.get_sample_value("dissensus_deliveries_total", {"outcome": "taken"}) == 1
    assert other.registry.get_sample_value("dissensus_deliveries_total", {"outcome": "taken"}) is None
    labels = {"method": "GET", "route": "/", "status": "200"}
    assert one.registry.get_sample_value("dissensus_requests_total", labels) == 1
    assert other.registry.get_sample_value("dissensus_requests_total", labels) is None


@one_kind
def test_numbers_can_be_kept_to_who_has_the_token(database_url: str) -> None:
    with serving(database_url, metrics_token="open-sesame") as live:
        for given in ("", "open-sesame", "Bearer", "Bearer open-sesam", "Bearer open-sesame2", "Basic open-sesame"):
            refused = live.visitor(authorization=given).get("/metrics")
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert "Authorization: Bearer TOKEN" in refused.text
            assert "dissensus_" not in refused.text
        told = live.visitor(authorization="Bearer open-sesame").get("/metrics")
        assert (told.status_code, "dissensus_database_up 1.0" in told.text) == (200, True)


@one_kind
def test_an_empty_token_leaves_numbers_open(database_url: str) -> None:
    with serving(database_url, metrics_token="") as live:
        assert live.visitor().get("/metrics").status_code == 200
