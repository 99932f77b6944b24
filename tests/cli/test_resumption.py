"""Continuity for raters when processes die and when the site is upgraded."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.support.campaigns import open_campaign
from tests.support.commands import SCRIPT
from tests.support.rating_crowd import PATIENCE_S, Crowd, rating_crowd
from tests.support.served_site import KEY, list_workers, served
from tests.support.worker_process import work_process

import dissensus
from dissensus.errors import Conflict
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.audit_log import EventChainTable
from dissensus.store.core import schema
from dissensus.store.core.database import Database
from dissensus.workflows.campaign import audit
from dissensus.workflows.platform.platform import Platform

MANY = 3000
# The raters of these tests are faster than any person.
UNLIMITED = "0"
NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "next", "{latest}"


def upgrade():
    op.create_table("later", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("rater", sa.Column("later", sa.String(), nullable=True))
    op.add_column("save", sa.Column("later", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_answer_later", "answer", ["value"])
"""


def check(platform: Platform, people: Crowd) -> None:
    """Check that every acknowledged save is stored once and that the audit log is intact."""
    acknowledged = [save for rating in people.ratings for save in rating.saved_keys]
    with platform.database.reading() as tx:
        stored = list(tx.scalars(select(SaveTable.key)))
    assert len(set(stored)) == len(stored)
    assert set(acknowledged) <= set(stored)
    assert audit.audit_campaign(platform, "pilot").holds


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def seconds_of(process: int) -> float:
    """Return the CPU time of a process."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A copy of the package with one more migration."""
    folder = tmp_path / "later"
    # With compiled modules, which are valid for sources of the same age.
    shutil.copytree(Path(dissensus.__file__).parent, folder / "dissensus")
    migrations = folder / "dissensus" / "store" / "migrations" / "versions"
    (migrations / "next.py").write_text(NEXT.format(latest=schema.find_latest_revision()))
    return folder


@pytest.mark.slow
def test_a_campaign_continues_through_an_upgrade(
    database: Database, database_url: str, later: Path, tmp_path: Path
) -> None:
    platform = Platform(database)
    key = str(open_campaign(platform, MANY).key)
    with (
        served(tmp_path, database_url=database_url, secret_key=KEY, saves_per_rater=UNLIMITED) as old,
        rating_crowd(4, old.url, key) as people,
    ):
        people.go_on()
        upgraded = subprocess.run(
            [SCRIPT, "db", "upgrade"],
            env={**os.environ, "DISSENSUS_DATABASE_URL": database_url, "PYTHONPATH": str(later)},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert upgraded.returncode == 0, upgraded.stderr
        people.go_on()
        assert old.get("/readyz").status_code == 200
        with served(
            tmp_path, source=later, database_url=database_url, secret_key=KEY, saves_per_rater=UNLIMITED
        ) as new:
            for rating in people.ratings[:2]:
                rating.address = new.url
            people.go_on()
            for rating in people.ratings[2:]:
                rating.address = new.url
            assert old.stop() == 0
            people.go_on()
            assert new.get("/readyz").status_code == 200
            people.stop()
            check(platform, people)
    with pytest.raises(Conflict, match="a later version made"):
        schema.check_revision(database)


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_workers_and_background_jobs_survive_a_killed_process(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    platform = Platform(database)
    key = str(open_campaign(platform, MANY).key)
    with (
        served(
            tmp_path,
            "--workers",
            "2",
            database_url=database_url,
            background_jobs="false",
            secret_key=KEY,
            saves_per_rater=UNLIMITED,
        ) as site,
        work_process(tmp_path, database_url) as first,
        work_process(tmp_path, database_url),
        rating_crowd(8, site.url, key) as people,
    ):
        workers = list_workers(site.process.pid)
        before = {worker: seconds_of(worker) for worker in workers}
        people.go_on()
        # The system chooses the worker of a connection.
        wait_until(lambda: min(seconds_of(worker) - before[worker] for worker in workers) > 0.1)
        os.kill(workers[0], signal.SIGKILL)
        first.kill()
        people.go_on()
        wait_until(lambda: len(list_workers(site.process.pid)) == 2)
        wait_until(lambda: count_chained_events(platform) > 0)
        people.go_on()
        people.stop()
    check(platform, people)


def count_chained_events(platform: Platform) -> int:
    """Count the events in the chain."""
    with platform.database.reading() as tx:
        return int(tx.scalar(select(EventChainTable.n_events)) or 0)
