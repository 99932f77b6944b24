"""`dissensus work`: real processes, one of which dies."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.cli.conftest import SCRIPT
from tests.workflows.campaigns import NOW, opened, owner

from dissensus.store import tables as t
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

PATIENCE_S = 60


@contextmanager
def working(folder: Path, database_url: str) -> Iterator[subprocess.Popen[str]]:
    """A process that does what runs beside the site."""
    environment = {**os.environ, "DISSENSUS_DATABASE_URL": database_url, "DISSENSUS_SECRET_KEY": "k" * 32}
    process = subprocess.Popen([SCRIPT, "work"], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        assert process.stderr.readline().startswith("Working.")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def wait_until_linked(platform: Platform, n: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while linked(platform) != n:
        assert time.monotonic() < end
        time.sleep(0.1)


def linked(platform: Platform) -> int:
    with platform.database.reading() as tx:
        return len(tx.scalars(select(t.Event.number).where(t.Event.place.is_not(None))).all())


@pytest.mark.slow
def test_one_is_killed_and_the_other_goes_on(platform: Platform, database_url: str, tmp_path: Path) -> None:
    with ExitStack() as processes:
        first = processes.enter_context(working(tmp_path, database_url))
        opened(platform, 1)
        wait_until_linked(platform, 2)
        second = processes.enter_context(working(tmp_path, database_url))
        first.kill()
        first.wait()
        campaigns.clone_campaign(platform, "pilot", "again", staff_id=staff_of(platform), now=NOW)
        wait_until_linked(platform, 3)
        second.send_signal(signal.SIGTERM)
        assert second.wait(PATIENCE_S) == 0


def staff_of(platform: Platform) -> str:
    with platform.database.reading() as tx:
        return str(tx.scalar(select(t.Membership.staff_id)))


def test_it_stops_when_it_is_told_to(platform: Platform, database_url: str, tmp_path: Path) -> None:
    owner(platform.database)
    with working(tmp_path, database_url) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    with platform.database.reading() as tx:
        assert tx.scalar(select(t.Lease.holder)) is None
