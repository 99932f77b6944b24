"""`dissensus work`: real processes, one of which dies."""

import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW, open_campaign, owner
from tests.support.worker_process import work_process

from dissensus.store.audit_log import EventTable
from dissensus.store.core.leases import LeaseTable
from dissensus.store.members import MemberTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

PATIENCE_S = 180
"""Longest wait, for a busy machine: processes compile, and a lease ends after 15 seconds."""


def wait_until_linked(platform: Platform, n: int, process: subprocess.Popen[str]) -> None:
    """Wait until a process has linked `n` events."""
    end = time.monotonic() + PATIENCE_S
    while (n_linked := count_linked_events(platform)) != n:
        assert process.poll() is None
        assert time.monotonic() < end, n_linked
        time.sleep(0.1)


def count_linked_events(platform: Platform) -> int:
    with platform.database.reading() as tx:
        return len(tx.scalars(select(EventTable.number).where(EventTable.sequence.is_not(None))).all())


@pytest.mark.slow
def test_another_process_takes_over_from_a_killed_one(platform: Platform, database_url: str, tmp_path: Path) -> None:
    with ExitStack() as processes:
        first = processes.enter_context(work_process(tmp_path, database_url))
        open_campaign(platform, 1)
        wait_until_linked(platform, 2, first)
        second = processes.enter_context(work_process(tmp_path, database_url))
        first.kill()
        first.wait()
        campaigns.clone_campaign(platform, "pilot", "again", staff_id=staff_of(platform), now=NOW)
        wait_until_linked(platform, 3, second)
        second.send_signal(signal.SIGTERM)
        assert second.wait(PATIENCE_S) == 0


def staff_of(platform: Platform) -> str:
    with platform.database.reading() as tx:
        return str(tx.scalar(select(MemberTable.staff_id)))


@pytest.mark.slow
def test_an_interrupt_stops_the_process_and_releases_its_lease(
    platform: Platform, database_url: str, tmp_path: Path
) -> None:
    owner(platform.database)
    with work_process(tmp_path, database_url) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    with platform.database.reading() as tx:
        assert tx.scalar(select(LeaseTable.holder)) is None
