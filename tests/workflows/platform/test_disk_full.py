"""A full disk: an error, no partial saves, and continuation once there is room."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import AGREED, NOW, open_campaign

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Unavailable
from dissensus.store import assignments
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.core.database import Database, connect
from dissensus.store.items import ItemTable
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival

TABLES = (SaveTable, AnswerTable, AssignmentTable)


@pytest.fixture
def small(sqlite_template: Path, tmp_path: Path) -> Iterator[Platform]:
    """A platform with a single connection, which a test can limit."""
    shutil.copy(sqlite_template, tmp_path / "small.db")
    platform = Platform(connect(f"sqlite:///{tmp_path / 'small.db'}", pool_size=1))
    yield platform
    platform.close()


def limit(database: Database, pages: int) -> None:
    """Limit the growth of the file to `pages`."""
    with database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        (n,) = driver.execute("PRAGMA page_count").fetchone()
        driver.execute(f"PRAGMA max_page_count = {n + pages}")


def counts(platform: Platform) -> list[int]:
    with platform.database.reading() as tx:
        done = tx.scalar(select(func.count()).where(AssignmentTable.state == "done")) or 0
        load = tx.scalar(select(func.sum(ItemTable.load))) or 0
        return [*(tx.scalar(select(func.count()).select_from(table)) or 0 for table in TABLES), done, load]


def make_save(n: int) -> AnswerSave:
    answers = {"Q_safe": DraftAnswer(value="Yes"), "Why": DraftAnswer(value=f"{n} " + "because " * 200)}
    return AnswerSave(revision=n, visit="v", visible_ms=0, idle_ms=0, answers=answers)


def test_a_full_disk_is_reported_and_leaves_no_partial_save(small: Platform) -> None:
    campaign = open_campaign(small, 400)
    rater, _ = enrolment.enrol_rater(small, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    state = next_step.find_next_step(small, rater, now=NOW)
    limit(small.database, 20)
    for n in range(400):
        before = counts(small)
        assert state.assignment is not None
        try:
            state = rating.submit_answers(small, rater, state.assignment.id, f"key-{n}", make_save(n), now=NOW)
        except Unavailable as error:
            assert str(error) == (  # noqa: PT017 - how many fit depends on the version of SQLite
                "The database does not answer: database or disk is full. Nothing was saved."
            )
            break
    assert 5 < n < 399
    assert counts(small) == before
    assert state.assignment is not None
    with pytest.raises(Unavailable, match="disk is full"):
        rating.submit_answers(small, rater, state.assignment.id, f"key-{n}", make_save(n), now=NOW)
    limit(small.database, 1000)
    assert (
        rating.submit_answers(small, rater, state.assignment.id, f"key-{n}", make_save(n), now=NOW).progress.n_done
        == n + 1
    )
    with small.database.reading() as tx:
        assert assignments.load_progress(tx, rater.id, since=NOW).n_open == 399 - n
