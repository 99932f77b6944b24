"""Checks on the way of a rater: when they come, how often they may be tried, and what follows."""

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
from dissensus.store.core.ids import new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterRow
from dissensus.store.seats import SeatCounts
from dissensus.workflows.campaign import campaigns, rehearsal
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, enrolment, journey, rating, screening, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.journey import RaterState

LATER = NOW + timedelta(days=1)
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 1, "rest": 1, "hold_minutes": 60}


def checked(platform: Platform, n_items: int = 2, **changes: Any) -> Any:
    return open_campaign(platform, n_items, **{"checks": CHECKS, "minutes": 20, **changes})


def enter(platform: Platform, kept: Any) -> RaterRow:
    return enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)[0]


def rate(platform: Platform, rater: RaterRow, at: RaterState) -> RaterState:
    assert at.assignment is not None
    save = AnswerSave(revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
    return rating.submit_answers(platform, rater, at.assignment.id, new_id(NOW), save, now=NOW)


def meet(platform: Platform, rater: RaterRow, at: RaterState, value: str) -> RaterState:
    assert at.due is not None
    return attention_checks.answer_check(platform, rater, at.due.check.name, value, attempt=at.due.attempt, now=NOW)


def tries(platform: Platform, rater: RaterRow) -> dict[str, list[str]]:
    with platform.database.reading() as tx:
        return check_answers.load_tries(tx, rater.id)


def due(at: RaterState) -> tuple[str, int]:
    assert at.stage == "check"
    assert at.due is not None
    return at.due.check.name, at.due.attempt


def failed_twice(platform: Platform, rater: RaterRow) -> RaterState:
    at = journey.next_state(platform, rater, now=NOW)
    return meet(platform, rater, meet(platform, rater, at, "All of it"), "All of it")


def test_checks_come_by_their_place_and_the_last_one_after_the_last_item(platform: Platform) -> None:
    rater = enter(platform, checked(platform, demographics=ABOUT_YOU))
    at = journey.next_state(platform, rater, now=NOW)
    seen = []
    while at.stage in ("check", "rate"):
        seen.append(at.stage if at.due is None else at.due.check.name)
        at = rate(platform, rater, at) if at.due is None else meet(platform, rater, at, at.due.check.right[0])
    assert seen == ["rules", "rate", "swim", "rate", "choose"]
    assert at.stage == "demographics"
    assert tries(platform, rater) == {"rules": ["The last answer"], "swim": ["Disagree"], "choose": ["Unsure"]}


def test_what_comes_first_comes_before_a_check(platform: Platform) -> None:
    quota = {**QUOTA, "seats": 2}
    rater = enter(platform, checked(platform, demographics=ABOUT_YOU, demographics_placed="before", quota=quota))
    assert journey.next_state(platform, rater, now=NOW).stage == "screener"
    at = screening.screen_rater(platform, rater, {"rater_age": "old"}, now=NOW)
    assert at is not None
    assert due(at) == ("rules", 1)


def test_an_item_before_a_check_is_followed_by_none(platform: Platform) -> None:
    rater = enter(platform, checked(platform, 4))
    at = meet(platform, rater, journey.next_state(platform, rater, now=NOW), "The last answer")
    following = []
    while at.stage in ("check", "rate"):
        if at.due is None:
            following.append(at.following is not None)
        at = rate(platform, rater, at) if at.due is None else meet(platform, rater, at, at.due.check.right[0])
    assert following == [False, False, True, False]


def test_comprehension_may_be_tried_twice_and_attention_once(platform: Platform) -> None:
    rater = enter(platform, checked(platform))
    at = meet(platform, rater, journey.next_state(platform, rater, now=NOW), "All of it")
    assert due(at) == ("rules", 2)
    at = meet(platform, rater, at, "The last answer")
    at = meet(platform, rater, rate(platform, rater, at), "Agree")
    assert at.stage == "rate"
    at = meet(platform, rater, rate(platform, rater, at), "No")
    assert at.stage == "done"
    found = judge_checks(at.campaign.checks, tries(platform, rater), 20)
    assert (found.passed, found.failed, found.may_reject) == (("rules",), ("choose", "swim"), True)


def test_the_same_try_twice_is_one(platform: Platform) -> None:
    rater = enter(platform, checked(platform))
    first = journey.next_state(platform, rater, now=NOW)
    for _ in range(2):
        assert due(meet(platform, rater, first, "All of it")) == ("rules", 2)
    assert tries(platform, rater) == {"rules": ["All of it"]}
    second = journey.next_state(platform, rater, now=NOW)
    for _ in range(2):
        assert meet(platform, rater, second, "The last answer").stage == "rate"
    # The button back, and another answer.
    assert meet(platform, rater, first, "The last answer").stage == "rate"
    assert tries(platform, rater) == {"rules": ["All of it", "The last answer"]}


def test_a_double_click_is_one_try(platform: Platform) -> None:
    rater = enter(platform, checked(platform))
    first = journey.next_state(platform, rater, now=NOW)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: meet(platform, rater, first, "All of it"), range(8)))
    assert {due(at) for at in found} == {("rules", 2)}
    assert tries(platform, rater) == {"rules": ["All of it"]}


