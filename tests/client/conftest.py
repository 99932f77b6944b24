"""Fixtures of a client and a running site."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.api_programs import token
from tests.support.live_site import Live, serving
from tests.support.staff_browsers import House

from dissensus import Client


@pytest.fixture(autouse=True)
def no_proxy_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url) as site:
        yield site


@pytest.fixture
def house(live: Live) -> Iterator[House]:
    with ExitStack() as browsers:
        yield House(live, browsers)


@pytest.fixture
def waits() -> list[float]:
    """Return the backoffs of the client, in seconds."""
    return []


@pytest.fixture
def client(house: House, waits: list[float]) -> Iterator[Client]:
    with Client(house.live.url, token(house.platform, "ada"), sleep=waits.append) as client:
        yield client
