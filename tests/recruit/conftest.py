"""A Prolific on loopback, and a client of it."""

from collections.abc import Iterator

import pytest
from tests.recruit.fake_prolific import TOKEN, Prolific, serving

from dissensus.recruit.prolific import Client


@pytest.fixture(scope="session")
def running() -> Iterator[Prolific]:
    with serving() as state:
        yield state


@pytest.fixture(autouse=True)
def no_proxy_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def prolific(running: Prolific) -> Prolific:
    """One that knows of nothing yet."""
    running.forget()
    return running


@pytest.fixture
def waits() -> list[float]:
    """The seconds that a client would have slept."""
    return []


@pytest.fixture
def client(prolific: Prolific, waits: list[float]) -> Iterator[Client]:
    with Client(TOKEN, base=prolific.root, sleep=waits.append) as client:
        yield client
