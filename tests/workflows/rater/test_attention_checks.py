"""Attention and comprehension checks: position, attempts and consequences."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, select
from tests.support.campaigns import ABOUT_YOU, AGREED, CHECKS, NOW, definition, items, open_campaign, owner

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.schema.campaign.attention_check import judge_checks
from dissensus.store import check_answers, seats
from dissensus.store.assignments import AssignmentTable
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.store.core.orm import new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterRow
from dissensus.store.seats import SeatCounts
from dissensus.workflows.campaign import campaigns, rehearsal
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, enrolment, next_step, quota_screening, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.next_step import RaterStep

LATER = NOW + timedelta(days=1)
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 1, "rest": 1, "hold_minutes": 60}


def open_checked_campaign(platform: Platform, n_items: int = 2, **changes: Any) -> Any:
    return open_campaign(platform, n_items, **{"checks": CHECKS, "estimated_minutes": 20, **changes})


def enter(platform: Platform, campaign: Any) -> RaterRow:
    return enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)[0]


def rate(platform: Platform, rater: RaterRow, state: RaterStep) -> RaterStep:
    assert state.assignment is not None
    save = AnswerSave(revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
    return rating.submit_answers(platform, rater, state.assignment.id, new_id(NOW), save, now=NOW)


def answer_due_check(platform: Platform, rater: RaterRow, state: RaterStep, value: str) -> RaterStep:
    assert state.due is not None
    return attention_checks.answer_check(
        platform, rater, state.due.check.name, value, attempt=state.due.attempt, now=NOW
    )


def load_attempts(platform: Platform, rater: RaterRow) -> dict[str, list[str]]:
    with platform.database.reading() as tx:
        return check_answers.load_attempts(tx, rater.id)


def due_check(state: RaterStep) -> tuple[str, int]:
    assert state.stage == "check"
    assert state.due is not None
    return state.due.check.name, state.due.attempt


def fail_twice(platform: Platform, rater: RaterRow) -> RaterStep:
    state = next_step.find_next_step(platform, rater, now=NOW)
    return answer_due_check(platform, rater, answer_due_check(platform, rater, state, "All of it"), "All of it")


def test_checks_come_at_their_positions_and_the_last_after_all_items(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform, demographics=ABOUT_YOU))
    state = next_step.find_next_step(platform, rater, now=NOW)
    steps = []
    while state.stage in ("check", "rate"):
        steps.append(state.stage if state.due is None else state.due.check.name)
        state = (
            rate(platform, rater, state)
            if state.due is None
            else answer_due_check(platform, rater, state, state.due.check.correct_answers[0])
        )
    assert steps == ["rules", "rate", "swim", "rate", "choose"]
    assert state.stage == "demographics"
    assert load_attempts(platform, rater) == {"rules": ["The last answer"], "swim": ["Disagree"], "choose": ["Unsure"]}


def test_the_screener_comes_before_a_check(platform: Platform) -> None:
    quota = {**QUOTA, "seats": 2}
    rater = enter(
        platform, open_checked_campaign(platform, demographics=ABOUT_YOU, demographics_position="before", quota=quota)
    )
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "screener"
    state = quota_screening.screen_rater(platform, rater, {"rater_age": "old"}, now=NOW)
    assert state is not None
    assert due_check(state) == ("rules", 1)


def test_no_item_is_prefetched_before_a_check(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform, 4))
    state = answer_due_check(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "The last answer")
    following = []
    while state.stage in ("check", "rate"):
        if state.due is None:
            following.append(state.next_assignment is not None)
        state = (
            rate(platform, rater, state)
            if state.due is None
            else answer_due_check(platform, rater, state, state.due.check.correct_answers[0])
        )
    assert following == [False, False, True, False]


def test_comprehension_checks_allow_two_attempts_and_attention_checks_one(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    state = answer_due_check(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "All of it")
    assert due_check(state) == ("rules", 2)
    state = answer_due_check(platform, rater, state, "The last answer")
    state = answer_due_check(platform, rater, rate(platform, rater, state), "Agree")
    assert state.stage == "rate"
    state = answer_due_check(platform, rater, rate(platform, rater, state), "No")
    assert state.stage == "done"
    result = judge_checks(state.campaign.checks, load_attempts(platform, rater), 20)
    assert (result.passed, result.failed, result.may_reject) == (("rules",), ("choose", "swim"), True)


def test_a_repeated_attempt_is_counted_once(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    first = next_step.find_next_step(platform, rater, now=NOW)
    for _ in range(2):
        assert due_check(answer_due_check(platform, rater, first, "All of it")) == ("rules", 2)
    assert load_attempts(platform, rater) == {"rules": ["All of it"]}
    second = next_step.find_next_step(platform, rater, now=NOW)
    for _ in range(2):
        assert answer_due_check(platform, rater, second, "The last answer").stage == "rate"
    # The button back, and another answer.
    assert answer_due_check(platform, rater, first, "The last answer").stage == "rate"
    assert load_attempts(platform, rater) == {"rules": ["All of it", "The last answer"]}


def test_concurrent_attempts_are_counted_once(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    first = next_step.find_next_step(platform, rater, now=NOW)
    with ThreadPoolExecutor(4) as pool:
        states = list(pool.map(lambda _: answer_due_check(platform, rater, first, "All of it"), range(8)))
    assert {due_check(state) for state in states} == {("rules", 2)}
    assert load_attempts(platform, rater) == {"rules": ["All of it"]}


@pytest.mark.parametrize(("name", "attempt"), [("rules", 0), ("rules", 2), ("rules", 7), ("swim", 1), ("choose", 1)])
def test_answers_to_checks_that_are_not_due_are_not_stored(platform: Platform, name: str, attempt: int) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    answer = {"rules": "The last answer", "swim": "Disagree", "choose": "Unsure"}[name]
    assert due_check(attention_checks.answer_check(platform, rater, name, answer, attempt=attempt, now=NOW)) == (
        "rules",
        1,
    )
    assert load_attempts(platform, rater) == {}


def test_unknown_checks_and_answers_are_refused(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    with pytest.raises(NotFound, match="no such check in this campaign"):
        attention_checks.answer_check(platform, rater, "sink", "Agree", attempt=1, now=NOW)
    unknown = r"'Some' is not an answer to it\. Choose one of 'The last answer', 'All of it'"
    with pytest.raises(InvalidInput, match=unknown):
        attention_checks.answer_check(platform, rater, "rules", "Some", attempt=1, now=NOW)
    assert load_attempts(platform, rater) == {}


def test_failing_the_first_comprehension_check_ends_the_visit(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    state = fail_twice(platform, rater)
    assert (state.stage, state.rater.state) == ("unfit", "stopped")
    assert next_step.find_next_step(platform, rater, now=LATER).stage == "unfit"
    assert rating.stop_rating(platform, rater, now=LATER).stage == "unfit"
    with pytest.raises(Conflict, match="Your visit has ended"):
        rating.resume_rating(platform, rater, now=LATER)
    assert (
        attention_checks.answer_check(platform, rater, "rules", "The last answer", attempt=3, now=LATER).stage
        == "unfit"
    )
    assert load_attempts(platform, rater) == {"rules": ["All of it", "All of it"]}
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(AssignmentTable)) == 0


def test_failing_a_later_comprehension_check_does_not_end_the_visit(platform: Platform) -> None:
    late = {**CHECKS[2], "after": 1}
    rater = enter(platform, open_checked_campaign(platform, checks=[late]))
    rate(platform, rater, next_step.find_next_step(platform, rater, now=NOW))
    assert fail_twice(platform, rater).stage == "rate"
    assert load_attempts(platform, rater) == {"rules": ["All of it", "All of it"]}


def test_failing_the_comprehension_check_frees_the_seat(platform: Platform) -> None:
    campaign = open_checked_campaign(platform, demographics=ABOUT_YOU, quota=QUOTA)
    rater = enter(platform, campaign)
    quota_screening.screen_rater(platform, rater, {"rater_age": "young"}, now=NOW)
    assert load_seats(platform, campaign.id)["young"].held == 1
    assert fail_twice(platform, rater).stage == "unfit"
    assert load_seats(platform, campaign.id)["young"] == SeatCounts(free=1)
    other = enter(platform, campaign)
    state = quota_screening.screen_rater(platform, other, {"rater_age": "young"}, now=NOW)
    assert state is not None
    assert due_check(state) == ("rules", 1)
    assert next_step.find_next_step(platform, rater, now=LATER).stage == "unfit"


def load_seats(platform: Platform, campaign_id: str) -> dict[str, SeatCounts]:
    with platform.database.reading() as tx:
        return seats.load_seat_counts(tx, campaign_id)


def test_a_rater_without_a_seat_has_no_check_due(platform: Platform) -> None:
    campaign = open_checked_campaign(platform, demographics=ABOUT_YOU, quota=QUOTA)
    rater, other = enter(platform, campaign), enter(platform, campaign)
    state = quota_screening.screen_rater(platform, rater, {"rater_age": "young"}, now=NOW)
    assert state is not None
    assert quota_screening.screen_rater(platform, other, {"rater_age": "young"}, now=LATER) is not None
    assert next_step.find_next_step(platform, rater, now=LATER).stage == "full"
    # Without a seat, nothing is due.
    assert answer_due_check(platform, rater, state, "The last answer").stage == "full"
    withdrawal.withdraw_rater(platform, other.id, now=LATER)
    assert due_check(next_step.find_next_step(platform, rater, now=LATER)) == ("rules", 1)


def test_failing_the_comprehension_check_returns_planned_items(platform: Platform) -> None:
    """A campaign that was a draft without checks may have raters with items, in a preview."""
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(replication=1), items(3), staff_id=staff_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", "", "en"), AGREED, rehearsal=True, now=NOW)
    assert next_step.find_next_step(platform, rater, now=NOW).progress.n_open == 3
    again = definition(replication=1, checks=CHECKS, estimated_minutes=20)
    campaigns.revise_campaign(platform, "pilot", again, staff_id=staff_id, now=NOW)
    assert fail_twice(platform, rater).stage == "unfit"
    with platform.database.reading() as tx:
        assert set(tx.scalars(select(AssignmentTable.state))) == {"reclaimed"}
        assert set(tx.scalars(select(ItemTable.load))) == {0}


def test_a_withdrawal_erases_the_answers_to_checks(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform))
    first = next_step.find_next_step(platform, rater, now=NOW)
    answer_due_check(platform, rater, first, "All of it")
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert load_attempts(platform, rater) == {}
    with pytest.raises(NotAllowed, match="nothing more is stored about you"):
        answer_due_check(platform, rater, first, "All of it")


def test_no_check_is_due_after_a_stop_or_in_a_paused_or_closed_campaign(platform: Platform) -> None:
    campaign = open_checked_campaign(platform)
    rater = enter(platform, campaign)
    first = next_step.find_next_step(platform, rater, now=NOW)
    rating.stop_rating(platform, rater, now=NOW)
    assert answer_due_check(platform, rater, first, "The last answer").stage == "done"
    assert due_check(rating.resume_rating(platform, rater, now=NOW)) == ("rules", 1)
    for state in ("paused", "closed"):
        campaigns.change_state(platform, "pilot", state, staff_id=campaign.staff_id, now=NOW)
        assert answer_due_check(platform, rater, first, "The last answer").stage == state
    assert load_attempts(platform, rater) == {}


def test_a_check_comes_before_the_end_of_the_day(platform: Platform) -> None:
    rater = enter(platform, open_checked_campaign(platform, max_per_day=1))
    state = answer_due_check(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "The last answer")
    state = rate(platform, rater, state)
    assert due_check(state) == ("swim", 1)
    assert answer_due_check(platform, rater, state, "Disagree").stage == "enough"


def test_the_text_of_a_check_can_change_and_its_rules_cannot(platform: Platform) -> None:
    campaign = open_checked_campaign(platform)
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    reworded = [{**CHECKS[0], "text": "This time choose Unsure."}, *CHECKS[1:]]
    revised = definition(checks=reworded, estimated_minutes=20)
    campaigns.revise_campaign(platform, "pilot", revised, staff_id=campaign.staff_id, now=NOW)
    for change in ({"correct_answers": ["Agree"]}, {"after": 2}, {"kind": "comprehension"}, {"name": "sink"}):
        checks = [CHECKS[0], {**CHECKS[1], **change}, CHECKS[2]]
        with pytest.raises(Conflict, match="the correct answers and positions of the checks cannot change"):
            campaigns.revise_campaign(
                platform, "pilot", definition(checks=checks, estimated_minutes=20), staff_id=campaign.staff_id, now=NOW
            )


def test_without_checks_a_submit_makes_no_extra_query(platform: Platform) -> None:
    counts = {}
    for name, changes in (("plain", {}), ("checked", {"checks": CHECKS, "estimated_minutes": 20})):
        staff_id = owner(platform.database, name)
        campaigns.create_campaign(platform, definition(name, **changes), items(9), staff_id=staff_id, now=NOW)
        rater, _ = enrolment.enrol_rater(platform, Arrival(name, "", "en"), AGREED, rehearsal=True, now=NOW)
        state = next_step.find_next_step(platform, rater, now=NOW)
        state = state if state.due is None else answer_due_check(platform, rater, state, "The last answer")
        statements: list[str] = []
        listener = lambda *args: statements.append(args[2])  # noqa: E731, B023
        event.listen(platform.database.engine, "before_cursor_execute", listener)
        rate(platform, rater, state)
        event.remove(platform.database.engine, "before_cursor_execute", listener)
        counts[name] = sum("check_answer" in statement for statement in statements)
    assert counts["plain"] == 0 < counts["checked"]


def test_simulated_raters_pass_the_checks(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(
        platform, definition(checks=CHECKS, estimated_minutes=20), items(3), staff_id=staff_id, now=NOW
    )
    assert rehearsal.run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW) == 6
    with platform.database.reading() as tx:
        query = select(CheckAnswerTable.name, func.count()).group_by(CheckAnswerTable.name)
        assert dict(tx.execute(query).all()) == {"choose": 2, "rules": 2, "swim": 2}
