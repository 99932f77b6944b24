"""What runs beside the site: by one process at a time, and by another when that one dies."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import NOW, open_campaign
from tests.support.webhook_office import POST, added, places
from tests.webhook_transport.receiver import receiving

from dissensus.errors import Unavailable
from dissensus.store.core.leases import LeaseTable
from dissensus.store.events import EventChainTable, EventTable
from dissensus.store.webhooks import WebhookTable
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.platform import jobs
from dissensus.workflows.platform.jobs import (
    LEASE_DURATION,
    N_RUNNERS,
    JobRunner,
    ThrottledJob,
    build_runners,
    default_jobs,
)
from dissensus.workflows.platform.platform import Platform


class Hands:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Hands:
    return Hands()


def runner(platform: Platform, holder: str, clock: Hands, done: list[str], **jobs: object) -> JobRunner:
    def job(name: str) -> object:
        return lambda *_: done.append(f"{holder} {name}")

    every = {"count": job("count"), **jobs}
    return JobRunner(platform=platform, holder=holder, jobs=every, clock=clock)  # type: ignore[arg-type]


def test_one_does_the_work_and_another_goes_on_when_it_gives_no_sign(platform: Platform, clock: Hands) -> None:
    done: list[str] = []
    first, second = (runner(platform, name, clock, done) for name in ("first", "second"))
    assert [first.turn(), second.turn(), first.turn()] == [True, False, True]
    clock.at += LEASE_DURATION - timedelta(seconds=1)
    assert [first.turn(), second.turn()] == [True, False]
    # The first one dies: the second waits for the lease to end, and no longer.
    clock.at += LEASE_DURATION - timedelta(seconds=1)
    assert not second.turn()
    clock.at += timedelta(seconds=1)
    assert second.turn()
    assert [name.split()[0] for name in done] == ["first"] * 3 + ["second"]


def test_who_was_thought_dead_finds_that_another_goes_on(platform: Platform, clock: Hands) -> None:
    first, second = (runner(platform, name, clock, []) for name in ("first", "second"))
    assert first.turn()
    clock.at += LEASE_DURATION
    assert second.turn()
    assert [first.turn(), second.turn()] == [False, True]


def test_many_ask_at_once_and_one_gets_it(platform: Platform, clock: Hands) -> None:
    many = [runner(platform, f"{n}", clock, []) for n in range(8)]
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(JobRunner.turn, many)) == 1


def test_who_stops_lets_another_go_on_at_once(platform: Platform, clock: Hands) -> None:
    first, second = (runner(platform, name, clock, []) for name in ("first", "second"))
    thread = first.start()
    end = time.monotonic() + 30
    while not done_by(platform):
        assert time.monotonic() < end
        time.sleep(0.01)
    first.stopped.set()
    thread.join(10)
    assert not thread.is_alive()
    assert second.turn()


def done_by(platform: Platform) -> str | None:
    with platform.database.reading() as tx:
        return tx.scalar(select(LeaseTable.holder))


def test_a_job_that_fails_keeps_no_other_from_being_done(
    platform: Platform, clock: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("nothing by nothing")

    def busy(*_: object) -> None:
        raise Unavailable("The database was busy.")

    done: list[str] = []
    every = {"broken": broken, "busy": busy, "last": lambda *_: done.append("last")}
    one = JobRunner(platform=platform, holder="one", jobs=every, clock=clock)
    assert [one.turn(), one.turn()] == [True, True]
    assert done == ["last", "last"]
    told = [record.getMessage() for record in caplog.records]
    assert told == ["The job broken failed.", "The job busy waits: The database was busy."] * 2


def test_the_jobs_link_what_happened(platform: Platform, clock: Hands) -> None:
    open_campaign(platform, 1)
    JobRunner(platform=platform, holder="one", jobs=default_jobs(), clock=clock).turn()
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(EventTable.sequence.is_(None))) == 0
        assert tx.scalar(select(EventChainTable.n_events)) == 2


def test_lines_learn_under_a_lease_of_their_own_and_end_with_the_process(platform: Platform, clock: Hands) -> None:
    learning = RetrainingJob(Path("models"), every_h=1)
    runners = build_runners(platform, post=POST, clock=clock, learning=learning)
    assert len({one.lease for one in runners}) == len(runners) == N_RUNNERS
    (its_own,) = [one for one in runners if learning in one.jobs.values()]
    assert its_own.stopped is learning.stopped


def test_all_that_runs_beside_the_site_links_what_happened_and_tells_it(platform: Platform, clock: Hands) -> None:
    kept, end = open_campaign(platform, 1), time.monotonic() + 30
    with receiving() as receiver:
        added(platform, kept, receiver)
        runners = build_runners(platform, post=POST, clock=clock, learning=RetrainingJob(Path("models"), every_h=0))
        threads = [one.start() for one in runners]
        while not receiver.got:
            assert time.monotonic() < end
            time.sleep(0.01)
        for one in runners:
            one.stopped.set()
        for thread in threads:
            thread.join(15)
            assert not thread.is_alive()
        assert [places(one) for one in receiver.got] == [[1, 2, 3]]
    # What was on its way when they stopped is noted, and others can go on at once.
    with platform.database.reading() as tx:
        assert tx.scalar(select(WebhookTable.sequence)) == 3
        assert tx.scalar(select(func.count()).select_from(LeaseTable)) == 0


def test_a_job_rests_in_proportion_to_its_work_and_never_for_long(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, took, done = [0.0], [0.0], []

    def work(*_: object) -> None:
        done.append(now[0])
        now[0] += took[0]

    monkeypatch.setattr(jobs, "monotonic", lambda: now[0])
    job = ThrottledJob(work)
    for took[0], rest in ((0.1, 2.0), (1.0, 4.0), (20.0, 10.0)):
        job(platform, NOW)
        now[0] += rest - 0.1
        n = len(done)
        job(platform, NOW)
        assert len(done) == n
        now[0] += 0.2
