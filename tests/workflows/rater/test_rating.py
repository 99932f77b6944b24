"""Rating of items by one rater."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW, definition, items, open_campaign
from tests.support.raters import enter, make_save, rate_all, submit

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer, answer_time_ms
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import answer_drafts, assignments, raters
from dissensus.store import campaigns as stored
from dissensus.store import items as items_store
from dissensus.store.answer_drafts import AnswerTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.audit_log import EventTable
from dissensus.store.consents import ConsentTable
from dissensus.store.identity.sessions import SessionTable
from dissensus.store.items import ItemTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import DeclarationTable, RaterRow
from dissensus.workflows.campaign import audit, campaigns, notices, overview
from dissensus.workflows.campaign import items as campaign_items
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival


def test_a_visit_from_consent_to_demographics(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, demographics=ABOUT_YOU)
    rater = enter(platform, campaign.key)
    assert sorted(rate_all(platform, rater)) == ["item-0", "item-1", "item-2"]
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "demographics"
    with pytest.raises(InvalidInput, match="rater_age"):
        rating.declare_attributes(platform, rater, {}, now=NOW)
    end = rating.declare_attributes(platform, rater, {"rater_age": "Prefer not to say"}, now=NOW)
    assert end.stage == "done"
    assert (end.progress.n_done, end.progress.n_open) == (3, 0)
    with platform.database.reading() as tx:
        assert raters.find_declaration(tx, rater.id) == {"rater_age": "Prefer not to say"}


def test_demographics_can_come_first(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, demographics=ABOUT_YOU, demographics_position="before")
    rater = enter(platform, campaign.key)
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "demographics"
    assert rating.declare_attributes(platform, rater, {"rater_age": "old"}, now=NOW).stage == "rate"


def test_the_last_declaration_holds_even_if_the_clock_goes_back(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, demographics=ABOUT_YOU).key)
    for age, now in (("young", NOW), ("old", NOW - timedelta(hours=1)), ("young", NOW), ("old", NOW)):
        rating.declare_attributes(platform, rater, {"rater_age": age}, now=now)
        with platform.database.reading() as tx:
            assert raters.find_declaration(tx, rater.id) == {"rater_age": age}


def test_positions_of_each_rater_begin_at_0(platform: Platform) -> None:
    campaign = open_campaign(platform, 6)
    visitors = [enter(platform, campaign.key) for _ in range(3)]
    for rater in visitors:
        rate_all(platform, rater)
    query = select(AssignmentTable.rater_id, AssignmentTable.position).order_by(AssignmentTable.position)
    with platform.database.reading() as tx:
        rows = tx.execute(query).all()
    for rater in visitors:
        assert [position for rater_id, position in rows if rater_id == rater.id] == list(range(6))


def test_each_rater_has_a_different_order(platform: Platform) -> None:
    campaign = open_campaign(platform, 12)
    orders = [rate_all(platform, enter(platform, campaign.key)) for _ in range(4)]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert len({tuple(order) for order in orders}) == 4


def test_loads_are_even_and_never_exceed_the_replication(platform: Platform) -> None:
    campaign = open_campaign(platform, 10, replication=2, max_items=5)
    first = [rate_all(platform, enter(platform, campaign.key)) for _ in range(2)]
    assert sorted(first[0] + first[1]) == sorted(f"item-{i}" for i in range(10))
    later_orders = [rate_all(platform, enter(platform, campaign.key)) for _ in range(3)]
    assert [len(one) for one in later_orders] == [5, 5, 0]
    assert load_loads(platform, campaign.id) == [2] * 10


def load_loads(platform: Platform, campaign_id: str) -> list[int]:
    with platform.database.reading() as tx:
        return [int(load) for load in assignments.load_item_loads(tx, campaign_id, "nobody").loads]


def test_refused_consent_stores_no_rater(platform: Platform) -> None:
    campaign = open_campaign(platform)
    for purposes in ({}, {"rating": False, "release": True}):
        with pytest.raises(NotAllowed, match="Nothing about you was stored"):
            enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), purposes, now=NOW)
    with pytest.raises(InvalidInput, match="'spying' is not a purpose"):
        enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), {"spying": True}, now=NOW)
    with platform.database.reading() as tx:
        assert stored.get_campaign(tx, campaign.id).n_raters == 0


def test_a_paused_campaign_admits_nobody_and_stores_late_answers(platform: Platform) -> None:
    campaign = open_campaign(platform)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(Conflict, match="pilot takes no raters now: it is paused"):
        enter(platform, campaign.key)
    assert submit(platform, rater, state, "late").stage == "paused"
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    after = next_step.find_next_step(platform, rater, now=NOW)
    assert (after.stage, after.progress.n_done) == ("closed", 1)


def test_a_draft_can_be_rehearsed(platform: Platform) -> None:
    campaign = open_campaign(platform)
    draft = campaigns.clone_campaign(platform, "pilot", "second", staff_id=campaign.staff_id, now=NOW)

    def enter_draft(*, rehearsal: bool = False) -> RaterRow:
        arrival = Arrival("second", str(draft.key), "en")
        return enrolment.enrol_rater(platform, arrival, AGREED, rehearsal=rehearsal, now=NOW)[0]

    with pytest.raises(Conflict, match="second takes no raters now: it is draft"):
        enter_draft()
    assert len(rate_all(platform, enter_draft(rehearsal=True))) == 3


def test_a_personal_link_resumes_the_same_rater(platform: Platform) -> None:
    campaign = open_campaign(platform)
    key, other = campaigns.create_invitations(platform, "pilot", 2, staff_id=campaign.staff_id, now=NOW)
    assert enrolment.resume_session(platform, "pilot", key, now=NOW) is None
    rater = enter(platform, key)
    submit(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "one")
    assert enter(platform, key).id == rater.id
    resumed = enrolment.resume_session(platform, "pilot", key, now=NOW)
    assert resumed is not None
    assert resumed[0].id == rater.id
    with platform.database.reading() as tx:
        last = NOW + timedelta(days=30) - timedelta(seconds=1)
        assert raters.find_signed_in_rater(tx, resumed[1], now=last) == rater
        assert raters.find_signed_in_rater(tx, resumed[1], now=NOW + timedelta(days=30)) is None
        assert raters.find_signed_in_rater(tx, "guess", now=NOW) is None
    assert enter(platform, other).id != rater.id
    with pytest.raises(NotAllowed, match="This link is not valid"):
        enter(platform, "guess")


def test_a_repeated_submission_counts_once(platform: Platform) -> None:
    campaign = open_campaign(platform)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    first, second = (submit(platform, rater, state, "the same") for _ in range(2))
    assert first.assignment == second.assignment
    assert second.progress.n_done == 1
    assert load_loads(platform, campaign.id) == [1, 1, 1]
    with platform.database.reading() as tx:
        assert state.assignment is not None
        assert len(answer_drafts.load_saves(tx, [state.assignment.id])[state.assignment.id]) == 1


def test_a_submitted_item_can_be_corrected(platform: Platform) -> None:
    """The later answer holds, and the earlier one stays stored."""
    campaign = open_campaign(platform)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    submit(platform, rater, state, "first", "No")
    assert state.assignment is not None
    after = rating.submit_answers(platform, rater, state.assignment.id, "second", make_save("Yes", revision=2), now=NOW)
    assert after.progress.n_done == 1
    with platform.database.reading() as tx:
        saves = answer_drafts.load_saves(tx, [state.assignment.id])[state.assignment.id]
    assert [one.answers["Q_safe"].value for one in saves] == ["No", "Yes"]


def test_drafts_are_restored_on_another_device(platform: Platform) -> None:
    campaign = open_campaign(platform)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    assert rating.save_answers(platform, rater, state.assignment.id, "a", make_save("Unsure", revision=4), now=NOW) == 4
    again = next_step.find_next_step(platform, rater, now=NOW)
    assert again.assignment == state.assignment
    assert (again.answers["Q_safe"].value, again.revision) == ("Unsure", 4)
    # An older page sends its draft late.
    assert rating.save_answers(platform, rater, state.assignment.id, "b", make_save("No", revision=2), now=NOW) == 4
    assert next_step.find_next_step(platform, rater, now=NOW).answers["Q_safe"].value == "Unsure"


def test_drafts_of_prefetched_items_are_stored(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 3).key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.next_assignment is not None
    rating.save_answers(platform, rater, state.next_assignment.id, "early", make_save("Unsure", revision=3), now=NOW)
    after = submit(platform, rater, state, "one")
    assert after.assignment is not None
    assert (after.assignment.id, after.revision) == (state.next_assignment.id, 3)
    assert after.answers["Q_safe"].value == "Unsure"


def test_invalid_answers_are_refused_entirely(platform: Platform) -> None:
    campaign = open_campaign(platform)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    nothing = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Why": DraftAnswer(value="because")})
    with pytest.raises(InvalidInput, match="Q_safe"):
        rating.submit_answers(platform, rater, state.assignment.id, "a", nothing, now=NOW)
    with pytest.raises(InvalidInput, match="Perhaps"):
        rating.save_answers(platform, rater, state.assignment.id, "b", make_save("Perhaps"), now=NOW)
    assert next_step.find_next_step(platform, rater, now=NOW).answers == {}


def test_a_skipped_item_goes_to_another_rater(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, replication=1)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    after = rating.skip_item(platform, rater, state.assignment.id, now=NOW)
    assert after.assignment is not None
    assert after.assignment.item != state.assignment.item
    assert after.progress.n_done == 0
    assert submit(platform, rater, after, "one").stage == "done"
    assert rate_all(platform, enter(platform, campaign.key)) == [state.assignment.item.item_id]


def test_abandoned_items_are_reassigned_and_late_answers_are_stored(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, replication=1, reclaim_after_h=2)
    absent = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, absent, now=NOW)
    later = NOW + timedelta(hours=3)
    other, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=later)
    assert next_step.find_next_step(platform, other, now=later).stage == "rate"
    assert state.assignment is not None
    rating.submit_answers(platform, absent, state.assignment.id, "late", make_save(), now=later)
    with platform.database.reading() as tx:
        assert assignments.load_progress(tx, absent.id, since=NOW).n_done == 1


def test_reclaimed_items_keep_their_offer_time_and_are_not_offered_again(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, replication=2, reclaim_after_h=2)
    absent = enter(platform, campaign.key)
    assignment = next_step.find_next_step(platform, absent, now=NOW).assignment
    assert assignment is not None
    later = NOW + timedelta(hours=3)
    other, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=later)
    next_step.find_next_step(platform, other, now=later)
    later_items = rate_all(platform, absent, now=later)
    assert len(later_items) == 2
    assert assignment.item.item_id not in later_items
    with platform.database.reading() as tx:
        reclaimed = assignments.find_assignment(tx, absent.id, assignment.id)
    assert reclaimed is not None
    assert (reclaimed.state, reclaimed.offered_at) == ("reclaimed", NOW)


def test_a_preview_of_a_fully_rated_campaign_offers_items(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, replication=1)
    rate_all(platform, enter(platform, campaign.key))
    assert next_step.find_next_step(platform, enter(platform, campaign.key), now=NOW).stage == "done"
    previewing, _ = enrolment.enrol_rater(platform, Arrival("pilot", "", "en"), AGREED, rehearsal=True, now=NOW)
    assert next_step.find_next_step(platform, previewing, now=NOW).stage == "rate"


@pytest.mark.parametrize("stops", [False, True])
def test_an_item_with_a_draft_is_reassigned_once_its_rater_is_inactive(platform: Platform, stops: bool) -> None:
    campaign = open_campaign(platform, 1, replication=1, reclaim_after_h=2)
    slow, waiting = enter(platform, campaign.key), enter(platform, campaign.key)
    state = next_step.find_next_step(platform, slow, now=NOW)
    assert state.assignment is not None
    rating.save_answers(platform, slow, state.assignment.id, "a", make_save(), now=NOW)
    soon = NOW + timedelta(hours=1)
    if stops:
        rating.stop_rating(platform, slow, now=soon)
    else:
        rating.save_answers(platform, slow, state.assignment.id, "b", make_save(revision=2), now=soon)
    for hours in (1, 2.5):
        assert next_step.find_next_step(platform, waiting, now=NOW + timedelta(hours=hours)).stage == "wait"
    later = NOW + timedelta(hours=3.5)
    assert rate_all(platform, waiting, now=later) == [state.assignment.item.item_id]
    late = rating.submit_answers(platform, slow, state.assignment.id, "c", make_save(revision=3), now=later)
    assert late.progress.n_done == 1
    with platform.database.reading() as tx:
        assert assignments.load_item_loads(tx, campaign.id, "nobody").loads.tolist() == [2]


def test_a_rater_without_items_waits_for_abandoned_ones(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, replication=1, reclaim_after_h=2)
    holding, waiting = enter(platform, campaign.key), enter(platform, campaign.key)
    state = next_step.find_next_step(platform, holding, now=NOW)
    assert next_step.find_next_step(platform, waiting, now=NOW).stage == "wait"
    submit(platform, holding, state, "one")
    assert next_step.find_next_step(platform, waiting, now=NOW).stage == "wait"
    later = NOW + timedelta(hours=3)
    assert len(rate_all(platform, waiting, now=later)) == 1
    assert next_step.find_next_step(platform, waiting, now=later).stage == "done"


def find_own(platform: Platform, rater: RaterRow, item_id: str) -> str:
    """Return the assignment of an item to a rater."""
    with platform.database.reading() as tx:
        own = assignments.list_open_assignments(tx, rater.id, most=100)
    return next(row.id for row in own if row.item.item_id == item_id)


def test_a_reported_item_is_withheld_from_everybody_after_the_second_rater(platform: Platform) -> None:
    campaign = open_campaign(platform, 3)
    first, second, third, fourth = (enter(platform, campaign.key) for _ in range(4))
    assignment = next_step.find_next_step(platform, first, now=NOW).assignment
    assert assignment is not None
    item_id = assignment.item.item_id
    next_step.find_next_step(platform, second, now=NOW)
    for text in ("Look at this.", "Look at this.", "Look again."):
        rating.report_item(platform, first, "illegal", text, assignment_id=assignment.id, now=NOW)
    assert item_id not in rate_all(platform, first)
    assert item_id in rate_all(platform, fourth)
    own = find_own(platform, second, item_id)
    rating.report_item(platform, second, "illegal", "I agree.", assignment_id=own, now=NOW)
    for rater in (second, third):
        assert item_id not in rate_all(platform, rater)
    with platform.database.reading() as tx:
        assert tx.scalar(select(ItemTable.load).where(ItemTable.withheld)) == 1


def test_a_campaign_may_withhold_items_at_the_first_report(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, reports_to_withhold=1)
    first, second, third = (enter(platform, campaign.key) for _ in range(3))
    assignment = next_step.find_next_step(platform, first, now=NOW).assignment
    assert assignment is not None
    next_step.find_next_step(platform, second, now=NOW)
    for _ in range(2):
        rating.report_item(platform, first, "illegal", "Look at this.", assignment_id=assignment.id, now=NOW)
    for rater in (first, second, third):
        assert assignment.item.item_id not in rate_all(platform, rater)
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(NoticeTable)) == 1
        assert tx.scalar(select(ItemTable.load).where(ItemTable.withheld)) == 0


def test_an_owner_decides_about_a_reported_item(platform: Platform) -> None:
    campaign = open_campaign(platform, 1)
    first, second = enter(platform, campaign.key), enter(platform, campaign.key)
    own = [next_step.find_next_step(platform, rater, now=NOW).assignment for rater in (first, second)]
    for rater, assignment in zip((first, second), own, strict=True):
        assert assignment is not None
        rating.report_item(platform, rater, "illegal", "Look at this.", assignment_id=assignment.id, now=NOW)
    latest, earlier = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    assert (latest.withheld, earlier.withheld) == (True, True)
    assert rate_all(platform, enter(platform, campaign.key)) == []
    settle = partial(notices.settle_notice, platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    settle(earlier.id, show_again=True)
    # Both reports are settled by it.
    assert overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).n_notices == 0
    third, fourth = enter(platform, campaign.key), enter(platform, campaign.key)
    # After the decision, reports withhold the item from their raters alone.
    for rater in (third, fourth):
        assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
        assert assignment is not None
        rating.report_item(platform, rater, "illegal", "Again.", assignment_id=assignment.id, now=NOW)
    assert rate_all(platform, third) == []
    assert rate_all(platform, enter(platform, campaign.key)) == ["item-0"]
    settle(overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices[0].id, show_again=False)
    assert rate_all(platform, enter(platform, campaign.key)) == []


def report_next_item(platform: Platform, rater: RaterRow) -> None:
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    rating.report_item(platform, rater, "illegal", "bad", assignment_id=assignment.id, now=NOW)


def test_a_decision_to_show_an_item_outlives_the_withdrawal_of_its_reporter(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, reports_to_withhold=2)
    reporter = enter(platform, campaign.key)
    report_next_item(platform, reporter)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    notices.settle_notice(platform, "pilot", notice.id, show_again=True, staff_id=campaign.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, reporter.id, now=NOW)
    for rater in (enter(platform, campaign.key), enter(platform, campaign.key)):
        report_next_item(platform, rater)
    assert rate_all(platform, enter(platform, campaign.key)) == ["item-0"]
    assert audit.audit_campaign(platform, "pilot").holds


def test_a_decision_to_withhold_an_item_outlives_the_withdrawal_of_its_reporter(platform: Platform) -> None:
    campaign = open_campaign(platform, 1)
    reporter = enter(platform, campaign.key)
    report_next_item(platform, reporter)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    notices.settle_notice(platform, "pilot", notice.id, staff_id=campaign.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, reporter.id, now=NOW)
    plan = campaign_items.plan_withholding(platform, "pilot", [0], withheld=False, staff_id=campaign.staff_id)
    assert (plan.changing, [reason for _, reason in plan.unchanged]) == (
        (),
        ["it was withheld when a report of it was settled"],
    )


def test_one_hostile_rater_cannot_stop_a_campaign(platform: Platform) -> None:
    # More items than are planned at once.
    campaign = open_campaign(platform, 25, replication=2)
    hostile, honest = enter(platform, campaign.key), enter(platform, campaign.key)
    for number in range(25):
        now = NOW + timedelta(minutes=10 * number)
        assignment = next_step.find_next_step(platform, hostile, now=now).assignment
        assert assignment is not None
        rating.report_item(platform, hostile, "illegal", f"bad {number}", assignment_id=assignment.id, now=now)
    assert len(rate_all(platform, honest, now=NOW)) == 25
    assert len(rate_all(platform, enter(platform, campaign.key), now=NOW)) == 25


@pytest.mark.parametrize(("personal", "withheld"), [(True, {True}), (False, {False})])
def test_an_address_is_one_reporter_unless_links_are_personal(
    platform: Platform, *, personal: bool, withheld: set[bool]
) -> None:
    campaign = open_campaign(platform, 1)
    keys: list[str | None] = [campaign.key, campaign.key]
    if personal:
        keys = list(campaigns.create_invitations(platform, "pilot", 2, staff_id=campaign.staff_id, now=NOW))
    for rater in (enter(platform, key) for key in keys):
        assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
        assert assignment is not None
        rating.report_item(
            platform, rater, "illegal", "bad", assignment_id=assignment.id, address="the same network", now=NOW
        )
    with platform.database.reading() as tx:
        assert set(tx.scalars(select(ItemTable.withheld))) == withheld


def test_finished_raters_continue_with_items_that_come_back(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, reports_to_withhold=1, pay={"currency": "EUR", "hourly_rate": 1200})
    reporter, rater = enter(platform, campaign.key), enter(platform, campaign.key)
    assignment = next_step.find_next_step(platform, reporter, now=NOW).assignment
    assert assignment is not None
    rating.report_item(platform, reporter, "illegal", "bad", assignment_id=assignment.id, now=NOW)
    assert len(rate_all(platform, rater)) == 2
    assert len(rate_all(platform, reporter)) == 2
    assert not next_step.find_next_step(platform, rater, now=NOW).has_more
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    notices.settle_notice(platform, "pilot", notice.id, show_again=True, staff_id=campaign.staff_id, now=NOW)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert (state.stage, state.has_more) == ("done", True)
    assert not next_step.find_next_step(platform, reporter, now=NOW).has_more
    state = rating.resume_rating(platform, rater, now=NOW)
    # The state stays, and with it the pay for having finished.
    assert (state.stage, state.rater.state) == ("rate", "finished")
    assert state.assignment is not None
    assert state.assignment.item.item_id == assignment.item.item_id
    assert submit(platform, rater, state, "again").stage == "done"
    assert not next_step.find_next_step(platform, rater, now=NOW).has_more


def test_finished_raters_who_continue_may_stop(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, reports_to_withhold=1, replication=2)
    reporter, rater, other = (enter(platform, campaign.key) for _ in range(3))
    assignment = next_step.find_next_step(platform, reporter, now=NOW).assignment
    assert assignment is not None
    rating.report_item(platform, reporter, "illegal", "bad", assignment_id=assignment.id, now=NOW)
    rate_all(platform, rater)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    notices.settle_notice(platform, "pilot", notice.id, show_again=True, staff_id=campaign.staff_id, now=NOW)
    assert rating.resume_rating(platform, rater, now=NOW).stage == "rate"
    state = rating.stop_rating(platform, rater, now=NOW)
    assert (state.stage, state.rater.state) == ("done", "finished")
    # The item is free for others again.
    assert rate_all(platform, other) == [assignment.item.item_id]
    assert audit.audit_campaign(platform, "pilot").holds


def test_superseded_drafts_are_deleted(platform: Platform) -> None:
    campaign = open_campaign(platform, 2)
    rater = enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    assignment_id = state.assignment.id
    for number in range(1, 201):
        answer = ("No", "Unsure", "Yes")[number % 3]
        save = make_save(answer, revision=number, visible_ms=number)
        revision = rating.save_answers(platform, rater, assignment_id, f"draft {number}", save, now=NOW)
        assert revision == number
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert (state.revision, state.answers["Q_safe"].value) == (200, "Yes")
    elsewhere = replace(make_save("No", revision=201, visible_ms=9_000), visit="another")
    rating.save_answers(platform, rater, assignment_id, "elsewhere", elsewhere, now=NOW)
    with platform.database.reading() as tx:
        assert len(answer_drafts.load_saves(tx, [assignment_id])[assignment_id]) <= 51
    final = make_save("No", revision=202, visible_ms=1_000)
    for key in ("final", "final"):
        rating.submit_answers(platform, rater, assignment_id, key, final, now=NOW)
    with platform.database.reading() as tx:
        saves = answer_drafts.load_saves(tx, [assignment_id])[assignment_id]
        assert tx.scalar(select(func.count()).select_from(AnswerTable)) == 2
    # The other visit was longer than nothing, and its time counts.
    assert [one.visit for one in saves] == ["another", "v"]
    assert answer_time_ms(saves) == 10_000
    assert audit.audit_campaign(platform, "pilot").holds


def test_raters_who_answer_nothing_hold_items_for_half_an_hour(platform: Platform) -> None:
    campaign = open_campaign(platform, 5, replication=2)
    silent = [enter(platform, campaign.key) for _ in range(2)]
    for rater in silent:
        assert next_step.find_next_step(platform, rater, now=NOW).stage == "rate"
    other, last = enter(platform, campaign.key), NOW + timedelta(minutes=30)
    assert next_step.find_next_step(platform, other, now=last).stage == "wait"
    # Looking at the page again does not prolong it.
    next_step.find_next_step(platform, silent[0], now=last)
    assert len(rate_all(platform, other, now=last + timedelta(seconds=1))) == 5


def test_raters_who_have_answered_hold_items_for_longer(platform: Platform) -> None:
    campaign = open_campaign(platform, 5, replication=1)
    rater, other = enter(platform, campaign.key), enter(platform, campaign.key)
    submit(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "first")
    last = NOW + timedelta(hours=48)
    assert next_step.find_next_step(platform, other, now=last).stage == "wait"
    assert next_step.find_next_step(platform, other, now=last + timedelta(seconds=1)).stage == "rate"


def test_a_finished_rater_cannot_resume(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 1).key)
    rate_all(platform, rater)
    step = rating.resume_rating(platform, rater, now=NOW)
    assert (step.stage, step.rater.state) == ("done", "finished")


def test_the_number_of_items_a_day_is_limited(platform: Platform) -> None:
    campaign = open_campaign(platform, 5, max_per_day=2)
    rater = enter(platform, campaign.key)
    assert len(rate_all(platform, rater)) == 2
    tomorrow = NOW + timedelta(hours=24)
    assert next_step.find_next_step(platform, rater, now=tomorrow - timedelta(seconds=1)).stage == "enough"
    assert next_step.find_next_step(platform, rater, now=tomorrow).stage == "rate"


def test_a_stopped_rater_can_resume(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, demographics=ABOUT_YOU)
    rater = enter(platform, campaign.key)
    submit(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "one")
    assert rating.stop_rating(platform, rater, now=NOW).stage == "done"
    assert rating.resume_rating(platform, rater, now=NOW).stage == "rate"


def test_a_rater_who_stops_need_not_answer_questions_about_themselves(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, demographics=ABOUT_YOU, demographics_position="before")
    rater = enter(platform, campaign.key)
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "demographics"
    assert rating.stop_rating(platform, rater, now=NOW).stage == "done"
    assert rating.resume_rating(platform, rater, now=NOW).stage == "demographics"


def change_consent_text(platform: Platform, campaign: Campaign, text: str, *, staff_id: str) -> None:
    """Pause an open campaign, and open it again with another consent text."""
    changed = replace(campaign, consent=replace(campaign.consent, text={"en": text}))
    campaigns.change_state(platform, campaign.name, "paused", staff_id=staff_id, now=NOW)
    campaigns.revise_campaign(platform, campaign.name, changed, staff_id=staff_id, now=NOW)
    campaigns.change_state(platform, campaign.name, "open", staff_id=staff_id, now=NOW)


def test_a_changed_consent_text_requires_new_consent(platform: Platform) -> None:
    campaign = open_campaign(platform)
    rater = enter(platform, campaign.key)
    for text in ("We show your answers to more people.", "We keep your answers for ten years."):
        change_consent_text(platform, definition(), text, staff_id=campaign.staff_id)
        assert next_step.find_next_step(platform, rater, now=NOW).stage == "consent"
        with pytest.raises(NotAllowed, match="only if you agree to the required purposes"):
            enrolment.renew_consent(platform, rater, {"rating": False}, now=NOW)
        assert enrolment.renew_consent(platform, rater, {"rating": True}, now=NOW).stage == "rate"


def test_consent_depends_on_the_texts_of_one_campaign(platform: Platform) -> None:
    campaign, second = open_campaign(platform), definition("second")
    owner = campaign.staff_id
    rater = enter(platform, campaign.key)
    campaigns.create_campaign(platform, second, items(1), staff_id=owner, now=NOW)
    campaigns.change_state(platform, "second", "open", staff_id=owner, now=NOW)
    for text in ("We keep your answers for a year.", "We keep your answers for two years."):
        change_consent_text(platform, second, text, staff_id=owner)
        assert next_step.find_next_step(platform, rater, now=NOW).stage == "rate"
    change_consent_text(platform, definition(), "We keep your answers for a year.", staff_id=owner)
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "consent"


def test_a_withdrawal_erases_the_rater_and_returns_the_items(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, replication=1, demographics=ABOUT_YOU)
    rater = enter(platform, campaign.key)
    rate_all(platform, rater)
    rating.declare_attributes(platform, rater, {"rater_age": "old"}, now=NOW)
    rating.report_item(platform, rater, "help", "I am Jane Doe.", assignment_id=None, now=NOW)
    assert withdrawal.withdraw_rater(platform, rater.id, now=NOW) == 2
    assert withdrawal.withdraw_rater(platform, rater.id, now=NOW) == 0
    assert load_loads(platform, campaign.id) == [0, 0]
    with platform.database.reading() as tx:
        assert raters.find_declaration(tx, rater.id) is None
        withdrawn = raters.find_rater(tx, rater.id)
    assert withdrawn is not None
    assert next_step.find_next_step(platform, withdrawn, now=NOW).stage == "withdrawn"
    with pytest.raises(NotAllowed, match="nothing more is stored about you"):
        rating.report_item(platform, rater, "help", "And another thing.", assignment_id=None, now=NOW)
    with platform.database.reading() as tx:
        for table in (ConsentTable, DeclarationTable, NoticeTable, SessionTable, AssignmentTable):
            assert not tx.scalar(select(func.count()).where(table.rater_id == rater.id)), table.__tablename__
    assert len(rate_all(platform, enter(platform, campaign.key))) == 2
    with pytest.raises(NotFound, match="There is no such rater"):
        withdrawal.withdraw_rater(platform, "nobody", now=NOW)


def test_assignments_of_others_are_not_accessible(platform: Platform) -> None:
    campaign = open_campaign(platform)
    rater, other = enter(platform, campaign.key), enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    for action in (
        lambda: rating.save_answers(platform, other, state.assignment.id, "a", make_save(), now=NOW),
        lambda: rating.submit_answers(platform, other, state.assignment.id, "b", make_save(), now=NOW),
        lambda: rating.skip_item(platform, other, state.assignment.id, now=NOW),
        lambda: rating.report_item(platform, other, "help", "", assignment_id=state.assignment.id, now=NOW),
    ):
        with pytest.raises(NotFound, match="You have no such item"):
            action()


def test_a_settled_report_is_settled_once_and_an_erased_item_stays_withheld(platform: Platform) -> None:
    campaign = open_campaign(platform, 1)
    rater = enter(platform, campaign.key)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    rating.report_item(platform, rater, "illegal", "bad", assignment_id=assignment.id, now=NOW)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    with platform.database.writing() as tx:
        items_store.erase_item(tx, assignment.item_id)
        assignments.withhold_item(tx, assignment.item_id, now=NOW)
    settle = partial(notices.settle_notice, platform, "pilot", notice.id, staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(Conflict, match="erased when its author withdrew"):
        settle(show_again=True)
    for _ in range(2):
        settle(show_again=False)
    with platform.database.reading() as tx:
        assert assignments.is_withheld(tx, assignment.item_id)
        assert tx.scalar(select(func.count()).where(EventTable.kind == "notice_settled")) == 1
