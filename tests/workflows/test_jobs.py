"""Background jobs: one process at a time, and takeover when it dies."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Barrier, Event

import pytest
from sqlalchemy import func, select, update
from tests.support.campaigns import NOW, open_campaign
from tests.support.webhook_deliverer import SIGNER, add_webhook, sequence_numbers
from tests.support.webhook_receiver import receiving

from dissensus.errors import Unavailable
from dissensus.store.audit_log import EventChainTable, EventTable
from dissensus.store.core import leases
from dissensus.store.core.leases import LeaseTable
from dissensus.store.monitoring import MonitoringSnapshotTable
from dissensus.store.webhooks import WebhookTable
from dissensus.workflows import jobs
from dissensus.workflows.jobs import (
    LEASE_DURATION,
    MONITORING_LEASE,
    N_CONNECTIONS,
    N_RUNNERS,
    JobRunner,
    ThrottledJob,
    build_runners,
    default_jobs,
    monitoring_job,
)
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.platform.mail_delivery import MailDelivery
from dissensus.workflows.platform.platform import Platform, open_platform

NO_MAIL = MailDelivery(sender=None, site="https://rate.example.org", keys=SIGNER.keys)


class ManualClock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def make_runner(platform: Platform, holder: str, clock: ManualClock, done: list[str], **jobs: object) -> JobRunner:
    def job(name: str) -> object:
        return lambda *_: done.append(f"{holder} {name}")

    every = {"count": job("count"), **jobs}
    return JobRunner(platform=platform, holder=holder, jobs=every, clock=clock)  # type: ignore[arg-type]


def test_another_runner_takes_over_when_the_lease_ends(platform: Platform, clock: ManualClock) -> None:
    done: list[str] = []
    first, second = (make_runner(platform, name, clock, done) for name in ("first", "second"))
    assert [first.run_once(), second.run_once(), first.run_once()] == [True, False, True]
    clock.at += LEASE_DURATION - timedelta(seconds=1)
    assert [first.run_once(), second.run_once()] == [True, False]
    # The first runner dies: the second waits until the lease ends.
    clock.at += LEASE_DURATION - timedelta(seconds=1)
    assert not second.run_once()
    clock.at += timedelta(seconds=1)
    assert second.run_once()
    assert [name.split()[0] for name in done] == ["first"] * 3 + ["second"]


def test_a_runner_survives_an_unexpected_error(platform: Platform, clock: ManualClock) -> None:
    errors = [RuntimeError("No time.")]

    def fail_once() -> datetime:
        if errors:
            raise errors.pop()
        return clock()

    done: list[str] = []
    runner = make_runner(platform, "first", clock, done)
    runner.clock = fail_once
    assert [runner.run_once(), runner.run_once(), len(done)] == [False, True, 1]


def test_a_runner_that_lost_its_lease_stops(platform: Platform, clock: ManualClock) -> None:
    first, second = (make_runner(platform, name, clock, []) for name in ("first", "second"))
    assert first.run_once()
    clock.at += LEASE_DURATION
    assert second.run_once()
    assert [first.run_once(), second.run_once()] == [False, True]


def test_a_runner_keeps_its_lease_while_a_job_takes_long(platform: Platform, clock: ManualClock) -> None:
    second = make_runner(platform, "second", clock, [])
    taken: list[bool] = []

    def slow(*arguments: object) -> None:
        """Take twice as long as the lease, which is renewed after half of it."""
        for _ in range(4):
            ends = lease_end(platform)
            clock.at += LEASE_DURATION / 2 + timedelta(seconds=1)
            end = time.monotonic() + 60
            while lease_end(platform) == ends and time.monotonic() < end:
                time.sleep(0.01)
            taken.append(second.run_once())

    first = JobRunner(platform=platform, holder="first", jobs={"slow": slow}, clock=clock, renewal_s=0.01)
    assert first.run_once()
    assert taken == [False] * 4
    assert lease_holder(platform) == "first"


def test_all_runners_renew_their_leases_while_their_jobs_read(database_url: str, clock: ManualClock) -> None:
    all_read, renewed = Barrier(N_RUNNERS + 1, timeout=60), Event()
    pool, observer = (open_platform(database_url, threads=n) for n in (N_CONNECTIONS, 1))

    def read(platform: Platform, _now: datetime) -> None:
        with platform.database.reading() as tx:
            tx.execute(select(LeaseTable)).all()
            all_read.wait()
            renewed.wait(60)

    runner = partial(JobRunner, platform=pool, holder="one", jobs={"read": read}, clock=clock, renewal_s=0.01)
    with ThreadPoolExecutor(N_RUNNERS) as threads:
        runs = [threads.submit(runner(lease=f"{n}").run_once) for n in range(N_RUNNERS)]
        all_read.wait()
        clock.at += LEASE_DURATION / 2 + timedelta(seconds=1)
        wait_until(lambda: lease_ends(observer) == [clock.at + LEASE_DURATION] * N_RUNNERS)
        renewed.set()
        assert all(one.result() for one in runs)
    pool.close()
    observer.close()


def test_an_error_of_a_renewal_does_not_end_the_renewals(
    platform: Platform, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def work(*_: object) -> None:
        at, clock.at = clock.at, None  # type: ignore[assignment]
        wait_until(lambda: "was not renewed" in caplog.text)
        clock.at = at + LEASE_DURATION / 2 + timedelta(seconds=1)
        wait_until(lambda: lease_end(platform) == clock.at + LEASE_DURATION)

    runner = JobRunner(platform=platform, holder="one", jobs={"work": work}, clock=clock, renewal_s=0.01)
    assert runner.run_once()
    assert {record.getMessage() for record in caplog.records} == {"The lease jobs was not renewed."}


def test_the_loss_of_a_lease_is_logged(
    platform: Platform, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def work(*_: object) -> None:
        with platform.database.writing() as tx:
            tx.execute(update(LeaseTable).values(holder="other", expires_at=clock.at + 2 * LEASE_DURATION))
        clock.at += LEASE_DURATION
        wait_until(lambda: "was lost" in caplog.text)

    runner = JobRunner(platform=platform, holder="one", jobs={"work": work}, clock=clock, renewal_s=0.01)
    assert runner.run_once()
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["The lease jobs was lost while its jobs ran; they may run twice."]


def test_figures_are_not_stored_after_the_loss_of_the_lease(
    platform: Platform, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    open_campaign(platform)

    def steal(platform: Platform, _now: datetime) -> None:
        with platform.database.writing() as tx:
            later = clock.at + LEASE_DURATION
            assert leases.acquire_lease(tx, MONITORING_LEASE, "second", until=later + LEASE_DURATION, now=later)

    both: dict[str, jobs.Job] = {"steal": steal, "monitor": monitoring_job("first")}
    runner = JobRunner(platform=platform, holder="first", jobs=both, clock=clock, lease=MONITORING_LEASE)
    assert runner.run_once()
    assert "The job monitor waits: Another process holds the lease" in caplog.text
    with platform.database.reading() as tx:
        assert tx.execute(select(MonitoringSnapshotTable.campaign_id)).all() == []
    runner = JobRunner(
        platform=platform,
        holder="second",
        jobs={"monitor": monitoring_job("second")},
        clock=clock,
        lease=MONITORING_LEASE,
    )
    assert runner.run_once()
    with platform.database.reading() as tx:
        assert len(tx.execute(select(MonitoringSnapshotTable.campaign_id)).all()) == 1


def test_concurrent_requests_grant_one_lease(platform: Platform, clock: ManualClock) -> None:
    many = [make_runner(platform, f"{n}", clock, []) for n in range(8)]
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(JobRunner.run_once, many)) == 1


def test_a_stopped_runner_releases_its_lease(platform: Platform, clock: ManualClock) -> None:
    first, second = (make_runner(platform, name, clock, []) for name in ("first", "second"))
    thread = first.start()
    end = time.monotonic() + 30
    while not lease_holder(platform):
        assert time.monotonic() < end
        time.sleep(0.01)
    first.stopped.set()
    thread.join(60)
    assert not thread.is_alive()
    assert second.run_once()


def lease_ends(platform: Platform) -> list[datetime]:
    with platform.database.reading() as tx:
        return list(tx.scalars(select(LeaseTable.expires_at)))


def lease_end(platform: Platform) -> datetime:
    (end,) = lease_ends(platform)
    return end


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def lease_holder(platform: Platform) -> str | None:
    with platform.database.reading() as tx:
        return tx.scalar(select(LeaseTable.holder))


def test_a_failing_job_does_not_stop_the_others(
    platform: Platform, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("nothing by nothing")

    def busy(*_: object) -> None:
        raise Unavailable("The database was busy.")

    done: list[str] = []
    every = {"broken": broken, "busy": busy, "last": lambda *_: done.append("last")}
    runner = JobRunner(platform=platform, holder="one", jobs=every, clock=clock)
    assert [runner.run_once(), runner.run_once()] == [True, True]
    assert done == ["last", "last"]
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["The job broken failed.", "The job busy waits: The database was busy."] * 2


def test_the_default_jobs_link_events(platform: Platform, clock: ManualClock) -> None:
    open_campaign(platform, 1)
    JobRunner(platform=platform, holder="one", jobs=default_jobs(), clock=clock).run_once()
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(EventTable.sequence.is_(None))) == 0
        assert tx.scalar(select(EventChainTable.n_events)) == 2


def test_retraining_has_its_own_lease_and_stops_with_its_runner(platform: Platform, clock: ManualClock) -> None:
    learning = RetrainingJob(Path("models"), interval_h=1)
    runners = build_runners(platform, signer=SIGNER, clock=clock, retraining=learning, mail=NO_MAIL)
    assert len({one.lease for one in runners}) == len(runners) == N_RUNNERS
    (retraining_runner,) = [one for one in runners if learning in one.jobs.values()]
    assert retraining_runner.stopped is learning.stopped


def test_the_runners_of_a_site_link_events_and_deliver_them(platform: Platform, clock: ManualClock) -> None:
    campaign, end = open_campaign(platform, 1), time.monotonic() + 30
    with receiving() as receiver:
        add_webhook(platform, campaign, receiver)
        runners = build_runners(
            platform, signer=SIGNER, clock=clock, retraining=RetrainingJob(Path("models"), interval_h=0), mail=NO_MAIL
        )
        threads = [runner.start() for runner in runners]
        while not receiver.requests:
            assert time.monotonic() < end
            time.sleep(0.01)
        for runner in runners:
            runner.stopped.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert [sequence_numbers(request) for request in receiver.requests] == [[1, 2, 3]]
    # Deliveries under way at the stop are stored, and the leases are released.
    with platform.database.reading() as tx:
        assert tx.scalar(select(WebhookTable.sequence)) == 3
        assert tx.scalar(select(func.count()).select_from(LeaseTable)) == 0


def test_a_throttled_job_pauses_in_proportion_to_its_duration_within_limits(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, duration, done = [0.0], [0.0], []

    def work(*_: object) -> None:
        done.append(now[0])
        now[0] += duration[0]

    monkeypatch.setattr(jobs, "monotonic", lambda: now[0])
    job = ThrottledJob(work)
    for n, (duration[0], pause) in enumerate(((0.1, 2.0), (1.0, 4.0), (20.0, 10.0)), 1):
        job(platform, NOW)
        assert len(done) == n
        now[0] += pause - 0.1
        job(platform, NOW)
        assert len(done) == n
        now[0] += 0.2
    job(platform, NOW)
    assert len(done) == 4
