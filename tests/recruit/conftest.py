"""A client of a simulated Prolific on loopback."""

from collections.abc import Iterator

import pytest
from tests.support.prolific_server import TOKEN, Prolific

from dissensus.recruit.prolific import ProlificClient


@pytest.fixture(autouse=True)
def no_proxy_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def waits() -> list[float]:
    """Return the backoffs of the client, in seconds."""
    return []


@pytest.fixture
def client(prolific: Prolific, waits: list[float]) -> Iterator[ProlificClient]:
    with ProlificClient(TOKEN, base=prolific.root, sleep=waits.append) as client:
        yield client
