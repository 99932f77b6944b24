"""Raters under measure: each submits sixteen answers, waits for the next item, and submits again."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from uuid import uuid4

TICKS = 100
"""Of the processor's clock in /proc, a second (getconf CLK_TCK)."""


@dataclass
class Seat:
    """One rater who is signed in.

    Parameters
    ----------
    session
        The key in the cookie.
    token
        What forms carry.
    answers
        What the rater says to everything.
    """

    session: str
    token: str
    answers: dict[str, str]
    connection: HTTPConnection | None = None
    assignment: str | None = None


@dataclass
class Measured:
    """What came out of one run."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    received: int = 0
    errors: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    def row(self) -> dict[str, Any]:
        """Return it as numbers for a table."""
        ordered = sorted(self.latencies)
        n = len(ordered)
        return {
            "n": n,
            "per_second": n / self.seconds,
            "p50_ms": 1000 * ordered[n // 2] if n else None,
            "p99_ms": 1000 * ordered[min(n - 1, int(0.99 * n))] if n else None,
            "max_ms": 1000 * ordered[-1] if n else None,
            "cpu_ms": 1000 * self.cpu_s / n if n else None,
            "kilobytes": self.received / n / 1024 if n else None,
            "errors": len(self.errors),
            "first_error": self.errors[0] if self.errors else None,
        }


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process and of all that it started."""
    every = {int(path.name): _stat(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    family, grown = {pid}, True
    while grown:
        more = {child for child, stat in every.items() if stat and stat[0] in family} - family
        family |= more
        grown = bool(more)
    return sum(stat[1] for one in family if (stat := every.get(one))) / TICKS


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        fields = (path / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[11]) + int(fields[12])


def closed(seats: Sequence[Seat], spare: list[Seat], port: int, *, seconds: float, pid: int) -> Measured:
    """Let each rater submit as soon as the next item is there, for so many seconds; spare ones follow who is done."""

    def work(seat: Seat, of: Measured, start: float) -> None:
        while time.perf_counter() < start + seconds:
            if seat.assignment is None:
                seat = spare.pop()
                _first(seat, port)
            _submit(seat, port, of, since=time.perf_counter())

    return _run(seats, port, pid, work)


def opened(seats: Sequence[Seat], port: int, *, per_second: float, seconds: float, pid: int) -> Measured:
    """Let raters submit at times that do not wait for the site; a late answer counts from when it was due."""
    share = per_second / len(seats)

    def paced(seat: Seat, of: Measured, start: float) -> None:
        due = start + seats.index(seat) / per_second
        while due < start + seconds:
            time.sleep(max(0.0, due - time.perf_counter()))
            # The site lets go of a connection that nobody used for some seconds.
            seat.connection = HTTPConnection("127.0.0.1", port, timeout=60)
            _submit(seat, port, of, since=due)
            due += 1 / share

    return _run(seats, port, pid, paced)


def _run(seats: Sequence[Seat], port: int, pid: int, work: Any) -> Measured:
    for seat in seats:
        _first(seat, port)
    found = [Measured(0.0) for _ in seats]
    before, start = cpu_seconds(pid), time.perf_counter()
    threads = [threading.Thread(target=work, args=(*pair, start)) for pair in zip(seats, found, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = Measured(time.perf_counter() - start, cpu_s=cpu_seconds(pid) - before)
    for one in found:
        whole.latencies += one.latencies
        whole.received += one.received
        whole.errors += one.errors
    return whole


def _first(seat: Seat, port: int) -> None:
    seat.connection = HTTPConnection("127.0.0.1", port, timeout=60)
    found = _ask(seat, "GET", "/rate", None)
    seat.token = found["form_token"]
    seat.assignment = (found["item"] or {}).get("assignment")


def _submit(seat: Seat, port: int, of: Measured, *, since: float) -> None:
    if seat.assignment is None:
        return
    answers = {name: {"value": value, "first_ms": 900, "last_ms": 1900} for name, value in seat.answers.items()}
    times = {"visible_ms": 2000, "idle_ms": 0, "visit": str(uuid4()), "revision": 1}
    body = json.dumps({"key": str(uuid4()), "answers": answers, "final": True} | times)
    try:
        found = _ask(seat, "POST", f"/rate/{seat.assignment}/save", body, of)
    except (OSError, HTTPException, ValueError) as error:
        of.errors.append(repr(error))
        seat.connection = HTTPConnection("127.0.0.1", port, timeout=60)
        return
    of.latencies.append(time.perf_counter() - since)
    seat.assignment = (found["item"] or {}).get("assignment")


def _ask(seat: Seat, method: str, path: str, body: str | None, of: Measured | None = None) -> dict[str, Any]:
    headers = {"cookie": f"dissensus_rater={seat.session}", "accept": "application/json", "x-form-token": seat.token}
    if seat.connection is None:
        raise OSError("there is no connection")
    seat.connection.request(method, path, body, headers | ({"content-type": "application/json"} if body else {}))
    answer = seat.connection.getresponse()
    read = answer.read()
    if of is not None:
        of.received += len(read)
    if answer.status != 200:
        raise ValueError(f"{path} answered {answer.status}: {read[:200]!r}")
    found: dict[str, Any] = json.loads(read)
    return found
