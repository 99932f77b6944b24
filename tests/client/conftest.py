"""Fixtures of a client and a running site."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.api_programs import token
from tests.support.live_site import LiveSite, serving
from tests.support.staff_site import StaffSite

from dissensus import Client


@pytest.fixture(autouse=True)
def no_proxy_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def live(database_url: str) -> Iterator[LiveSite]:
    with serving(database_url) as site:
        yield site


@pytest.fixture
def staff_site(live: LiveSite) -> Iterator[StaffSite]:
    with ExitStack() as browsers:
        yield StaffSite(live, browsers)


@pytest.fixture
def waits() -> list[float]:
    """Return the backoffs of the client, in seconds."""
    return []


@pytest.fixture
def client(staff_site: StaffSite, waits: list[float]) -> Iterator[Client]:
    with Client(staff_site.live.url, token(staff_site.platform, "ada"), sleep=waits.append) as client:
        yield client
