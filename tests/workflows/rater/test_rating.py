"""The way of a rater."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW, definition, open_campaign
from tests.support.raters import enter, given, rate_all, submit

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.store import answer_drafts, assignments, raters
from dissensus.store import campaigns as stored
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.items import ItemTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import DeclarationTable, RaterRow
from dissensus.store.staff import SessionTable
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival


def test_from_consent_to_the_end(platform: Platform) -> None:
    kept = open_campaign(platform, 3, demographics=ABOUT_YOU)
    rater = enter(platform, kept.key)
    assert sorted(rate_all(platform, rater)) == ["item-0", "item-1", "item-2"]
    assert journey.next_state(platform, rater, now=NOW).stage == "demographics"
    with pytest.raises(InvalidInput, match="rater_age"):
        rating.declare_attributes(platform, rater, {}, now=NOW)
    end = rating.declare_attributes(platform, rater, {"rater_age": "Prefer not to say"}, now=NOW)
    assert end.stage == "done"
    assert (end.progress.n_done, end.progress.n_open) == (3, 0)
    with platform.database.reading() as tx:
        assert raters.find_declaration(tx, rater.id) == {"rater_age": "Prefer not to say"}


def test_demographics_can_come_first(platform: Platform) -> None:
    kept = open_campaign(platform, 1, demographics=ABOUT_YOU, demographics_placed="before")
    rater = enter(platform, kept.key)
    assert journey.next_state(platform, rater, now=NOW).stage == "demographics"
    assert rating.declare_attributes(platform, rater, {"rater_age": "old"}, now=NOW).stage == "rate"


def test_what_was_said_last_holds_be_the_clock_set_back(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, demographics=ABOUT_YOU).key)
    for age, now in (("young", NOW), ("old", NOW - timedelta(hours=1)), ("young", NOW), ("old", NOW)):
        rating.declare_attributes(platform, rater, {"rater_age": age}, now=now)
        with platform.database.reading() as tx:
            assert raters.find_declaration(tx, rater.id) == {"rater_age": age}


def test_every_rater_has_an_order_of_their_own(platform: Platform) -> None:
    kept = open_campaign(platform, 12)
    orders = [rate_all(platform, enter(platform, kept.key)) for _ in range(4)]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert len({tuple(order) for order in orders}) == 4


def test_items_fill_evenly_and_never_beyond_the_replication(platform: Platform) -> None:
    kept = open_campaign(platform, 10, replication=2, most_items=5)
    first = [rate_all(platform, enter(platform, kept.key)) for _ in range(2)]
    assert sorted(first[0] + first[1]) == sorted(f"item-{i}" for i in range(10))
    rest = [rate_all(platform, enter(platform, kept.key)) for _ in range(3)]
    assert [len(one) for one in rest] == [5, 5, 0]
    assert loads(platform, kept.id) == [2] * 10


def loads(platform: Platform, campaign_id: str) -> list[int]:
    with platform.database.reading() as tx:
        return [int(load) for load in assignments.load_item_loads(tx, campaign_id, "nobody").loads]


def test_who_does_not_agree_leaves_no_trace(platform: Platform) -> None:
    kept = open_campaign(platform)
    for purposes in ({}, {"rating": False, "release": True}):
        with pytest.raises(NotAllowed, match="Nothing about you was kept"):
            enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), purposes, now=NOW)
    with pytest.raises(InvalidInput, match="'spying' is no purpose"):
        enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), {"spying": True}, now=NOW)
    with platform.database.reading() as tx:
        assert stored.get_campaign(tx, kept.id).n_raters == 0


def test_a_campaign_that_is_not_open_lets_nobody_in_but_keeps_what_was_given(platform: Platform) -> None:
    kept = open_campaign(platform)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW)
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    with pytest.raises(Conflict, match="pilot takes no raters now: it is paused"):
        enter(platform, kept.key)
    assert submit(platform, rater, at, "late").stage == "paused"
    campaigns.change_state(platform, "pilot", "closed", staff_id=kept.staff_id, now=NOW)
    after = journey.next_state(platform, rater, now=NOW)
    assert (after.stage, after.progress.n_done) == ("closed", 1)


def test_a_draft_can_be_rehearsed(platform: Platform) -> None:
    kept = open_campaign(platform)
    draft = campaigns.clone_campaign(platform, "pilot", "second", staff_id=kept.staff_id, now=NOW)

    def come(*, rehearsal: bool = False) -> RaterRow:
        arrival = Arrival("second", str(draft.key), "en")
        return enrolment.enrol_rater(platform, arrival, AGREED, rehearsal=rehearsal, now=NOW)[0]

    with pytest.raises(Conflict, match="second takes no raters now: it is draft"):
        come()
    assert len(rate_all(platform, come(rehearsal=True))) == 3


def test_a_personal_link_brings_one_person_back_on_any_device(platform: Platform) -> None:
    kept = open_campaign(platform)
    key, other = campaigns.create_invitations(platform, "pilot", 2, staff_id=kept.staff_id, now=NOW)
    assert enrolment.resume_session(platform, "pilot", key, now=NOW) is None
    rater = enter(platform, key)
    submit(platform, rater, journey.next_state(platform, rater, now=NOW), "one")
    assert enter(platform, key).id == rater.id
    again = enrolment.resume_session(platform, "pilot", key, now=NOW)
    assert again is not None
    assert again[0].id == rater.id
    with platform.database.reading() as tx:
        assert raters.find_signed_in_rater(tx, again[1], now=NOW + timedelta(days=29)) == rater
        assert raters.find_signed_in_rater(tx, again[1], now=NOW + timedelta(days=31)) is None
        assert raters.find_signed_in_rater(tx, "guess", now=NOW) is None
    assert enter(platform, other).id != rater.id
    with pytest.raises(NotAllowed, match="This link is not valid"):
        enter(platform, "guess")


def test_the_same_submit_twice_is_one(platform: Platform) -> None:
    kept = open_campaign(platform)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW)
    one, two = (submit(platform, rater, at, "the same") for _ in range(2))
    assert one.assignment == two.assignment
    assert two.progress.n_done == 1
    assert loads(platform, kept.id) == [1, 1, 1]
    with platform.database.reading() as tx:
        assert at.assignment is not None
        assert len(answer_drafts.load_saves(tx, [at.assignment.id])[at.assignment.id]) == 1


def test_an_item_can_be_corrected_after_it_was_done(platform: Platform) -> None:
    """The back button: the later answer holds, the earlier one is still there."""
    kept = open_campaign(platform)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW)
    submit(platform, rater, at, "first", "No")
    assert at.assignment is not None
    after = rating.submit_answers(platform, rater, at.assignment.id, "second", given("Yes", revision=2), now=NOW)
    assert after.progress.n_done == 1
    with platform.database.reading() as tx:
        kept_saves = answer_drafts.load_saves(tx, [at.assignment.id])[at.assignment.id]
    assert [one.answers["Q_safe"].value for one in kept_saves] == ["No", "Yes"]


def test_drafts_are_there_on_the_next_device(platform: Platform) -> None:
    kept = open_campaign(platform)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW)
    assert at.assignment is not None
    assert rating.save_answers(platform, rater, at.assignment.id, "a", given("Unsure", revision=4), now=NOW) == 4
    again = journey.next_state(platform, rater, now=NOW)
    assert again.assignment == at.assignment
    assert (again.answers["Q_safe"].value, again.revision) == ("Unsure", 4)
    # From a page that was opened before and found its network again.
    assert rating.save_answers(platform, rater, at.assignment.id, "b", given("No", revision=2), now=NOW) == 4
    assert journey.next_state(platform, rater, now=NOW).answers["Q_safe"].value == "Unsure"


def test_what_a_page_had_at_hand_is_taken_before_it_was_offered(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 3).key)
    at = journey.next_state(platform, rater, now=NOW)
    assert at.following is not None
    rating.save_answers(platform, rater, at.following.id, "early", given("Unsure", revision=3), now=NOW)
    after = submit(platform, rater, at, "one")
    assert after.assignment is not None
    assert (after.assignment.id, after.revision) == (at.following.id, 3)
    assert after.answers["Q_safe"].value == "Unsure"


def test_answers_that_cannot_be_are_refused_whole(platform: Platform) -> None:
    kept = open_campaign(platform)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW)
    assert at.assignment is not None
    nothing = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Why": DraftAnswer(value="because")})
    with pytest.raises(InvalidInput, match="Q_safe"):
        rating.submit_answers(platform, rater, at.assignment.id, "a", nothing, now=NOW)
    with pytest.raises(InvalidInput, match="Perhaps"):
        rating.save_answers(platform, rater, at.assignment.id, "b", given("Perhaps"), now=NOW)
    assert journey.next_state(platform, rater, now=NOW).answers == {}


def test_a_skipped_item_goes_to_somebody_else(platform: Platform) -> None:
    kept = open_campaign(platform, 2, replication=1)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW)
    assert at.assignment is not None
    after = rating.skip_item(platform, rater, at.assignment.id, now=NOW)
    assert after.assignment is not None
    assert after.assignment.item != at.assignment.item
    assert after.progress.n_done == 0
    assert submit(platform, rater, after, "one").stage == "done"
    assert rate_all(platform, enter(platform, kept.key)) == [at.assignment.item.item_id]


def test_what_is_abandoned_goes_to_others_and_is_taken_when_it_comes_late(platform: Platform) -> None:
    kept = open_campaign(platform, 2, replication=1, reclaim_after_h=2)
    gone = enter(platform, kept.key)
    at = journey.next_state(platform, gone, now=NOW)
    later = NOW + timedelta(hours=3)
    other, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=later)
    assert journey.next_state(platform, other, now=later).stage == "rate"
    assert at.assignment is not None
    rating.submit_answers(platform, gone, at.assignment.id, "late", given(), now=later)
    with platform.database.reading() as tx:
        assert assignments.load_progress(tx, gone.id, since=NOW).n_done == 1


def test_what_was_shown_and_reclaimed_keeps_its_offer_and_does_not_come_again(platform: Platform) -> None:
    kept = open_campaign(platform, 3, replication=2, reclaim_after_h=2)
    gone = enter(platform, kept.key)
    shown = journey.next_state(platform, gone, now=NOW).assignment
    assert shown is not None
    later = NOW + timedelta(hours=3)
    other, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=later)
    journey.next_state(platform, other, now=later)
    again = rate_all(platform, gone, now=later)
    assert len(again) == 2
    assert shown.item.item_id not in again
    with platform.database.reading() as tx:
        was = assignments.find_assignment(tx, gone.id, shown.id)
    assert was is not None
    assert (was.state, was.offered_at) == ("reclaimed", NOW)


def test_a_rehearsal_of_a_full_campaign_shows_items(platform: Platform) -> None:
    kept = open_campaign(platform, 2, replication=1)
    rate_all(platform, enter(platform, kept.key))
    assert journey.next_state(platform, enter(platform, kept.key), now=NOW).stage == "done"
    previewing, _ = enrolment.enrol_rater(platform, Arrival("pilot", "", "en"), AGREED, rehearsal=True, now=NOW)
    assert journey.next_state(platform, previewing, now=NOW).stage == "rate"


def test_what_was_begun_is_not_reclaimed(platform: Platform) -> None:
    kept = open_campaign(platform, 1, replication=1, reclaim_after_h=2)
    slow = enter(platform, kept.key)
    at = journey.next_state(platform, slow, now=NOW)
    assert at.assignment is not None
    rating.save_answers(platform, slow, at.assignment.id, "a", given(), now=NOW)
    later = NOW + timedelta(hours=30)
    other, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=later)
    assert journey.next_state(platform, other, now=later).stage == "wait"


def test_who_finds_nothing_left_waits_for_what_others_leave(platform: Platform) -> None:
    kept = open_campaign(platform, 2, replication=1, reclaim_after_h=2)
    holding, waiting = enter(platform, kept.key), enter(platform, kept.key)
    at = journey.next_state(platform, holding, now=NOW)
    assert journey.next_state(platform, waiting, now=NOW).stage == "wait"
    submit(platform, holding, at, "one")
    assert journey.next_state(platform, waiting, now=NOW).stage == "wait"
    later = NOW + timedelta(hours=3)
    assert len(rate_all(platform, waiting, now=later)) == 1
    assert journey.next_state(platform, waiting, now=later).stage == "done"


def test_what_must_not_be_shown_is_shown_to_nobody(platform: Platform) -> None:
    kept = open_campaign(platform, 3)
    one, other, third = (enter(platform, kept.key) for _ in range(3))
    at = journey.next_state(platform, one, now=NOW).assignment
    assert at is not None
    journey.next_state(platform, other, now=NOW)
    for _ in range(2):
        rating.report_item(platform, one, "illegal", "Look at this.", assignment_id=at.id, now=NOW)
    for rater in (one, other, third):
        assert at.item.item_id not in rate_all(platform, rater)
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(NoticeTable)) == 1
        assert tx.scalar(select(ItemTable.load).where(ItemTable.withheld)) == 0


def test_what_was_reported_is_shown_again_where_an_owner_says_so(platform: Platform) -> None:
    kept = open_campaign(platform, 1)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW).assignment
    assert at is not None
    rating.report_item(platform, rater, "illegal", "Look at this.", assignment_id=at.id, now=NOW)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=kept.staff_id).notices
    assert rate_all(platform, enter(platform, kept.key)) == []
    overview.settle_notice(platform, "pilot", notice.id, show_again=True, staff_id=kept.staff_id, now=NOW)
    assert rate_all(platform, enter(platform, kept.key)) == [at.item.item_id]


def test_who_has_finished_does_not_begin_again(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 1).key)
    rate_all(platform, rater)
    assert rating.resume_rating(platform, rater, now=NOW).rater.state == "finished"


def test_a_day_has_an_end(platform: Platform) -> None:
    kept = open_campaign(platform, 5, most_a_day=2)
    rater = enter(platform, kept.key)
    assert len(rate_all(platform, rater)) == 2
    assert journey.next_state(platform, rater, now=NOW).stage == "enough"
    assert journey.next_state(platform, rater, now=NOW + timedelta(hours=25)).stage == "rate"


def test_who_stops_can_go_on(platform: Platform) -> None:
    kept = open_campaign(platform, 3, demographics=ABOUT_YOU)
    rater = enter(platform, kept.key)
    submit(platform, rater, journey.next_state(platform, rater, now=NOW), "one")
    assert rating.stop_rating(platform, rater, now=NOW).stage == "demographics"
    assert rating.resume_rating(platform, rater, now=NOW).stage == "rate"


def test_a_changed_consent_text_is_asked_about_again(platform: Platform) -> None:
    kept = open_campaign(platform)
    rater = enter(platform, kept.key)
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    changed = definition(
        consent={
            "text": "We keep your answers, and show them to more people.",
            "purposes": [{"name": "rating", "text": "My answers may be analysed.", "required": True}],
        }
    )
    campaigns.revise_campaign(platform, "pilot", changed, staff_id=kept.staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=kept.staff_id, now=NOW)
    assert journey.next_state(platform, rater, now=NOW).stage == "consent"
    with pytest.raises(NotAllowed):
        enrolment.renew_consent(platform, rater, {"rating": False}, now=NOW)
    assert enrolment.renew_consent(platform, rater, {"rating": True}, now=NOW).stage == "rate"


def test_withdrawal_erases_and_gives_the_items_back(platform: Platform) -> None:
    kept = open_campaign(platform, 2, replication=1, demographics=ABOUT_YOU)
    rater = enter(platform, kept.key)
    rate_all(platform, rater)
    rating.declare_attributes(platform, rater, {"rater_age": "old"}, now=NOW)
    rating.report_item(platform, rater, "help", "I am Jane Doe.", assignment_id=None, now=NOW)
    assert withdrawal.withdraw_rater(platform, rater.id, now=NOW) == 2
    assert withdrawal.withdraw_rater(platform, rater.id, now=NOW) == 0
    assert loads(platform, kept.id) == [0, 0]
    with platform.database.reading() as tx:
        assert raters.find_declaration(tx, rater.id) is None
        gone = raters.find_rater(tx, rater.id)
    assert gone is not None
    assert journey.next_state(platform, gone, now=NOW).stage == "withdrawn"
    with pytest.raises(NotAllowed, match="nothing more is kept of you"):
        rating.report_item(platform, rater, "help", "And another thing.", assignment_id=None, now=NOW)
    with platform.database.reading() as tx:
        for theirs in (ConsentTable, DeclarationTable, NoticeTable, SessionTable, AssignmentTable):
            assert not tx.scalar(select(func.count()).where(theirs.rater_id == rater.id)), theirs.__tablename__
    assert len(rate_all(platform, enter(platform, kept.key))) == 2
    with pytest.raises(NotFound):
        withdrawal.withdraw_rater(platform, "nobody", now=NOW)


def test_nobody_rates_for_somebody_else(platform: Platform) -> None:
    kept = open_campaign(platform)
    one, other = enter(platform, kept.key), enter(platform, kept.key)
    at = journey.next_state(platform, one, now=NOW)
    assert at.assignment is not None
    for act in (
        lambda: rating.save_answers(platform, other, at.assignment.id, "a", given(), now=NOW),
        lambda: rating.submit_answers(platform, other, at.assignment.id, "b", given(), now=NOW),
        lambda: rating.skip_item(platform, other, at.assignment.id, now=NOW),
        lambda: rating.report_item(platform, other, "help", "", assignment_id=at.assignment.id, now=NOW),
    ):
        with pytest.raises(NotFound, match="There is no such item among yours"):
            act()
