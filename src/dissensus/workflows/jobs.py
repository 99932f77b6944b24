"""Background jobs: one process at a time holds the lease of a job, and another takes over when it dies."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import Final, TypeAlias
from uuid import uuid4

from dissensus.errors import DissensusError
from dissensus.store.core import leases
from dissensus.workflows.campaign.audit import link_pending_events
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.campaign.webhooks import WebhookSigner
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.platform.idempotency import delete_expired_responses
from dissensus.workflows.platform.mail_delivery import MailDelivery
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.security_log import delete_expired_events
from dissensus.workflows.platform.webhook_delivery import DeliveryOutcome, WebhookDispatcher
from dissensus.workflows.rater.rate_limits import delete_full_buckets
from dissensus.workflows.report.report_job import ReportJob

JOBS_LEASE: Final = "jobs"
MONITORING_LEASE: Final = "monitoring"
WEBHOOK_LEASE: Final = "webhooks"
RETRAINING_LEASE: Final = "retraining"
MAIL_LEASE: Final = "mail"
REPORT_LEASE: Final = "reports"
LEASE_DURATION: Final = timedelta(seconds=15)
"""Time after which another process takes over."""
RENEWAL_INTERVAL_S: Final = 4.0
"""Time between renewals while a job runs."""
RUN_INTERVAL_S: Final = 1.0
"""Time between two runs of a runner."""
SECURITY_LOG_DAYS: Final = 180
"""Days after which security events are deleted, unless the settings have another number."""
CLEANUP_INTERVAL_S: Final = 60.0
"""Time between deletions of expired security events, and of erased rows from the write-ahead log of SQLite."""
STATISTICS_INTERVAL_S: Final = 900.0
"""Time after which SQLite samples its tables again."""
N_RUNNERS: Final = 6
N_CONNECTIONS: Final = 2 * N_RUNNERS
"""Database connections of all runners: each needs one for its job, and another to renew its lease meanwhile."""

Job: TypeAlias = Callable[[Platform, datetime], object]

log = logging.getLogger("dissensus.jobs")


@dataclass(slots=True)
class ThrottledJob:
    """A job that rests after each run, so that runs take a share of the time, as far as the limits of a rest allow."""

    job: Job
    min_rest_s: float = 2.0
    share: float = 0.2
    max_rest_s: float = 10.0  # since a slow first run may not repeat
    _due: float = 0.0  # time of the next run on the monotonic clock

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Run the job unless it rests."""
        started = monotonic()
        if started < self._due:
            return
        try:
            self.job(platform, now)
        finally:
            duration_s = monotonic() - started
            self._due = monotonic() + min(max(self.min_rest_s, duration_s * (1 / self.share - 1)), self.max_rest_s)


def default_jobs(*, security_log_days: int = SECURITY_LOG_DAYS) -> dict[str, Job]:
    """Return the short jobs by name."""
    delete_events = partial(delete_expired_events, days=security_log_days)
    return {
        "delete expired security events": ThrottledJob(
            delete_events, min_rest_s=CLEANUP_INTERVAL_S, max_rest_s=CLEANUP_INTERVAL_S
        ),
        "link events": lambda platform, _now: link_pending_events(platform),
        "delete expired responses": delete_expired_responses,
        "delete full rate limits": delete_full_buckets,
        "empty the write-ahead log": ThrottledJob(
            lambda platform, _now: platform.database.empty_log(),
            min_rest_s=CLEANUP_INTERVAL_S,
            max_rest_s=CLEANUP_INTERVAL_S,
        ),
        "update statistics": ThrottledJob(
            lambda platform, _now: platform.database.update_statistics(),
            min_rest_s=STATISTICS_INTERVAL_S,
            max_rest_s=STATISTICS_INTERVAL_S,
        ),
    }


def monitoring_job(holder: str) -> ThrottledJob:
    """Return the monitoring job of a holder of its lease, with its own cache."""
    is_held = partial(leases.is_lease_held, name=MONITORING_LEASE, holder=holder)
    refresh = partial(refresh_snapshots, cache=MonitoringCache(), is_held=is_held)
    # Intervals of large campaigns take seconds at each change.
    return ThrottledJob(lambda platform, now: refresh(platform, now=now), max_rest_s=60.0)