@pytest.mark.parametrize(("name", "attempt"), [("rules", 0), ("rules", 2), ("rules", 7), ("swim", 1), ("choose", 1)])
def test_a_check_that_is_not_due_is_not_kept(platform: Platform, name: str, attempt: int) -> None:
    rater = enter(platform, checked(platform))
    answer = {"rules": "The last answer", "swim": "Disagree", "choose": "Unsure"}[name]
    assert due(attention_checks.answer_check(platform, rater, name, answer, attempt=attempt, now=NOW)) == ("rules", 1)
    assert tries(platform, rater) == {}


def test_what_is_none_of_the_campaign_is_refused(platform: Platform) -> None:
    rater = enter(platform, checked(platform))
    with pytest.raises(NotFound, match="no such check in this campaign"):
        attention_checks.answer_check(platform, rater, "sink", "Agree", attempt=1, now=NOW)
    with pytest.raises(InvalidInput, match=r"'Some' is no answer to it\. Choose one of 'The last answer', 'All of it'"):
        attention_checks.answer_check(platform, rater, "rules", "Some", attempt=1, now=NOW)
    assert tries(platform, rater) == {}


def test_who_does_not_understand_at_the_start_rates_nothing(platform: Platform) -> None:
    rater = enter(platform, checked(platform))
    at = failed_twice(platform, rater)
    assert (at.stage, at.rater.state) == ("unfit", "stopped")
    assert journey.next_state(platform, rater, now=LATER).stage == "unfit"
    assert rating.stop_rating(platform, rater, now=LATER).stage == "unfit"
    with pytest.raises(Conflict, match="Your visit has ended"):
        rating.resume_rating(platform, rater, now=LATER)
    assert (
        attention_checks.answer_check(platform, rater, "rules", "The last answer", attempt=3, now=LATER).stage
        == "unfit"
    )
    assert tries(platform, rater) == {"rules": ["All of it", "All of it"]}
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(AssignmentTable)) == 0


def test_a_later_comprehension_check_ends_nothing(platform: Platform) -> None:
    late = {**CHECKS[2], "after": 1}
    rater = enter(platform, checked(platform, checks=[late]))
    rate(platform, rater, journey.next_state(platform, rater, now=NOW))
    assert failed_twice(platform, rater).stage == "rate"
    assert tries(platform, rater) == {"rules": ["All of it", "All of it"]}


def test_the_seat_of_who_does_not_understand_is_for_others(platform: Platform) -> None:
    kept = checked(platform, demographics=ABOUT_YOU, quota=QUOTA)
    rater = enter(platform, kept)
    screening.screen_rater(platform, rater, {"rater_age": "young"}, now=NOW)
    assert seats_of(platform, kept.id)["young"].held == 1
    assert failed_twice(platform, rater).stage == "unfit"
    assert seats_of(platform, kept.id)["young"] == SeatCounts(free=1)
    other = enter(platform, kept)
    at = screening.screen_rater(platform, other, {"rater_age": "young"}, now=NOW)
    assert at is not None
    assert due(at) == ("rules", 1)
    assert journey.next_state(platform, rater, now=LATER).stage == "unfit"


def seats_of(platform: Platform, campaign_id: str) -> dict[str, SeatCounts]:
    with platform.database.reading() as tx:
        return seats.load_seat_counts(tx, campaign_id)


def test_who_lost_their_seat_meets_a_check_with_another_one(platform: Platform) -> None:
    kept = checked(platform, demographics=ABOUT_YOU, quota=QUOTA)
    rater, other = enter(platform, kept), enter(platform, kept)
    at = screening.screen_rater(platform, rater, {"rater_age": "young"}, now=NOW)
    assert at is not None
    assert screening.screen_rater(platform, other, {"rater_age": "young"}, now=LATER) is not None
    assert journey.next_state(platform, rater, now=LATER).stage == "full"
    # Without a seat, nothing is due.
    assert meet(platform, rater, at, "The last answer").stage == "full"
    withdrawal.withdraw_rater(platform, other.id, now=LATER)
    assert due(journey.next_state(platform, rater, now=LATER)) == ("rules", 1)


