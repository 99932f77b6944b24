"""Disturbances of a running site: each acts again and again until a time, and returns how often."""

import os
import re
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import httpx
from chaos_site import DisturbedSite, count_files, sign_in_path
from outbox_raters import Ledger
from sqlalchemy import create_engine, text

BLOCK = 64 * 1024
FULL_S, UNTIL_FULL_S = 2.0, 20.0
CLOCK_S = 3.0
CLOCK_OFFSETS = ("-600", "+0", "-7200", "+0")
HOSTILE_TIMEOUT_S = 30
SLOW_DEFINITIONS = ("a." * 50_000 + "b=1", "[" * 100_000, "x={" * 50_000)
"""Keys, arrays and tables in definitions of campaigns that are costly to parse."""
IN_FLIGHT_S, SAVE_S = 2.0, 0.01


@dataclass(frozen=True)
class Pace:
    """End and rhythm of a disturbance."""

    until: float
    rng: Random
    ledger: Ledger

    @property
    def over(self) -> bool:
        """True after the end."""
        return time.monotonic() >= self.until

    def rest(self, low: float, high: float) -> None:
        """Wait some seconds."""
        time.sleep(self.rng.uniform(low, high))

    def wait_for_save(self, low: float, high: float) -> None:
        """Wait some seconds, and then until the site has a save to answer."""
        self.rest(low, high)
        end = time.monotonic() + IN_FLIGHT_S
        while not self.ledger.in_flight and time.monotonic() < end:
            time.sleep(0.0005)
        # Now or a moment later, so that some acts hit the transaction of the save and some the time after it.
        time.sleep(self.rng.uniform(0, SAVE_S))


@dataclass(frozen=True)
class Disturbance:
    """A disturbance with its name in the table."""

    name: str
    act: Callable[[DisturbedSite, Pace], int]


def _rest(_site: DisturbedSite, pace: Pace) -> int:
    time.sleep(max(0.0, pace.until - time.monotonic()))
    return 0


def _kill_server(site: DisturbedSite, pace: Pace) -> int:
    n = 0
    while not pace.over:
        pace.wait_for_save(1.5, 3)
        site.kill()
        site.start()
        n += 1
    return n


def _kill_worker(site: DisturbedSite, pace: Pace) -> int:
    n, n_workers = 0, len(site.workers())
    while not pace.over:
        worker = _find_busiest(site)
        pace.wait_for_save(0.5, 2)
        os.kill(worker, signal.SIGKILL)
        n += 1
        while worker in (workers := site.workers()) or len(workers) < n_workers:
            time.sleep(0.1)
    return n


def _freeze_worker(site: DisturbedSite, pace: Pace) -> int:
    n = 0
    while not pace.over:
        worker = _find_busiest(site)
        pace.wait_for_save(0.5, 1.5)
        os.kill(worker, signal.SIGSTOP)
        pace.rest(0.5, 6)
        os.kill(worker, signal.SIGCONT)
        n += 1
    return n


def _restart_in_turn(site: DisturbedSite, pace: Pace) -> int:
    """Stop each server as an operator does and start it again, while the others answer."""
    n = 0
    while not pace.over:
        for server in (site, *site.neighbours):
            pace.wait_for_save(0.2, 1)
            if status := server.stop():
                raise SystemExit(f"A server ended with the status {status}.")
            server.start()
            n += 1
    return n


def _find_busiest(site: DisturbedSite) -> int:
    """Return the worker with the most connections; the kernel does not share them evenly."""
    return max(site.workers(), key=count_files)


def _cut_connections(site: DisturbedSite, pace: Pace) -> int:
    """End all connections to the database, as its operator or a network can."""
    assert site.server is not None
    engine = create_engine(site.server.url, isolation_level="AUTOCOMMIT")
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    n = 0
    with engine.connect() as connection:
        while not pace.over:
            pace.wait_for_save(0.3, 1.5)
            connection.execute(cut)
            n += 1
    engine.dispose()
    return n


def _crash_database(site: DisturbedSite, pace: Pace) -> int:
    """Stop PostgreSQL without a checkpoint, and start it, which recovers from its log."""
    assert site.server is not None
    n = 0
    while not pace.over:
        pace.wait_for_save(1, 3)
        site.server.run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
        pace.rest(0, 1)
        site.server.start()
        n += 1
    return n


