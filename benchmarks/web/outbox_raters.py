"""Raters who save over HTTP as the rating page does: with the same id, again and again, until it is acknowledged."""

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

CAMPAIGN, VALUES = "chaos", ("No", "Unsure", "Yes")
TIMEOUT_S = 20.0
"""Timeout of a request, as on the page."""
PAUSES_S = (0.25, 0.5, 1.0, 2.0)
"""Pauses between tries; the page waits from 1 to 60 seconds."""
THOUGHT_S = (0.4, 1.2)
"""Time before a draft, and again before the final save; people take longer."""
DRAIN_S = 60.0
"""Time after the stop to get the last save acknowledged."""
RETRY_STATUSES = frozenset({408, 413, 425, 429})


@dataclass
class Ledger:
    """Saves of all raters as they saw them."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # Final answer by id of the save
    unanswered: list[str] = field(default_factory=list)  # Never acknowledged: may be stored or not
    refusals: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)  # From the first try to the acknowledgement
    in_flight: set[str] = field(default_factory=set)  # Saves that were sent and not answered
    n_retries: int = 0

    def compare(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Compare exported rows with the acknowledged saves."""
        stored = [(str(row["note"]), str(row["Q_safe"])) for row in rows]
        times = Counter(save_id for save_id, _ in stored)
        answers = self.acknowledged
        known = {*answers, *self.unanswered}
        return {
            "acknowledged": len(answers),
            "lost": sum(save_id not in times for save_id in answers),
            "wrong": sum(save_id in answers and value != answers[save_id] for save_id, value in stored),
            "doubled": sum(times[save_id] > 1 for save_id in answers),
            "unknown": sum(save_id not in known for save_id in times),
        }


class OutboxRater(threading.Thread):
    """A rater with a browser who rates until stopped, and comes back as another one after the last item."""

    def __init__(self, base_url: str, key: str, ledger: Ledger, stop: threading.Event, *, seed: int) -> None:
        super().__init__(daemon=True)
        self._base_url, self._key, self._ledger, self._stop_event = base_url, key, ledger, stop
        self._random = random.Random(seed)

    def run(self) -> None:
        """Enter and rate."""
        while not self._stop_event.is_set():
            with httpx.Client(base_url=self._base_url, timeout=TIMEOUT_S, follow_redirects=True) as browser:
                try:
                    assignment = self._enter(browser)
                except (httpx.HTTPError, KeyError, ValueError):
                    self._stop_event.wait(1)
                    continue
                while assignment is not None and not self._stop_event.is_set():
                    assignment = self._rate(browser, assignment)

    def _enter(self, browser: httpx.Client) -> str | None:
        browser.post(f"/c/{CAMPAIGN}", data={"key": self._key, "language": "en"}).raise_for_status()
        browser.post(f"/c/{CAMPAIGN}/consent", data={"purpose": "rating"}).raise_for_status()
        browser.headers["accept"] = "application/json"
        state = browser.get("/rate").raise_for_status().json()
        browser.headers["x-form-token"] = state["form_token"]
        return _next_assignment(state)

    def _rate(self, browser: httpx.Client, assignment: str) -> str | None:
        """Send a draft once and a final save until it is acknowledged; return the next assignment."""
        path, visit, save_id = f"/rate/{assignment}/save", str(uuid4()), str(uuid4())
        value, draft = self._random.choice(VALUES), self._random.choice(VALUES)
        self._stop_event.wait(self._random.uniform(*THOUGHT_S))
        # Further answers supersede a draft that was not answered.
        self._post(browser, path, _save(visit, 1, draft, f"draft of {save_id}"))
        self._stop_event.wait(self._random.uniform(*THOUGHT_S))
        final = _save(visit, 2, value, save_id) | {"key": save_id, "final": True}
        start, n_tries, end = time.monotonic(), 0, math.inf
        while (response := self._post(browser, path, final)) is None:
            self._ledger.n_retries += 1
            if self._stop_event.is_set():
                # Not from the first try: the site may have been down since.
                end = min(end, time.monotonic() + DRAIN_S)
            if time.monotonic() > end:
                self._ledger.unanswered.append(save_id)
                return None
            time.sleep(PAUSES_S[min(n_tries, len(PAUSES_S) - 1)])
            n_tries += 1
        if "stage" not in response:
            self._ledger.refusals.append(str(response))
            self._ledger.unanswered.append(save_id)
            return None
        self._ledger.latencies.append(time.monotonic() - start)
        self._ledger.acknowledged[save_id] = value
        return _next_assignment(response)

    def _post(self, browser: httpx.Client, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the response, None if the save has to be sent again."""
        self._ledger.in_flight.add(body["key"])
        try:
            response = browser.post(path, json=body)
            self._ledger.in_flight.discard(body["key"])
            if response.status_code >= 500 or response.status_code in RETRY_STATUSES:
                time.sleep(min(float(response.headers.get("retry-after", 0)), 1.0))
                return None
            return dict(response.json())
        except (httpx.HTTPError, ValueError):
            return None
        finally:
            self._ledger.in_flight.discard(body["key"])


@contextmanager
def raters_at(base_url: str, key: str, ledger: Ledger, n: int) -> Iterator[None]:
    """Let raters save until the end of the block, and until their last save is acknowledged."""
    stop = threading.Event()
    raters = [OutboxRater(base_url, key, ledger, stop, seed=seed) for seed in range(n)]
    for rater in raters:
        rater.start()
    try:
        yield
    finally:
        stop.set()
        for rater in raters:
            rater.join()


def _save(visit: str, revision: int, value: str, note: str) -> dict[str, Any]:
    answers = {"Q_safe": {"value": value, "first_ms": 400, "last_ms": 900}, "note": {"value": note}}
    times = {"visible_ms": 1000, "idle_ms": 0, "open_ms": 900}
    return {"key": str(uuid4()), "revision": revision, "visit": visit, "answers": answers, "final": False} | times


def _next_assignment(state: Mapping[str, Any]) -> str | None:
    assignment = (state["item"] or {}).get("assignment")
    return None if assignment is None else str(assignment)


def summarise_latencies(seconds: Collection[float]) -> dict[str, float | None]:
    """Return median, 95th percentile and maximum in milliseconds."""
    ordered: Sequence[float] = sorted(seconds)
    n = len(ordered)
    ranks = {"median_ms": n // 2, "p95_ms": int(0.95 * n), "max_ms": n - 1}
    return {name: 1000 * ordered[min(n - 1, rank)] if n else None for name, rank in ranks.items()}