@dataclass(slots=True, kw_only=True)
class JobRunner:
    """Run jobs repeatedly while holding a lease."""

    platform: Platform
    holder: str  # names this process
    jobs: Mapping[str, Job]  # by name; each is quick or does a part per run
    clock: Callable[[], datetime]
    lease: str = JOBS_LEASE  # names the exclusive work
    final_jobs: Mapping[str, Job] = field(default_factory=dict)  # run once at the end, before the lease is released
    stopped: Event = field(default_factory=Event)
    renewal_s: float = RENEWAL_INTERVAL_S
    _held_until: datetime | None = None

    def start(self) -> Thread:
        """Run in a new thread and return it."""
        thread = Thread(target=self.run, name=self.lease)
        thread.start()
        return thread

    def run(self) -> None:
        """Run until stopped; a failing job does not affect the others."""
        while not self.stopped.wait(RUN_INTERVAL_S):
            self.run_once()
        for name, job in self.final_jobs.items():
            self._run_job(name, job)
        self._release_lease()

    def run_once(self) -> bool:
        """Run each job once if this process holds the lease, and return whether it does."""
        try:
            if not self._hold_lease():
                return False
        except DissensusError as error:
            log.warning("The jobs of the lease %s wait: %s", self.lease, error)
            return False
        except Exception:
            # The thread goes on, so the next run tries again.
            log.exception("The lease %s was not acquired.", self.lease)
            return False
        with self._keep_lease():
            for name, job in self.jobs.items():
                self._run_job(name, job)
        return True

    @contextmanager
    def _keep_lease(self) -> Iterator[None]:
        """Renew the lease while jobs run, since figures of a large campaign take longer than it lasts."""
        ended = Event()
        thread = Thread(target=self._renew_lease, args=(ended,), name=f"{self.lease}: lease")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _renew_lease(self, ended: Event) -> None:
        while not ended.wait(self.renewal_s):
            try:
                if not self._hold_lease():
                    log.warning("The lease %s was lost while its jobs ran; they may run twice.", self.lease)
                    return
            except DissensusError as error:
                log.warning("The lease %s was not renewed: %s", self.lease, error)
            except Exception:
                # The jobs go on, so the next renewal is tried.
                log.exception("The lease %s was not renewed.", self.lease)

    def _run_job(self, name: str, job: Job) -> None:
        try:
            job(self.platform, self.clock())
        except DissensusError as error:
            log.warning("The job %s waits: %s", name, error)
        except Exception:
            # The other jobs and the site go on.
            log.exception("The job %s failed.", name)

    def _hold_lease(self) -> bool:
        """Acquire the lease, or renew it once half of it is over, since each renewal is a write."""
        now = self.clock()
        if self._held_until is not None and now < self._held_until - LEASE_DURATION / 2:
            return True
        with self.platform.database.writing() as tx:
            acquired = leases.acquire_lease(tx, self.lease, self.holder, until=now + LEASE_DURATION, now=now)
        self._held_until = now + LEASE_DURATION if acquired else None
        return acquired

    def _release_lease(self) -> None:
        if self._held_until is None:
            return
        try:
            with self.platform.database.writing() as tx:
                leases.release_lease(tx, self.lease, self.holder)
        except DissensusError as error:
            log.warning("The lease %s was not released and expires: %s", self.lease, error)


def build_runners(
    platform: Platform,
    *,
    signer: WebhookSigner,
    clock: Callable[[], datetime],
    count: Callable[[DeliveryOutcome], object] = lambda _: None,
    retraining: RetrainingJob,
    mail: MailDelivery,
    security_log_days: int = SECURITY_LOG_DAYS,
) -> tuple[JobRunner, ...]:
    """Return the runners of all background jobs; each slow job has a separate runner."""
    dispatcher = WebhookDispatcher(signer=signer, count=count, max_duration_s=RUN_INTERVAL_S)
    report = ReportJob()
    holder = str(uuid4())
    runner = partial(JobRunner, platform=platform, holder=holder, clock=clock)
    return (
        runner(jobs=default_jobs(security_log_days=security_log_days)),
        runner(jobs={"monitor": monitoring_job(holder)}, lease=MONITORING_LEASE),
        runner(jobs={"deliver mails": mail}, lease=MAIL_LEASE, stopped=mail.stopped),
        runner(jobs={"report": report}, lease=REPORT_LEASE, stopped=report.stopped),
        runner(jobs={"retrain": retraining}, lease=RETRAINING_LEASE, stopped=retraining.stopped),
        runner(
            jobs={"deliver webhooks": dispatcher},
            lease=WEBHOOK_LEASE,
            final_jobs={"finish deliveries": dispatcher.finish},
        ),
    )
