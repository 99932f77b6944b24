"""Workers whose clocks differ by minutes: no loss, no repetition, and a valid event log."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import cycle, permutations

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import NOW, open_campaign
from tests.support.quota_campaigns import enter, load_seat_counts, open_seat_campaign, screen

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.audit_log import EventTable
from dissensus.store.core.orm import new_id
from dissensus.store.raters import RaterRow
from dissensus.store.seats import SeatCounts
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.jobs import JobRunner, default_jobs
from dissensus.workflows.platform import sessions, sign_in_links
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import next_step, rating, withdrawal

APART = timedelta(minutes=5)
BEHIND, AHEAD = NOW - APART, NOW + APART


@pytest.fixture
def clocks() -> Iterator[datetime]:
    """The times of two workers in turn, starting with the one whose clock is ahead."""
    return cycle((AHEAD, BEHIND))


def rate_all(platform: Platform, rater: RaterRow, clocks: Iterator[datetime]) -> int:
    """Rate all items with alternating workers, and return their number."""
    state, n = next_step.find_next_step(platform, rater, now=next(clocks)), 0
    while state.assignment is not None:
        assignment_id = state.assignment.id
        draft, final = (
            AnswerSave(revision=n, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
            for n in (1, 2)
        )
        rating.save_answers(platform, rater, assignment_id, new_id(NOW), draft, now=next(clocks))
        state, n = rating.submit_answers(platform, rater, assignment_id, new_id(NOW), final, now=next(clocks)), n + 1
    return n


def test_two_workers_serve_one_rater(platform: Platform, clocks: Iterator[datetime]) -> None:
    campaign = open_campaign(platform, 5)
    assert rate_all(platform, enter(platform, campaign.key, now=AHEAD), clocks) == 5
    assert audit.audit_campaign(platform, "pilot").holds


@pytest.mark.parametrize(("first", "second"), list(permutations((BEHIND, AHEAD))))
def test_the_last_submission_holds_regardless_of_clocks(platform: Platform, first: datetime, second: datetime) -> None:
    campaign = open_campaign(platform, 1)
    rater = enter(platform, campaign.key)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    for revision, (answer, now) in enumerate((("No", first), ("Yes", second)), 1):
        save = AnswerSave(
            revision=revision, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value=answer)}
        )
        rating.submit_answers(platform, rater, assignment.id, answer, save, now=now)
    with platform.database.reading() as tx:
        last = select(AnswerTable.value).join(SaveTable).order_by(SaveTable.number.desc()).limit(1)
        assert tx.scalar(last) == '"Yes"'
    assert audit.audit_campaign(platform, "pilot").holds


def test_a_seat_is_held_and_taken_once(platform: Platform, clocks: Iterator[datetime]) -> None:
    campaign = open_seat_campaign(platform)
    rater = enter(platform, campaign.key, now=AHEAD)
    step = screen(platform, rater, "old", now=BEHIND)
    assert step is not None
    rater = step.rater
    assert load_seat_counts(platform, campaign.id)["old × small"] == SeatCounts(held=1)
    rate_all(platform, rater, clocks)
    assert load_seat_counts(platform, campaign.id)["old × small"] == SeatCounts(taken=1)
    withdrawal.withdraw_rater(platform, rater.id, now=BEHIND)
    assert load_seat_counts(platform, campaign.id)["old × small"] == SeatCounts(free=1)
    assert audit.audit_campaign(platform, "pilot").holds


def test_two_workers_do_each_job_once(platform: Platform) -> None:
    campaign = open_campaign(platform, 1)
    runners = [
        JobRunner(platform=platform, holder=f"{now}", jobs=default_jobs(), clock=lambda now=now: now)  # type: ignore[misc]
        for now in (BEHIND, AHEAD)
    ]
    for state in ("paused", "open", "paused", "open"):
        campaigns.change_state(platform, "pilot", state, staff_id=campaign.staff_id, now=NOW)
        for runner in runners:
            runner.run_once()
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(EventTable.sequence.is_(None))) == 0
        sequences = list(tx.scalars(select(EventTable.sequence).order_by(EventTable.sequence)))
    assert sequences == list(range(1, 7))
    assert audit.audit_campaign(platform, "pilot").holds


def test_a_session_of_one_worker_is_valid_on_the_other(platform: Platform) -> None:
    for first, second in permutations((BEHIND, AHEAD)):
        session = sign_in_links.sign_in_with_link(
            platform, sign_in_links.create_sign_in_link(platform, "ada", now=first).key, network=None, now=second
        )
        assert sessions.staff_of_session(platform, session, now=first) is not None
