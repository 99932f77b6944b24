"""Raters who rate continuously and retry unanswered requests, as their pages do."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

import httpx
from tests.support.live_site import Visitor

PATIENCE_S = 60
PAUSE_S = 0.25


@dataclass
class Rating:
    """Acknowledged saves and failures of one rater, and the address of the site."""

    address: str
    saved_keys: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Crowd:
    """Raters in threads, which rate until stopped."""

    ratings: list[Rating]
    key: str
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self.threads = [threading.Thread(target=_rate, args=(one, self.key, self.over)) for one in self.ratings]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Let each thread finish, and assert that no save was refused."""
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert [fault for one in self.ratings for fault in one.wrong] == []

    def go_on(self, n: int = 5) -> None:
        """Wait until each has rated n more items."""
        targets = [len(one.saved_keys) + n for one in self.ratings]
        end = time.monotonic() + PATIENCE_S
        while any(len(one.saved_keys) < most for one, most in zip(self.ratings, targets, strict=True)):
            assert time.monotonic() < end, self.ratings
            time.sleep(0.05)


@contextmanager
def rating_crowd(n: int, address: str, key: str) -> Iterator[Crowd]:
    """Start n raters; stop them at the end of the block."""
    raters = Crowd([Rating(address) for _ in range(n)], key)
    raters.start()
    try:
        yield raters
    finally:
        raters.over.set()


def _rate(session: Rating, key: str, over: threading.Event) -> None:
    # A connection for each request, so that any process may take it.
    with httpx.Client(
        base_url=session.address, follow_redirects=True, timeout=20, headers={"connection": "close"}
    ) as http:
        visitor = Visitor(http)
        visitor.enter(key)
        while not over.is_set():
            page = _patiently(session, http, lambda: visitor.get("/rate"))
            save = str(uuid4())
            answer = _patiently(session, http, partial(visitor.save, page, {"Q_safe": "Yes"}, key=save, final=True))
            if not answer.is_success:
                session.wrong.append(f"{answer.status_code}: {answer.text}")
                return
            session.saved_keys.append(save)
            time.sleep(PAUSE_S)


def _patiently(session: Rating, http: httpx.Client, ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Retry after connection errors and 503 responses."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        http.base_url = httpx.URL(session.address)
        with suppress(httpx.TransportError):
            answer = ask()
            if answer.status_code != 503:
                return answer
        time.sleep(0.1)
    return httpx.Response(504, text=f"Nobody answers at {session.address}.")
