"""What was acknowledged is there, whoever is killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

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
def submitting(url: str, key: str | None, prefix: str) -> Iterator[subprocess.Popen[str]]:
    """A process that submits and prints the key of each submit that was acknowledged."""
    words = [sys.executable, "-m", "tests.support.submitting_process", url, str(key), prefix]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield process
        process.kill()


def read(process: subprocess.Popen[str], n: int) -> list[str]:
    """The next lines that a process prints."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(n)]
    assert all(lines), "it ended by itself"
    return [line.strip() for line in lines]


def rest(process: subprocess.Popen[str]) -> list[str]:
    """What a process still prints until it ends; a line that was cut short was not heard by anybody."""
    assert process.stdout is not None
    return [line.strip() for line in process.stdout if line.endswith("\n")]


def check(platform: Platform, told: list[str]) -> None:
    """Make sure that all that was told is there once, that it ended its item, and that loads can be counted again."""
    with platform.database.reading() as tx:
        query = (
            select(SaveTable.key, AnswerTable.value, AssignmentTable.state)
            .join(AnswerTable, AnswerTable.save_number == SaveTable.number)
            .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        )
        rows = tx.execute(query).all()
        loads = tx.scalars(select(ItemTable.load)).all()
        counted = tx.scalars(select(AssignmentTable.id).where(AssignmentTable.state.in_(assignments.LOAD_STATES))).all()
    assert len(set(told)) == len(told)
    assert set(told) <= {row.key for row in rows}
    assert len({row.key for row in rows}) == len(rows)
    assert {(row.value, row.state) for row in rows} == {('"Yes"', "done")}
    assert sum(loads) == len(counted)


def test_a_worker_that_is_killed_has_lost_nothing(platform: Platform, database_url: str) -> None:
    kept = open_campaign(platform, 2000, replication=3)
    rng, told = Random(7), []
    for turn in range(2):
        with submitting(database_url, kept.key, f"turn-{turn}") as process:
            told += read(process, rng.randint(1, 60))
            process.kill()
            told += rest(process)
    check(platform, told)


def test_a_server_that_is_killed_has_lost_nothing() -> None:
    with own_server() as server:
        url = server.url.render_as_string()
        platform = Platform(connect(url))
        schema.upgrade(platform.database)
        # More than anybody rates before the last of what follows is done.
        kept = open_campaign(platform, 2000)
        rng = Random(7)
        with submitting(url, kept.key, "one") as process:
            told = read(process, rng.randint(5, 25))
            for _ in range(2):
                server.kill()
                while told[-1] != "away":
                    told += read(process, 1)
                server.start()
                while told[-1] == "away":
                    told += read(process, 1)
                told += read(process, rng.randint(3, 10))
            process.kill()
            told += rest(process)
        keys = [one for one in told if one != "away"]
        assert keys == [f"one-{n}" for n in range(len(keys))]
        check(platform, keys)
        platform.close()
