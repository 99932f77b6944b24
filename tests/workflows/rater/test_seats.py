"""Seats of a quota: held, taken, given back, and never more than there are."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run
from sqlalchemy import func, select
from tests.strategies import quick
from tests.support.campaigns import AGREED, NOW, definition, items, open_campaign, owner
from tests.support.prolific_server import Prolific
from tests.support.quota_campaigns import ABOUT_YOU, AXES, DECLINED, enter, load_seat_counts, open_seat_campaign, screen
from tests.support.recruited_raters import CODES, add_submission

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.campaign.public_events import to_public_event
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.recruit.prolific import SubmissionStatus
from dissensus.store import audit_log, raters, seats
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.core.database import connect
from dissensus.store.core.orm import new_id
from dissensus.store.identity.sessions import SessionTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import DeclarationTable, RaterRow, RaterTable
from dissensus.store.seats import SeatCounts, SeatTable
from dissensus.workflows.campaign import campaigns, quota
from dissensus.workflows.campaign.audit import link_pending_events
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, quota_screening, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import cell_keys, check_entry, load_entry_links
from dissensus.workflows.rater.next_step import RaterStep
from dissensus.workflows.rater.recruitment import set_submission_status


def rate_all(platform: Platform, rater: RaterRow, now: datetime = NOW) -> RaterStep:
    state = next_step.find_next_step(platform, rater, now=now)
    while state.stage == "rate":
        assert state.assignment is not None
        save = AnswerSave(revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        state = rating.submit_answers(platform, rater, state.assignment.id, new_id(now), save, now=now)
    return state


@pytest.mark.parametrize("source", ["screener", "recruiter"])
def test_public_events_hold_no_cell_of_a_rater(platform: Platform, source: str) -> None:
    campaign = open_seat_campaign(platform, seats=1, quota={"source": source})
    with platform.database.reading() as tx:
        key = cell_keys(campaign, platform.definitions.load(tx, campaign)).get("old × small", campaign.key)
    rater = enter(platform, key)
    if source == "screener":
        assert screen(platform, rater, "old") is not None
        assert screen(platform, enter(platform, key), "old") is None
    link_pending_events(platform)
    with platform.database.reading() as tx:
        entries = tuple(audit_log.list_entries_after(tx, campaign.id, after=0, most=100))
    kinds = {entry.event.kind for entry in entries if entry.event is not None and "cell" in entry.event.content}
    assert kinds == {"entered", *({"declared", "turned_away"} if source == "screener" else ())}
    assert not [event for event in map(to_public_event, entries) if "cell" in event.content]


def test_a_visit_with_a_seat(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    rater = enter(platform, campaign.key)
    screener_state = next_step.find_next_step(platform, rater, now=NOW)
    assert screener_state.stage == "screener"
    assert screener_state.about is not None
    assert [question.name for question in screener_state.about.questions] == ["rater_age", "rater_size"]
    step = screen(platform, rater, "old")
    assert step is not None
    assert (step.stage, step.rater.cell) == ("rate", "old × small")
    assert load_seat_counts(platform, campaign.id)["old × small"] == SeatCounts(held=1)
    last = rate_all(platform, rater)
    assert load_seat_counts(platform, campaign.id)["old × small"] == SeatCounts(taken=1)
    assert last.stage == "demographics"
    assert last.about is not None
    assert [question.name for question in last.about.questions] == ["rater_pet"]
    later = NOW + timedelta(minutes=1)
    assert rating.declare_attributes(platform, rater, {"rater_pet": "cat"}, now=later).stage == "done"
    with platform.database.reading() as tx:
        declaration = raters.find_declaration(tx, rater.id)
    assert declaration == {"rater_age": "old", "rater_size": "small", "rater_pet": "cat"}


def test_conditional_questions_follow_the_answers_of_the_screener(platform: Platform) -> None:
    rater = enter(platform, open_seat_campaign(platform).key)
    screen(platform, rater, "young")
    assert rate_all(platform, rater).stage == "done"


def test_raters_who_decline_get_a_seat_of_the_rest(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    step = screen(platform, enter(platform, campaign.key), DECLINED)
    assert step is not None
    assert (step.stage, step.rater.cell) == ("rate", "rest")


@pytest.mark.parametrize(
    ("freed", "then"),
    [
        (SubmissionStatus.TIMED_OUT, SubmissionStatus.AWAITING_REVIEW),
        (SubmissionStatus.REJECTED, SubmissionStatus.APPROVED),
    ],
)
def test_finished_raters_whose_submission_counts_after_all_take_a_seat_again(
    platform: Platform, freed: SubmissionStatus, then: SubmissionStatus
) -> None:
    campaign, prolific = open_seat_campaign(platform, 1, recruit=CODES), Prolific()
    first = enter(platform, campaign.key)
    submission = add_submission(platform, prolific, campaign.id, first.id, "ACTIVE")
    screen(platform, first)
    rate_all(platform, first)
    set_submission_status(platform, submission, freed, now=NOW)
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(free=1)
    set_submission_status(platform, submission, then, now=NOW)
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(taken=1)
    assert screen(platform, enter(platform, campaign.key)) is None


def test_finished_raters_get_no_seat_that_another_rater_holds(platform: Platform) -> None:
    campaign, prolific = open_seat_campaign(platform, 1, recruit=CODES), Prolific()
    first, second = enter(platform, campaign.key), enter(platform, campaign.key)
    submission = add_submission(platform, prolific, campaign.id, first.id, "ACTIVE")
    screen(platform, first)
    rate_all(platform, first)
    set_submission_status(platform, submission, SubmissionStatus.TIMED_OUT, now=NOW)
    assert screen(platform, second) is not None
    set_submission_status(platform, submission, SubmissionStatus.APPROVED, now=NOW)
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(held=1)
    rate_all(platform, second)
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(taken=1)


def test_participants_who_rated_nothing_take_no_seat_again(platform: Platform) -> None:
    campaign, prolific = open_seat_campaign(platform, 1, recruit=CODES), Prolific()
    rater = enter(platform, campaign.key)
    submission = add_submission(platform, prolific, campaign.id, rater.id, "ACTIVE")
    screen(platform, rater)
    for status in (SubmissionStatus.TIMED_OUT, SubmissionStatus.APPROVED):
        set_submission_status(platform, submission, status, now=NOW)
        assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(free=1)


def test_rejected_raters_are_erased_and_counted(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    (key,) = campaigns.create_invitations(platform, "pilot", 1, staff_id=campaign.staff_id, now=NOW)
    assert screen(platform, enter(platform, campaign.key)) is not None
    late = enter(platform, key)
    rating.report_item(platform, late, "help", "Where am I?", assignment_id=None, now=NOW)
    assert screen(platform, late) is None
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(held=1, screened=1)
    with platform.database.reading() as tx:
        assert raters.find_rater(tx, late.id) is None
        for column in (
            RaterTable.id,
            ConsentTable.rater_id,
            DeclarationTable.rater_id,
            SessionTable.rater_id,
            NoticeTable.rater_id,
        ):
            assert not tx.scalar(select(func.count()).where(column == late.id))
    with pytest.raises(NotAllowed, match="not valid"):
        enter(platform, key)


def test_a_cell_is_chosen_once(platform: Platform) -> None:
    rater = enter(platform, open_seat_campaign(platform).key)
    screen(platform, rater)
    with pytest.raises(Conflict, match="answered this already"):
        screen(platform, rater, "old")


def test_missing_and_invalid_answers_are_refused(platform: Platform) -> None:
    rater = enter(platform, open_seat_campaign(platform).key)
    with pytest.raises(InvalidInput, match="rater_size: There is no answer"):
        quota_screening.screen_rater(platform, rater, {"rater_age": "young"}, now=NOW)
    with pytest.raises(InvalidInput, match="'rater_pet': There is no such question"):
        quota_screening.screen_rater(
            platform, rater, {"rater_age": "old", "rater_size": "tall", "rater_pet": "cat"}, now=NOW
        )
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "screener"


def test_a_campaign_without_a_quota_has_no_screener(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, demographics=ABOUT_YOU).key)
    with pytest.raises(Conflict, match="asks nothing"):
        screen(platform, rater)


def test_an_abandoned_seat_goes_to_the_next_rater(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    absent = enter(platform, campaign.key)
    screen(platform, absent)
    last = NOW + timedelta(minutes=60)
    later = last + timedelta(seconds=1)
    assert screen(platform, enter(platform, campaign.key, now=last), now=last) is None
    other = enter(platform, campaign.key, now=later)
    step = screen(platform, other, now=later)
    assert step is not None
    assert step.stage == "rate"
    assert next_step.find_next_step(platform, absent, now=later).stage == "full"
    withdrawal.withdraw_rater(platform, other.id, now=later)
    assert next_step.find_next_step(platform, absent, now=later).stage == "rate"


def test_a_free_seat_goes_before_an_abandoned_one_and_this_before_a_later_one(platform: Platform) -> None:
    campaign = open_seat_campaign(platform, seats=3)
    first, second = enter(platform, campaign.key), enter(platform, campaign.key)
    for rater, minutes in ((second, 1), (first, 2)):
        screen(platform, rater, now=NOW + timedelta(minutes=minutes))
    later = NOW + timedelta(hours=2)
    with_seats = []
    for _ in range(2):
        screen(platform, enter(platform, campaign.key, now=later), now=later)
        with platform.database.reading() as tx:
            with_seats.append([seats.has_seat(tx, rater.id) for rater in (first, second)])
    assert with_seats == [[True, True], [True, False]]


def test_late_answers_are_stored_without_a_seat(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    absent = enter(platform, campaign.key)
    step = screen(platform, absent)
    assert step is not None
    assert step.assignment is not None
    later = NOW + timedelta(hours=2)
    screen(platform, enter(platform, campaign.key, now=later), now=later)
    save = AnswerSave(revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
    after = rating.submit_answers(platform, absent, step.assignment.id, "late", save, now=later)
    assert (after.stage, after.progress.n_done) == ("full", 1)


def test_a_stop_frees_the_seat(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    stopping = enter(platform, campaign.key)
    screen(platform, stopping)
    rating.stop_rating(platform, stopping, now=NOW)
    assert screen(platform, enter(platform, campaign.key)) is not None
    assert rating.resume_rating(platform, stopping, now=NOW).stage == "full"


def test_a_finished_rater_keeps_the_seat(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    done = enter(platform, campaign.key)
    screen(platform, done)
    rate_all(platform, done)
    later = NOW + timedelta(days=9)
    assert screen(platform, enter(platform, campaign.key, now=later), now=later) is None
    withdrawal.withdraw_rater(platform, done.id, now=later)
    assert screen(platform, enter(platform, campaign.key, now=later), now=later) is not None


def test_a_rater_who_rated_nothing_takes_no_seat(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    skipping = enter(platform, campaign.key)
    step = screen(platform, skipping)
    while step is not None and step.assignment is not None:
        step = rating.skip_item(platform, skipping, step.assignment.id, now=NOW)
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(free=1)


def test_losing_the_seat_returns_unstarted_items(platform: Platform) -> None:
    campaign = open_seat_campaign(platform, replication=1)
    screen(platform, enter(platform, campaign.key))
    later = NOW + timedelta(hours=2)
    other = enter(platform, campaign.key, now=later)
    screen(platform, other, now=later)
    assert rate_all(platform, other, later).progress.n_done == 2


def test_a_pause_extends_held_seats(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    rater = enter(platform, campaign.key)
    screen(platform, rater)
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    reopened = NOW + timedelta(days=3)
    campaigns.change_state(platform, "pilot", "open", staff_id=campaign.staff_id, now=reopened)
    soon, late = reopened + timedelta(minutes=30), reopened + timedelta(minutes=61)
    assert screen(platform, enter(platform, campaign.key, now=soon), now=soon) is None
    assert screen(platform, enter(platform, campaign.key, now=late), now=late) is not None


def test_a_reduced_cell_admits_nobody_until_a_seat_is_free(platform: Platform) -> None:
    campaign = open_seat_campaign(platform, seats=3)
    inside = [enter(platform, campaign.key) for _ in range(3)]
    for rater in inside:
        screen(platform, rater)
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    about = {"axes": AXES, "seats": 1, "rest": 1, "hold_minutes": 60}
    smaller = definition(demographics=ABOUT_YOU, quota=about)
    campaigns.revise_campaign(platform, "pilot", smaller, staff_id=campaign.staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=campaign.staff_id, now=NOW)
    for rater in inside[:2]:
        withdrawal.withdraw_rater(platform, rater.id, now=NOW)
        assert screen(platform, enter(platform, campaign.key)) is None
    withdrawal.withdraw_rater(platform, inside[2].id, now=NOW)
    assert screen(platform, enter(platform, campaign.key)) is not None
    assert screen(platform, enter(platform, campaign.key)) is None


def test_a_rehearsal_is_screened_and_takes_no_seat(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    for _ in range(3):
        step = screen(platform, enter(platform, "", rehearsal=True))
        assert step is not None
        assert step.stage == "rate"
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(free=1)


def test_seats_can_be_added_and_removed_while_paused(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    first = enter(platform, campaign.key)
    screen(platform, first)
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)

    def quota_definition(n: int, **changes: Any) -> Any:
        about = {"axes": AXES, "seats": n, "rest": 1, "hold_minutes": 60, **changes}
        return definition(demographics=ABOUT_YOU, quota=about)

    campaigns.revise_campaign(platform, "pilot", quota_definition(3), staff_id=campaign.staff_id, now=NOW)
    assert load_seat_counts(platform, campaign.id)["young × small"] == SeatCounts(free=2, held=1)
    campaigns.revise_campaign(platform, "pilot", quota_definition(0), staff_id=campaign.staff_id, now=NOW)
    assert load_seat_counts(platform, campaign.id) == {"young × small": SeatCounts(held=1), "rest": SeatCounts(free=1)}
    axes = {"rater_age": AXES["rater_age"]}
    with pytest.raises(Conflict, match="cells of the quota"):
        campaigns.revise_campaign(
            platform, "pilot", quota_definition(3, axes=axes), staff_id=campaign.staff_id, now=NOW
        )
    # A cell without seats admits nobody.
    campaigns.change_state(platform, "pilot", "open", staff_id=campaign.staff_id, now=NOW)
    assert screen(platform, enter(platform, campaign.key), "old") is None


def open_recruiter_campaign(platform: Platform, **changes: Any) -> tuple[Any, dict[str, str]]:
    """Open a campaign whose cells a recruiter fills; return it with the key of each cell."""
    campaign = open_seat_campaign(platform, quota={"source": "recruiter", **changes})
    links = load_entry_links(platform, "pilot", "https://rate.example", staff_id=campaign.staff_id).cells
    return campaign, {cell: link.removeprefix("https://rate.example/c/pilot?key=") for cell, link in links.items()}


def test_raters_sent_by_cell_declare_their_attributes_afterwards(platform: Platform) -> None:
    campaign, keys = open_recruiter_campaign(platform)
    assert list(keys) == ["young × small", "young × tall", "old × small", "old × tall", "rest"]
    assert len(set(keys.values())) == len(keys)
    rater = enter(platform, keys["young × small"])
    assert rater.cell == "young × small"
    assert rate_all(platform, rater).stage == "demographics"
    with pytest.raises(Conflict, match="All places of this link are taken"):
        enter(platform, keys["young × small"])
    assert check_entry(platform, "pilot", keys["young × small"], now=NOW).state == "full"
    assert check_entry(platform, "pilot", keys["old × small"], now=NOW).state == "open"
    attributes = {"rater_age": "old", "rater_size": "small", "rater_pet": "dog"}
    assert rating.declare_attributes(platform, rater, attributes, now=NOW).stage == "done"
    _, cells = quota.load_quota_progress(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    assert {cell.cell: cell.mismatched for cell in cells if cell.mismatched} == {"young × small": 1}


def test_links_of_cells_open_only_their_cell(platform: Platform) -> None:
    campaign, keys = open_recruiter_campaign(platform)
    for wrong_key in (campaign.key, "rest", keys["rest"][:-1], keys["rest"].upper()):
        with pytest.raises(NotAllowed, match="This link"):
            enter(platform, wrong_key)
    with pytest.raises(InvalidInput, match="Name the cell"):
        campaigns.create_invitations(platform, "pilot", 1, staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(NotFound, match=r"'old x small'\. Did you mean 'old × small'\?"):
        campaigns.create_invitations(platform, "pilot", 1, cell="old x small", staff_id=campaign.staff_id, now=NOW)
    (personal,) = campaigns.create_invitations(
        platform, "pilot", 1, cell="old × small", staff_id=campaign.staff_id, now=NOW
    )
    assert enter(platform, personal).cell == "old × small"


def test_without_a_recruiter_there_are_no_links_of_cells(platform: Platform) -> None:
    campaign = open_seat_campaign(platform)
    assert load_entry_links(platform, "pilot", "https://rate.example", staff_id=campaign.staff_id).cells == {}
    with pytest.raises(NotFound, match="Only a quota that the recruiter fills"):
        campaigns.create_invitations(platform, "pilot", 1, cell="old × small", staff_id=campaign.staff_id, now=NOW)


def test_a_campaign_without_free_seats_is_full_at_entry(platform: Platform) -> None:
    campaign = open_seat_campaign(
        platform, quota={"axes": {"rater_age": {"all": ["young", "old", DECLINED]}}, "rest": 0}
    )
    assert check_entry(platform, "pilot", str(campaign.key), now=NOW).state == "open"
    quota_screening.screen_rater(platform, enter(platform, campaign.key), {"rater_age": "old"}, now=NOW)
    assert check_entry(platform, "pilot", str(campaign.key), now=NOW).state == "full"
    later = NOW + timedelta(hours=2)
    assert check_entry(platform, "pilot", str(campaign.key), now=later).state == "open"
    # A pause extends held seats, which nobody else can claim.
    for state in ("paused", "open"):
        campaigns.change_state(platform, "pilot", state, staff_id=campaign.staff_id, now=later)
    assert check_entry(platform, "pilot", str(campaign.key), now=later).state == "full"


def test_balanced_items_are_rated_equally_by_each_cell(platform: Platform) -> None:
    balance = {"seats": 3, "rest": 3, "balanced": True, "axes": {"rater_age": AXES["rater_age"]}}
    campaign = open_seat_campaign(platform, 6, quota=balance, replication=6)
    for age in ("young", "old", DECLINED) * 3:
        rater = enter(platform, campaign.key)
        assert quota_screening.screen_rater(platform, rater, {"rater_age": age}, now=NOW) is not None
        rate_all(platform, rater)
    with platform.database.reading() as tx:
        rows = tx.execute(
            select(AssignmentTable.item_id, RaterTable.cell).join(RaterTable).where(AssignmentTable.state == "done")
        ).all()
    assert set(Counter(map(tuple, rows)).values()) == {2}
    assert len(rows) == 36


def test_a_withdrawn_rater_is_replaced_within_the_cell(platform: Platform) -> None:
    balance = {"seats": 4, "rest": 2, "balanced": True, "axes": {"rater_age": AXES["rater_age"]}}
    campaign = open_seat_campaign(platform, 2, quota=balance, replication=5)
    leaving = enter(platform, campaign.key)
    quota_screening.screen_rater(platform, leaving, {"rater_age": "young"}, now=NOW)
    rate_all(platform, leaving)
    withdrawal.withdraw_rater(platform, leaving.id, now=NOW)
    for age in ("young", "young", "old", "old", DECLINED):
        rater = enter(platform, campaign.key)
        quota_screening.screen_rater(platform, rater, {"rater_age": age}, now=NOW)
        rate_all(platform, rater)
    with platform.database.reading() as tx:
        cells = tx.scalars(select(RaterTable.cell).join(AssignmentTable).where(AssignmentTable.state == "done")).all()
    assert Counter(cells) == {"young": 4, "old": 4, "rest": 2}


ENTRANTS = 32


@pytest.fixture
def crowded(database_url: str) -> Iterator[Platform]:
    """A platform with a connection for each thread."""
    platform = Platform(connect(database_url, pool_size=16))
    yield platform
    platform.close()


def test_concurrent_entries_fill_exactly_the_seats(crowded: Platform) -> None:
    campaign = open_seat_campaign(crowded, seats=5)
    people = [("young", "old")[n % 2] for n in range(ENTRANTS)]

    def enter_and_screen(age: str) -> bool:
        return screen(crowded, enter(crowded, campaign.key), age) is not None

    with ThreadPoolExecutor(16) as threads:
        admitted = list(threads.map(enter_and_screen, people))
    assert Counter(age for age, inside in zip(people, admitted, strict=True) if inside) == {"young": 5, "old": 5}
    seats_by_cell = load_seat_counts(crowded, campaign.id)
    assert (
        seats_by_cell["young × small"] == seats_by_cell["old × small"] == SeatCounts(held=5, screened=ENTRANTS // 2 - 5)
    )


@dataclass
class Person:
    """An admitted rater."""

    rater: RaterRow
    seen_at: datetime
    finished: bool = False
    withdrawn: bool = False


class Seats(RuleBasedStateMachine):
    """People enter, rate, stay away, stop and withdraw, in any order."""

    N, HOLD = 2, timedelta(minutes=60)

    def __init__(self, platform: Platform, staff_id: str) -> None:
        super().__init__()
        self.platform, self.staff_id, self.now = platform, staff_id, NOW
        self.people: list[Person] = []
        self.away: Counter[str] = Counter()

    @initialize()
    def open(self) -> None:
        self.name = f"pilot-{new_id(NOW)[-12:]}"
        about = {"axes": AXES, "seats": self.N, "rest": 1, "hold_minutes": 60}
        campaign_definition = definition(self.name, demographics=ABOUT_YOU, quota=about)
        campaigns.create_campaign(self.platform, campaign_definition, items(2), staff_id=self.staff_id, now=NOW)
        self.campaign = campaigns.change_state(self.platform, self.name, "open", staff_id=self.staff_id, now=NOW)

    @rule(age=st.sampled_from(["young", "old", DECLINED]))
    def come(self, age: str) -> None:
        rater, _ = enrolment.enrol_rater(
            self.platform, Arrival(self.name, str(self.campaign.key), "en"), AGREED, now=self.now
        )
        cell = "rest" if age == DECLINED else f"{age} × small"
        n_seats = 1 if cell == "rest" else self.N
        seated = [one for one in self.people if one.rater.cell == cell and self._has_seat(one)]
        step = screen(self.platform, rater, age, now=self.now)
        if step is None:
            self.away[cell] += 1
            # A rater is rejected only if every seat of the cell is held.
            assert len(seated) == n_seats
            assert not any(self._may_lose(one) for one in seated)
            return
        staying = [one for one in seated if not self._may_lose(one) and self._has_seat(one)]
        assert len(staying) < n_seats
        self.people.append(Person(step.rater, self.now))

    @rule(data=st.data())
    def rate(self, data: st.DataObject) -> None:
        active = [person for person in self.people if not person.withdrawn]
        if active:
            person = data.draw(st.sampled_from(active))
            state = next_step.find_next_step(self.platform, person.rater, now=self.now)
            if state.stage == "rate" and state.assignment is not None:
                save = AnswerSave(
                    revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")}
                )
                state = rating.submit_answers(
                    self.platform, person.rater, state.assignment.id, new_id(self.now), save, now=self.now
                )
            person.seen_at, person.finished = (
                self.now,
                state.rater.state == "finished" or state.stage in ("demographics", "done"),
            )

    @rule(data=st.data(), action=st.sampled_from(["stop", "go on", "withdraw"]))
    def leave(self, data: st.DataObject, action: str) -> None:
        if self.people:
            person = data.draw(st.sampled_from(self.people))
            if action == "withdraw":
                withdrawal.withdraw_rater(self.platform, person.rater.id, now=self.now)
                person.withdrawn = True
            elif not person.withdrawn and not person.finished:
                (rating.stop_rating if action == "stop" else rating.resume_rating)(
                    self.platform, person.rater, now=self.now
                )
                person.seen_at = self.now

    @rule(minutes=st.sampled_from([1, 30, 61, 200]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    def _may_lose(self, person: Person) -> bool:
        return not person.finished and self.now - person.seen_at > self.HOLD

    def _has_seat(self, person: Person) -> bool:
        with self.platform.database.reading() as tx:
            return seats.has_seat(tx, person.rater.id)

    @invariant()
    def there_are_never_more_than_seats(self) -> None:
        if not hasattr(self, "campaign"):
            return
        seats_by_cell = load_seat_counts(self.platform, self.campaign.id)
        for cell, counts in seats_by_cell.items():
            assert counts.free + counts.held + counts.taken == (1 if cell == "rest" else self.N)
        assert {cell: counts.screened for cell, counts in seats_by_cell.items() if counts.screened} == dict(self.away)
        with self.platform.database.reading() as tx:
            rows = tx.execute(
                select(SeatTable.state, RaterTable.state.label("standing"), RaterTable.cell, SeatTable.cell.label("of"))
                .join(RaterTable)
                .where(SeatTable.campaign_id == self.campaign.id)
            ).all()
            n_raters = tx.scalar(select(func.count()).where(RaterTable.campaign_id == self.campaign.id))
        for row in rows:
            assert row.cell == row.of
            assert row.standing != "withdrawn"
            assert (row.state == "taken") == (row.standing == "finished")
        assert n_raters == len(self.people)


SHORT = settings(quick, max_examples=12, stateful_step_count=25)
LONG = settings(quick, max_examples=60, stateful_step_count=50)


@pytest.mark.parametrize(
    ("database_url", "tried"),
    [
        pytest.param("sqlite", SHORT, id="sqlite-quick"),
        pytest.param("sqlite", LONG, id="sqlite-long", marks=pytest.mark.slow),
        # The first examples of the long run again: only statements differ, and each occurs in many steps.
        pytest.param("postgresql", settings(LONG, max_examples=12), id="postgresql-long", marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_no_cell_is_ever_overfilled(platform: Platform, tried: settings) -> None:
    staff_id = owner(platform.database)

    class OnThisPlatform(Seats):
        def __init__(self) -> None:
            super().__init__(platform, staff_id)

    run(OnThisPlatform, settings=tried)