def test_items_that_were_planned_go_back(platform: Platform) -> None:
    """A campaign that was a draft without checks may have raters with items, in a preview."""
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(replication=1), items(3), staff_id=staff_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", "", "en"), AGREED, rehearsal=True, now=NOW)
    assert journey.next_state(platform, rater, now=NOW).progress.n_open == 3
    again = definition(replication=1, checks=CHECKS, minutes=20)
    campaigns.revise_campaign(platform, "pilot", again, staff_id=staff_id, now=NOW)
    assert failed_twice(platform, rater).stage == "unfit"
    with platform.database.reading() as tx:
        assert set(tx.scalars(select(AssignmentTable.state))) == {"reclaimed"}
        assert set(tx.scalars(select(ItemTable.load))) == {0}


def test_withdrawal_erases_what_was_answered(platform: Platform) -> None:
    rater = enter(platform, checked(platform))
    first = journey.next_state(platform, rater, now=NOW)
    meet(platform, rater, first, "All of it")
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert tries(platform, rater) == {}
    with pytest.raises(NotAllowed, match="nothing more is kept of you"):
        meet(platform, rater, first, "All of it")


def test_stopped_paused_and_closed_nothing_is_due(platform: Platform) -> None:
    kept = checked(platform)
    rater = enter(platform, kept)
    first = journey.next_state(platform, rater, now=NOW)
    rating.stop_rating(platform, rater, now=NOW)
    assert meet(platform, rater, first, "The last answer").stage == "done"
    assert due(rating.resume_rating(platform, rater, now=NOW)) == ("rules", 1)
    for state in ("paused", "closed"):
        campaigns.change_state(platform, "pilot", state, staff_id=kept.staff_id, now=NOW)
        assert meet(platform, rater, first, "The last answer").stage == state
    assert tries(platform, rater) == {}


def test_a_check_comes_before_the_end_of_the_day(platform: Platform) -> None:
    rater = enter(platform, checked(platform, most_a_day=1))
    at = meet(platform, rater, journey.next_state(platform, rater, now=NOW), "The last answer")
    at = rate(platform, rater, at)
    assert due(at) == ("swim", 1)
    assert meet(platform, rater, at, "Disagree").stage == "enough"


def test_what_passes_is_frozen_and_its_words_are_not(platform: Platform) -> None:
    kept = checked(platform)
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    rewarded = [{**CHECKS[0], "text": "This time choose Unsure."}, *CHECKS[1:]]
    revised = definition(checks=rewarded, minutes=20)
    campaigns.revise_campaign(platform, "pilot", revised, staff_id=kept.staff_id, now=NOW)
    for change in ({"right": ["Agree"]}, {"after": 2}, {"kind": "comprehension"}, {"name": "sink"}):
        checks = [CHECKS[0], {**CHECKS[1], **change}, CHECKS[2]]
        with pytest.raises(Conflict, match="what passes the checks, and where they come, cannot change"):
            campaigns.revise_campaign(
                platform, "pilot", definition(checks=checks, minutes=20), staff_id=kept.staff_id, now=NOW
            )


def test_without_checks_a_submit_asks_the_database_nothing_more(platform: Platform) -> None:
    counts = {}
    for name, changes in (("plain", {}), ("checked", {"checks": CHECKS, "minutes": 20})):
        staff_id = owner(platform.database, name)
        campaigns.create_campaign(platform, definition(name, **changes), items(9), staff_id=staff_id, now=NOW)
        rater, _ = enrolment.enrol_rater(platform, Arrival(name, "", "en"), AGREED, rehearsal=True, now=NOW)
        at = journey.next_state(platform, rater, now=NOW)
        at = at if at.due is None else meet(platform, rater, at, "The last answer")
        asked: list[str] = []
        heard = lambda *told: asked.append(told[2])  # noqa: E731, B023
        event.listen(platform.database.engine, "before_cursor_execute", heard)
        rate(platform, rater, at)
        event.remove(platform.database.engine, "before_cursor_execute", heard)
        counts[name] = sum("check_answer" in statement for statement in asked)
    assert counts["plain"] == 0 < counts["checked"]


def test_a_dry_run_passes(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(checks=CHECKS, minutes=20), items(3), staff_id=staff_id, now=NOW)
    assert rehearsal.run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW) == 6
    with platform.database.reading() as tx:
        query = select(CheckAnswerTable.name, func.count()).group_by(CheckAnswerTable.name)
        assert dict(tx.execute(query).all()) == {"choose": 2, "rules": 2, "swim": 2}