def _fill_disk(site: DisturbedSite, pace: Pace) -> int:
    """Take all room, kill the server every second time, and give the room back."""
    assert site.disk is not None
    n = 0
    while not pace.over:
        pace.rest(1, 2)
        release = _take_room(site.disk) if os.path.ismount(site.disk) else _limit_files(site)
        _wait_for_refusals(pace)
        time.sleep(FULL_S)
        if n % 2:
            site.kill()
        release()
        if n % 2:
            site.start()
        n += 1
    return n


def _wait_for_refusals(pace: Pace) -> None:
    """Wait until saves are refused; the write-ahead log has room for some more."""
    before, end = pace.ledger.n_retries, time.monotonic() + UNTIL_FULL_S
    while pace.ledger.n_retries == before and time.monotonic() < end:
        time.sleep(0.05)


def _take_room(disk: Path) -> Callable[[], None]:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(BLOCK))
    return filler.unlink


def _limit_files(site: DisturbedSite) -> Callable[[], None]:
    """Let no file of the server grow, where no file system can be mounted."""
    assert site.disk is not None
    size = min(path.stat().st_size for path in site.disk.glob("*.db-wal"))
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in site.processes()}
    for pid, (_, hard) in limits.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))

    def release() -> None:
        for pid, limit in limits.items():
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)

    return release


def _set_clock_back(site: DisturbedSite, pace: Pace) -> int:
    assert site.clock is not None
    n = 0
    while not pace.over:
        site.clock.write_text(CLOCK_OFFSETS[n % len(CLOCK_OFFSETS)])
        pace.rest(0.5 * CLOCK_S, 1.5 * CLOCK_S)
        n += 1
    site.clock.write_text("+0")
    return (n + 1) // 2


def _send_hostile_requests(site: DisturbedSite, pace: Pace) -> int:
    """Send cookies, headers, bodies and definitions that are costly to parse, one after the other."""
    n, quoted = 0, 'dissensus_rater="' + "\\a" * 30_000 + '"'
    with (
        httpx.Client(base_url=site.base_url, timeout=HOSTILE_TIMEOUT_S) as stranger,
        httpx.Client(base_url=site.base_url, timeout=HOSTILE_TIMEOUT_S) as owner,
    ):
        path = sign_in_path(site)
        owner.post(path, data={"form_token": _form_token(owner.get(path).text)})
        token = _form_token(owner.get("/campaigns/new").text)
        requests: tuple[Callable[[], object], ...] = (
            lambda: stranger.get("/rate", headers={"cookie": quoted}),
            lambda: stranger.get("/rate", headers={"cookie": quoted[:8_000]}),
            lambda: stranger.get("/rate", headers={"x-long": "a" * 200_000}),
            lambda: stranger.post("/sign-in", data={"name": "a" * 3_000_000}),
            *(partial(_propose, owner, token, definition) for definition in SLOW_DEFINITIONS),
        )
        while not pace.over:
            with suppress(httpx.HTTPError):
                requests[n % len(requests)]()
            n += 1
    return n


def _propose(owner: httpx.Client, token: str, definition: str) -> httpx.Response:
    return owner.post("/campaigns/new", data={"form_token": token, "definition": definition})


def _form_token(page: str) -> str:
    match = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    return "" if match is None else match[1]


REST = Disturbance("none", _rest)
KILL_SERVER = Disturbance("kill -9 of all processes", _kill_server)
KILL_WORKER = Disturbance("kill -9 of one worker", _kill_worker)
FREEZE_WORKER = Disturbance("SIGSTOP of one worker, 0.5–6 s", _freeze_worker)
RESTART_IN_TURN = Disturbance("servers restarted in turn", _restart_in_turn)
CUT_CONNECTIONS = Disturbance("all database connections cut", _cut_connections)
CRASH_DATABASE = Disturbance("immediate stop of PostgreSQL", _crash_database)
FILL_DISK = Disturbance("full disk, kill -9 every second time", _fill_disk)
SET_CLOCK_BACK = Disturbance("clock set back by 10 min and 2 h", _set_clock_back)
HOSTILE_REQUESTS = Disturbance("hostile requests", _send_hostile_requests)
