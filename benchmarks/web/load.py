"""Load generators: raters submit sixteen answers, wait for the next item, and submit again."""

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from uuid import uuid4

TICKS = os.sysconf("SC_CLK_TCK")
"""Clock ticks per second in /proc."""


@dataclass
class Seat:
    """A signed-in rater."""

    session: str  # Key in the cookie
    token: str  # CSRF token of forms
    answers: dict[str, str]  # The same for all items
    connection: HTTPConnection | None = None
    assignment: str | None = None


@dataclass
class LoadResult:
    """Result of a run."""

    seconds: float
    latencies: list[float] = field(default_factory=list)  # In seconds
    received: int = 0  # Bytes
    errors: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    def row(self) -> dict[str, Any]:
        """Return the result as numbers for a table."""
        ordered = sorted(self.latencies)
        n = len(ordered)
        return {
            "n": n,
            "per_second": n / self.seconds,
            "p50_ms": 1000 * ordered[n // 2] if n else None,
            "p99_ms": 1000 * ordered[min(n - 1, int(0.99 * n))] if n else None,
            "max_ms": 1000 * ordered[-1] if n else None,
            "cpu_ms": 1000 * self.cpu_s / n if n else None,
            "kilobytes": self.received / n / 1000 if n else None,
            "errors": len(self.errors),
            "first_error": self.errors[0] if self.errors else None,
        }


def cpu_seconds(pid: int) -> float:
    """Return the CPU time in seconds of a process and of its descendants that run."""
    every = {int(path.name): _stat(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    family, grown = {pid}, True
    while grown:
        more = {child for child, stat in every.items() if stat and stat[0] in family} - family
        family |= more
        grown = bool(more)
    return sum(stat[1] for process in family if (stat := every.get(process))) / TICKS


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        fields = (path / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[11]) + int(fields[12])


def run_closed_loop(seats: Sequence[Seat], spare: list[Seat], port: int, *, seconds: float, pid: int) -> LoadResult:
    """Run a closed loop: each rater submits as soon as the next item arrives; spare raters replace finished ones."""

    def work(seat: Seat, result: LoadResult, start: float) -> None:
        while time.perf_counter() < start + seconds:
            if seat.assignment is None:
                seat = spare.pop()
                _first(seat, port)
            _submit(seat, port, result, since=time.perf_counter())

    return _run(seats, port, pid, work)


def run_open_loop(seats: Sequence[Seat], port: int, *, per_second: float, seconds: float, pid: int) -> LoadResult:
    """Run an open loop: raters submit at scheduled times, and latency counts from the schedule."""
    share = per_second / len(seats)

    def paced(seat: Seat, result: LoadResult, start: float) -> None:
        due = start + seats.index(seat) / per_second
        while due < start + seconds:
            time.sleep(max(0.0, due - time.perf_counter()))
            # The site closes idle connections after some seconds.
            seat.connection = HTTPConnection("127.0.0.1", port, timeout=60)
            _submit(seat, port, result, since=due)
            due += 1 / share

    return _run(seats, port, pid, paced)


def _run(seats: Sequence[Seat], port: int, pid: int, work: Any) -> LoadResult:
    for seat in seats:
        _first(seat, port)
    results = [LoadResult(0.0) for _ in seats]
    before, start = cpu_seconds(pid), time.perf_counter()
    threads = [threading.Thread(target=work, args=(*pair, start)) for pair in zip(seats, results, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = LoadResult(time.perf_counter() - start, cpu_s=cpu_seconds(pid) - before)
    for result in results:
        total.latencies += result.latencies
        total.received += result.received
        total.errors += result.errors
    return total


def _first(seat: Seat, port: int) -> None:
    seat.connection = HTTPConnection("127.0.0.1", port, timeout=60)
    reply = _ask(seat, "GET", "/rate", None)
    seat.token = reply["form_token"]
    seat.assignment = (reply["item"] or {}).get("assignment")


def _submit(seat: Seat, port: int, result: LoadResult, *, since: float) -> None:
    if seat.assignment is None:
        return
    answers = {name: {"value": value, "first_ms": 900, "last_ms": 1900} for name, value in seat.answers.items()}
    times = {"visible_ms": 2000, "idle_ms": 0, "open_ms": 1900, "visit": str(uuid4()), "revision": 1}
    body = json.dumps({"key": str(uuid4()), "answers": answers, "final": True} | times)
    try:
        reply = _ask(seat, "POST", f"/rate/{seat.assignment}/save", body, result)
    except (OSError, HTTPException, ValueError) as error:
        result.errors.append(repr(error))
        seat.connection = HTTPConnection("127.0.0.1", port, timeout=60)
        return
    result.latencies.append(time.perf_counter() - since)
    seat.assignment = (reply["item"] or {}).get("assignment")


def _ask(seat: Seat, method: str, path: str, body: str | None, result: LoadResult | None = None) -> dict[str, Any]:
    headers = {"cookie": f"dissensus_rater={seat.session}", "accept": "application/json", "x-form-token": seat.token}
    if seat.connection is None:
        raise OSError("there is no connection")
    seat.connection.request(method, path, body, headers | ({"content-type": "application/json"} if body else {}))
    response = seat.connection.getresponse()
    content = response.read()
    if result is not None:
        result.received += len(content)
    if response.status != 200:
        raise ValueError(f"{path} answered {response.status}: {content[:200]!r}")
    reply: dict[str, Any] = json.loads(content)
    return reply
