"""Acknowledged submissions survive killed workers and servers."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from sqlalchemy import select
from tests.databases import own_server
from tests.support.campaigns import open_campaign
from tests.support.paths import ROOT

from dissensus.store import assignments
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.core import schema
from dissensus.store.core.database import connect
from dissensus.store.items import ItemTable
from dissensus.workflows.platform.platform import Platform


@contextmanager
def submitting_process(url: str, key: str | None, prefix: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that submits and prints the key of each acknowledged submission."""
    words = [sys.executable, "-m", "tests.support.submitting_process", url, str(key), prefix]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield process
        process.kill()


def read_keys(process: subprocess.Popen[str], n: int) -> list[str]:
    """Read the next `n` lines of a process."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(n)]
    assert all(lines), "it ended by itself"
    return [line.strip() for line in lines]


def read_remaining_keys(process: subprocess.Popen[str]) -> list[str]:
    """Read the remaining complete lines of a process."""
    assert process.stdout is not None
    return [line.strip() for line in process.stdout if line.endswith("\n")]


def check_saves(platform: Platform, keys: list[str]) -> None:
    """Check that each key is stored once, that its assignment is done, and that loads equal the assignments."""
    with platform.database.reading() as tx:
        query = (
            select(SaveTable.key, AnswerTable.value, AssignmentTable.state)
            .join(AnswerTable, AnswerTable.save_number == SaveTable.number)
            .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        )
        rows = tx.execute(query).all()
        loads = tx.scalars(select(ItemTable.load)).all()
        counted = tx.scalars(select(AssignmentTable.id).where(AssignmentTable.state.in_(assignments.LOAD_STATES))).all()
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {row.key for row in rows}
    assert len({row.key for row in rows}) == len(rows)
    assert {(row.value, row.state) for row in rows} == {('"Yes"', "done")}
    assert sum(loads) == len(counted)


@pytest.mark.slow
def test_a_killed_worker_loses_no_submission(platform: Platform, database_url: str) -> None:
    campaign = open_campaign(platform, 2000, replication=3)
    rng, keys = Random(7), []
    for turn in range(2):
        with submitting_process(database_url, campaign.key, f"turn-{turn}") as process:
            keys += read_keys(process, rng.randint(1, 60))
            process.kill()
            keys += read_remaining_keys(process)
    check_saves(platform, keys)


@pytest.mark.slow
def test_a_killed_server_loses_no_submission() -> None:
    with own_server() as server:
        url = server.url.render_as_string()
        platform = Platform(connect(url))
        schema.upgrade(platform.database)
        # More items than can be rated during this test.
        campaign = open_campaign(platform, 2000)
        rng = Random(7)
        with submitting_process(url, campaign.key, "one") as process:
            lines = read_keys(process, rng.randint(5, 25))
            for _ in range(2):
                server.kill()
                while lines[-1] != "away":
                    lines += read_keys(process, 1)
                server.start()
                while lines[-1] == "away":
                    lines += read_keys(process, 1)
                lines += read_keys(process, rng.randint(3, 10))
            process.kill()
            lines += read_remaining_keys(process)
        keys = [one for one in lines if one != "away"]
        assert keys == [f"one-{n}" for n in range(len(keys))]
        check_saves(platform, keys)
        platform.close()
