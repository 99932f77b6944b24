"""Raters go on while processes die, and while the site is brought to its next version."""

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
from tests.support.rating_crowd import PATIENCE_S, Crowd, crowd
from tests.support.served_site import KEY, living, served
from tests.support.worker_process import work_process

import dissensus
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.core import schema
from dissensus.store.core.database import Database
from dissensus.store.events import EventChainTable
from dissensus.workflows.campaign import audit
from dissensus.workflows.platform.platform import Platform

MANY = 3000
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
    """Make sure that all that was acknowledged is there once, and that the log agrees with it."""
    told = [save for one in people.ratings for save in one.kept]
    with platform.database.reading() as tx:
        kept = list(tx.scalars(select(SaveTable.key)))
    assert len(set(kept)) == len(kept)
    assert set(told) <= set(kept)
    assert audit.audit_campaign(platform, "pilot").holds


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def seconds_of(process: int) -> float:
    """How long a process has worked."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The version after this one, which has one migration more."""
    folder = tmp_path / "later"
    source = Path(dissensus.__file__).parent
    shutil.copytree(source, folder / "dissensus", ignore=shutil.ignore_patterns("__pycache__"))
    migrations = folder / "dissensus" / "store" / "migrations" / "versions"
    (migrations / "next.py").write_text(NEXT.format(latest=schema.find_latest_revision()))
    return folder


@pytest.mark.slow
def test_a_campaign_goes_on_through_an_upgrade(
    database: Database, database_url: str, later: Path, tmp_path: Path
) -> None:
    platform = Platform(database)
    key = str(open_campaign(platform, MANY).key)
    with served(tmp_path, database_url=database_url, secret_key=KEY) as old, crowd(4, old.url, key) as people:
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
        with served(tmp_path, source=later, database_url=database_url, secret_key=KEY) as new:
            for one in people.ratings[:2]:
                one.address = new.url
            people.go_on()
            for one in people.ratings[2:]:
                one.address = new.url
            assert old.stop() == 0
            people.go_on()
            assert new.get("/readyz").status_code == 200
            people.stop()
            check(platform, people)
    with pytest.raises(Exception, match="a later version made"):
        schema.check_revision(database)


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_two_workers_and_what_runs_beside_them_go_on_where_one_dies(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    platform = Platform(database)
    key = str(open_campaign(platform, MANY).key)
    with (
        served(tmp_path, "--workers", "2", database_url=database_url, secret_key=KEY, background_jobs="false") as site,
        work_process(tmp_path, database_url) as first,
        work_process(tmp_path, database_url),
        crowd(8, site.url, key) as people,
    ):
        workers = workers_of(site.process.pid)
        before = {worker: seconds_of(worker) for worker in workers}
        people.go_on(20)
        assert min(seconds_of(worker) - before[worker] for worker in workers) > 0.1
        os.kill(workers[0], signal.SIGKILL)
        first.kill()
        people.go_on(20)
        until(lambda: len(workers_of(site.process.pid)) == 2)
        until(lambda: linked(platform) > 0)
        people.go_on(20)
        people.stop()
    check(platform, people)


def workers_of(parent: int) -> list[int]:
    """The processes that answer: those that a site has started, but for what only looks after its memory."""
    return [one for one, by in living().items() if by == parent and "spawn_main" in _command(one)]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def linked(platform: Platform) -> int:
    """How many events are in the chain."""
    with platform.database.reading() as tx:
        return int(tx.scalar(select(EventChainTable.n_events)) or 0)
