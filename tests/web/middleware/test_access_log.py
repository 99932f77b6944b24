"""Access log and metrics without personal data."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.databases import sqlite_only
from tests.support.live_site import LiveSite, serving

from dissensus.web.core.metrics import make_metrics
from dissensus.web.middleware.access_log import AccessLogMiddleware, JsonLogFormatter
from dissensus.workflows.platform.platform import open_platform


def parse_log(records: list[logging.LogRecord]) -> list[dict[str, Any]]:
    return [json.loads(JsonLogFormatter().format(record)) for record in records if record.name == "dissensus.access"]


@sqlite_only
def test_log_lines_have_the_route_and_no_personal_data(live: LiveSite, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dissensus.access")
    headers = {"user-agent": "secret-browser", "x-forwarded-for": "203.0.113.7", "cookie": "dissensus_staff=secret"}
    with httpx.Client(base_url=live.url, headers=headers) as browser:
        browser.get("/campaigns/secret-name?token=secret")
        browser.get("/secret%0A%7B%7D?x=secret")
        browser.request("BREW", "/healthz")
        browser.head("/healthz")
        browser.post("/campaigns/new", headers={"origin": "https://elsewhere.example"})
        lines = parse_log(caplog.records)
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


def test_unhandled_errors_are_counted_as_500() -> None:
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


def test_a_response_is_counted_once_before_its_last_bytes() -> None:
    metrics = make_metrics()
    labels = {"method": "GET", "route": "none", "status": "200"}
    counts = []

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"b"})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        counts.append(metrics.registry.get_sample_value("dissensus_requests_total", labels))

    asyncio.run(AccessLogMiddleware(answering, metrics)({"type": "http", "method": "GET"}, receive, send))
    assert counts == [None, None, 1]
    assert metrics.registry.get_sample_value("dissensus_requests_total", labels) == 1


def test_without_a_database_other_metrics_are_exported(tmp_path: Path) -> None:
    metrics, platform = make_metrics(), open_platform(f"sqlite:///{tmp_path}/no/such/folder.db", threads=1)
    metrics.count("GET", "/healthz", 200, 0.01)
    text = metrics.export(platform).decode()
    platform.close()
    assert "dissensus_database_up 0.0" in text
    assert 'dissensus_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
    assert "dissensus_raters" not in text


def test_two_sites_in_one_process_count_separately() -> None:
    first, second = make_metrics(), make_metrics()
    first.count("GET", "/", 200, 0.01)
    first.count_delivery("taken")
    assert first.registry.get_sample_value("dissensus_deliveries_total", {"outcome": "taken"}) == 1
    assert second.registry.get_sample_value("dissensus_deliveries_total", {"outcome": "taken"}) is None
    labels = {"method": "GET", "route": "/", "status": "200"}
    assert first.registry.get_sample_value("dissensus_requests_total", labels) == 1
    assert second.registry.get_sample_value("dissensus_requests_total", labels) is None


@sqlite_only
def test_metrics_can_require_a_token(database_url: str) -> None:
    with serving(database_url, metrics_token="open-sesame") as live:
        for header in ("", "open-sesame", "Bearer", "Bearer open-sesam", "Bearer open-sesame2", "Basic open-sesame"):
            refused = live.visitor(authorization=header).get("/metrics")
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert "Authorization: Bearer TOKEN" in refused.text
            assert "dissensus_" not in refused.text
        response = live.visitor(authorization="Bearer open-sesame").get("/metrics")
        assert (response.status_code, "dissensus_database_up 1.0" in response.text) == (200, True)


@sqlite_only
def test_an_empty_token_leaves_metrics_public(database_url: str) -> None:
    with serving(database_url, metrics_token="") as live:
        assert live.visitor().get("/metrics").status_code == 200
