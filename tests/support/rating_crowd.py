"""People who rate on and on, wherever the site is, and send again what nobody answered: as their pages do."""

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
PAUSE_S = 0.02


@dataclass
class Rating:
    """What somebody sent and was told is kept, and where they send it."""

    address: str
    kept: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Crowd:
    """Some who rate until they are told to stop."""

    ratings: list[Rating]
    key: str
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self.threads = [threading.Thread(target=_rate, args=(one, self.key, self.over)) for one in self.ratings]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Let each end what they do, and make sure that nothing was refused."""
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert [fault for one in self.ratings for fault in one.wrong] == []

    def go_on(self, n: int = 5) -> None:
        """Wait until each of them has rated so many more."""
        wanted = [len(one.kept) + n for one in self.ratings]
        end = time.monotonic() + PATIENCE_S
        while any(len(one.kept) < most for one, most in zip(self.ratings, wanted, strict=True)):
            assert time.monotonic() < end, self.ratings
            time.sleep(0.05)


@contextmanager
def crowd(n: int, address: str, key: str) -> Iterator[Crowd]:
    """So many who rate, until the block ends at the latest."""
    made = Crowd([Rating(address) for _ in range(n)], key)
    made.start()
    try:
        yield made
    finally:
        made.over.set()


def _rate(one: Rating, key: str, over: threading.Event) -> None:
    # A connection for each request, so that any process may take it.
    with httpx.Client(base_url=one.address, follow_redirects=True, timeout=20, headers={"connection": "close"}) as http:
        visitor = Visitor(http)
        visitor.enter(key)
        while not over.is_set():
            page = _patiently(one, http, lambda: visitor.get("/rate"))
            save = str(uuid4())
            answer = _patiently(one, http, partial(visitor.save, page, {"Q_safe": "Yes"}, key=save, final=True))
            if not answer.is_success:
                one.wrong.append(f"{answer.status_code}: {answer.text}")
                return
            one.kept.append(save)
            time.sleep(PAUSE_S)


def _patiently(one: Rating, http: httpx.Client, ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Ask again where nobody answers, or where the site says that it is busy."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        http.base_url = httpx.URL(one.address)
        with suppress(httpx.TransportError):
            answer = ask()
            if answer.status_code != 503:
                return answer
        time.sleep(0.1)
    return httpx.Response(504, text=f"Nobody answers at {one.address}.")
