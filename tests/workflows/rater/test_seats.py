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
from tests.support.quota_campaigns import ABOUT_YOU, AXES, DECLINED, enter, screen, taken, with_seats

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.store import raters, seats
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.core.database import connect
from dissensus.store.core.ids import new_id
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import DeclarationTable, RaterRow, RaterTable
from dissensus.store.seats import SeatCounts, SeatTable
from dissensus.store.staff import SessionTable
from dissensus.workflows.campaign import campaigns, quota
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating, screening, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import check_entry, load_entry_links
from dissensus.workflows.rater.journey import RaterState


def rate_all(platform: Platform, rater: RaterRow, now: datetime = NOW) -> RaterState:
    at = journey.next_state(platform, rater, now=now)
    while at.stage == "rate":
        assert at.assignment is not None
        save = AnswerSave(revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        at = rating.submit_answers(platform, rater, at.assignment.id, new_id(now), save, now=now)
    return at


def test_the_way_of_a_rater_with_a_seat(platform: Platform) -> None:
    kept = with_seats(platform)
    rater = enter(platform, kept.key)
    asked = journey.next_state(platform, rater, now=NOW)
    assert asked.stage == "screener"
    assert asked.about is not None
    assert [question.name for question in asked.about.questions] == ["rater_age", "rater_size"]
    step = screen(platform, rater, "old")
    assert step is not None
    assert (step.stage, step.rater.cell) == ("rate", "old × small")
    assert taken(platform, kept.id)["old × small"] == SeatCounts(held=1)
    last = rate_all(platform, rater)
    assert taken(platform, kept.id)["old × small"] == SeatCounts(taken=1)
    assert last.stage == "demographics"
    assert last.about is not None
    assert [question.name for question in last.about.questions] == ["rater_pet"]
    later = NOW + timedelta(minutes=1)
    assert rating.declare_attributes(platform, rater, {"rater_pet": "cat"}, now=later).stage == "done"
    with platform.database.reading() as tx:
        said = raters.find_declaration(tx, rater.id)
    assert said == {"rater_age": "old", "rater_size": "small", "rater_pet": "cat"}


def test_what_follows_from_the_screener_is_asked_of_whom_it_concerns(platform: Platform) -> None:
    rater = enter(platform, with_seats(platform).key)
    screen(platform, rater, "young")
    assert rate_all(platform, rater).stage == "done"


def test_who_declines_has_a_seat(platform: Platform) -> None:
    kept = with_seats(platform)
    step = screen(platform, enter(platform, kept.key), DECLINED)
    assert step is not None
    assert (step.stage, step.rater.cell) == ("rate", "rest")


def test_nothing_is_kept_of_who_is_turned_away_but_one_more(platform: Platform) -> None:
    kept = with_seats(platform)
    (key,) = campaigns.create_invitations(platform, "pilot", 1, staff_id=kept.staff_id, now=NOW)
    assert screen(platform, enter(platform, kept.key)) is not None
    late = enter(platform, key)
    rating.report_item(platform, late, "help", "Where am I?", assignment_id=None, now=NOW)
    assert screen(platform, late) is None
    assert taken(platform, kept.id)["young × small"] == SeatCounts(held=1, screened=1)
    with platform.database.reading() as tx:
        assert raters.find_rater(tx, late.id) is None
        for theirs in (
            RaterTable.id,
            ConsentTable.rater_id,
            DeclarationTable.rater_id,
            SessionTable.rater_id,
            NoticeTable.rater_id,
        ):
            assert not tx.scalar(select(func.count()).where(theirs == late.id))
    with pytest.raises(NotAllowed, match="not valid"):
        enter(platform, key)


def test_a_cell_is_chosen_once(platform: Platform) -> None:
    rater = enter(platform, with_seats(platform).key)
    screen(platform, rater)
    with pytest.raises(Conflict, match="answered this already"):
        screen(platform, rater, "old")


def test_answers_that_are_missing_or_cannot_be(platform: Platform) -> None:
    rater = enter(platform, with_seats(platform).key)
    with pytest.raises(InvalidInput, match="rater_size: There is no answer"):
        screening.screen_rater(platform, rater, {"rater_age": "young"}, now=NOW)
    with pytest.raises(InvalidInput, match="'rater_pet': There is no such question"):
        screening.screen_rater(platform, rater, {"rater_age": "old", "rater_size": "tall", "rater_pet": "cat"}, now=NOW)
    assert journey.next_state(platform, rater, now=NOW).stage == "screener"


def test_a_campaign_without_a_quota_asks_nothing_first(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, demographics=ABOUT_YOU).key)
    with pytest.raises(Conflict, match="asks nothing"):
        screen(platform, rater)


def test_the_seat_of_who_is_gone_is_for_the_next_and_who_returns_waits_for_another(platform: Platform) -> None:
    kept = with_seats(platform)
    gone = enter(platform, kept.key)
    screen(platform, gone)
    early, later = NOW + timedelta(minutes=59), NOW + timedelta(minutes=61)
    assert screen(platform, enter(platform, kept.key, now=early), now=early) is None
    other = enter(platform, kept.key, now=later)
    step = screen(platform, other, now=later)
    assert step is not None
    assert step.stage == "rate"
    assert journey.next_state(platform, gone, now=later).stage == "full"
    withdrawal.withdraw_rater(platform, other.id, now=later)
    assert journey.next_state(platform, gone, now=later).stage == "rate"


def test_what_comes_late_is_kept_without_a_seat(platform: Platform) -> None:
    kept = with_seats(platform)
    gone = enter(platform, kept.key)
    step = screen(platform, gone)
    assert step is not None
    assert step.assignment is not None
    later = NOW + timedelta(hours=2)
    screen(platform, enter(platform, kept.key, now=later), now=later)
    save = AnswerSave(revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
    after = rating.submit_answers(platform, gone, step.assignment.id, "late", save, now=later)
    assert (after.stage, after.progress.n_done) == ("full", 1)


def test_who_stops_gives_the_seat_to_whoever_comes(platform: Platform) -> None:
    kept = with_seats(platform)
    stopping = enter(platform, kept.key)
    screen(platform, stopping)
    rating.stop_rating(platform, stopping, now=NOW)
    assert screen(platform, enter(platform, kept.key)) is not None
    assert rating.resume_rating(platform, stopping, now=NOW).stage == "full"


def test_who_has_finished_keeps_the_seat(platform: Platform) -> None:
    kept = with_seats(platform)
    done = enter(platform, kept.key)
    screen(platform, done)
    rate_all(platform, done)
    later = NOW + timedelta(days=9)
    assert screen(platform, enter(platform, kept.key, now=later), now=later) is None
    withdrawal.withdraw_rater(platform, done.id, now=later)
    assert screen(platform, enter(platform, kept.key, now=later), now=later) is not None


def test_who_rated_nothing_takes_no_seat_for_good(platform: Platform) -> None:
    kept = with_seats(platform)
    skipping = enter(platform, kept.key)
    step = screen(platform, skipping)
    while step is not None and step.assignment is not None:
        step = rating.skip_item(platform, skipping, step.assignment.id, now=NOW)
    assert taken(platform, kept.id)["young × small"] == SeatCounts(free=1)


def test_whose_seat_is_given_away_loses_the_items_that_they_had_not_begun(platform: Platform) -> None:
    kept = with_seats(platform, replication=1)
    screen(platform, enter(platform, kept.key))
    later = NOW + timedelta(hours=2)
    other = enter(platform, kept.key, now=later)
    screen(platform, other, now=later)
    assert rate_all(platform, other, later).progress.n_done == 2


def test_a_pause_costs_nobody_a_seat(platform: Platform) -> None:
    kept = with_seats(platform)
    rater = enter(platform, kept.key)
    screen(platform, rater)
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    reopened = NOW + timedelta(days=3)
    campaigns.change_state(platform, "pilot", "open", staff_id=kept.staff_id, now=reopened)
    soon, late = reopened + timedelta(minutes=30), reopened + timedelta(minutes=61)
    assert screen(platform, enter(platform, kept.key, now=soon), now=soon) is None
    assert screen(platform, enter(platform, kept.key, now=late), now=late) is not None


def test_a_cell_with_too_many_seats_lets_nobody_in_until_there_is_room(platform: Platform) -> None:
    kept = with_seats(platform, seats=3)
    inside = [enter(platform, kept.key) for _ in range(3)]
    for rater in inside:
        screen(platform, rater)
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    about = {"axes": AXES, "seats": 1, "rest": 1, "hold_minutes": 60}
    smaller = definition(demographics=ABOUT_YOU, quota=about)
    campaigns.revise_campaign(platform, "pilot", smaller, staff_id=kept.staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=kept.staff_id, now=NOW)
    for rater in inside[:2]:
        withdrawal.withdraw_rater(platform, rater.id, now=NOW)
        assert screen(platform, enter(platform, kept.key)) is None
    withdrawal.withdraw_rater(platform, inside[2].id, now=NOW)
    assert screen(platform, enter(platform, kept.key)) is not None
    assert screen(platform, enter(platform, kept.key)) is None


def test_a_rehearsal_is_screened_and_takes_no_seat(platform: Platform) -> None:
    kept = with_seats(platform)
    for _ in range(3):
        step = screen(platform, enter(platform, "", rehearsal=True))
        assert step is not None
        assert step.stage == "rate"
    assert taken(platform, kept.id)["young × small"] == SeatCounts(free=1)


def test_seats_can_be_added_and_free_ones_taken_away_while_paused(platform: Platform) -> None:
    kept = with_seats(platform)
    first = enter(platform, kept.key)
    screen(platform, first)
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)

    def wanting(n: int, **changes: Any) -> Any:
        about = {"axes": AXES, "seats": n, "rest": 1, "hold_minutes": 60, **changes}
        return definition(demographics=ABOUT_YOU, quota=about)

    campaigns.revise_campaign(platform, "pilot", wanting(3), staff_id=kept.staff_id, now=NOW)
    assert taken(platform, kept.id)["young × small"] == SeatCounts(free=2, held=1)
    campaigns.revise_campaign(platform, "pilot", wanting(0), staff_id=kept.staff_id, now=NOW)
    assert taken(platform, kept.id) == {"young × small": SeatCounts(held=1), "rest": SeatCounts(free=1)}
    axes = {"rater_age": AXES["rater_age"]}
    with pytest.raises(Conflict, match="cells of the quota"):
        campaigns.revise_campaign(platform, "pilot", wanting(3, axes=axes), staff_id=kept.staff_id, now=NOW)


def by_recruiter(platform: Platform, **changes: Any) -> tuple[Any, dict[str, str]]:
    """A campaign whose cells a recruiter fills, and the key of the link of each cell."""
    kept = with_seats(platform, quota={"source": "recruiter", **changes})
    links = load_entry_links(platform, "pilot", "https://rate.example", staff_id=kept.staff_id).cells
    return kept, {cell: link.removeprefix("https://rate.example/c/pilot?key=") for cell, link in links.items()}


def test_a_recruiter_sends_raters_by_cells_and_they_say_who_they_are_afterwards(platform: Platform) -> None:
    kept, keys = by_recruiter(platform)
    assert list(keys) == ["young × small", "young × tall", "old × small", "old × tall", "rest"]
    assert len(set(keys.values())) == len(keys)
    rater = enter(platform, keys["young × small"])
    assert rater.cell == "young × small"
    assert rate_all(platform, rater).stage == "demographics"
    with pytest.raises(Conflict, match="All places for which this link is are taken"):
        enter(platform, keys["young × small"])
    assert check_entry(platform, "pilot", keys["young × small"], now=NOW).state == "full"
    assert check_entry(platform, "pilot", keys["old × small"], now=NOW).state == "open"
    said = {"rater_age": "old", "rater_size": "small", "rater_pet": "dog"}
    assert rating.declare_attributes(platform, rater, said, now=NOW).stage == "done"
    _, cells = quota.load_quota_progress(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    assert {cell.cell: cell.mismatched for cell in cells if cell.mismatched} == {"young × small": 1}


def test_links_of_cells_open_nothing_else(platform: Platform) -> None:
    kept, keys = by_recruiter(platform)
    for wrong in (kept.key, "rest", keys["rest"][:-1], keys["rest"].upper()):
        with pytest.raises(NotAllowed):
            enter(platform, wrong)
    with pytest.raises(InvalidInput, match="Name the cell"):
        campaigns.create_invitations(platform, "pilot", 1, staff_id=kept.staff_id, now=NOW)
    with pytest.raises(NotFound, match=r"'old x small'\. Did you mean 'old × small'\?"):
        campaigns.create_invitations(platform, "pilot", 1, cell="old x small", staff_id=kept.staff_id, now=NOW)
    (personal,) = campaigns.create_invitations(
        platform, "pilot", 1, cell="old × small", staff_id=kept.staff_id, now=NOW
    )
    assert enter(platform, personal).cell == "old × small"


def test_without_a_recruiter_no_link_is_for_a_cell(platform: Platform) -> None:
    kept = with_seats(platform)
    assert load_entry_links(platform, "pilot", "https://rate.example", staff_id=kept.staff_id).cells == {}
    with pytest.raises(NotFound, match="Only a quota that the recruiter fills"):
        campaigns.create_invitations(platform, "pilot", 1, cell="old × small", staff_id=kept.staff_id, now=NOW)


def test_nobody_reads_on_where_no_cell_has_a_seat(platform: Platform) -> None:
    kept = with_seats(platform, quota={"axes": {"rater_age": {"all": ["young", "old", DECLINED]}}, "rest": 0})
    assert check_entry(platform, "pilot", str(kept.key), now=NOW).state == "open"
    screening.screen_rater(platform, enter(platform, kept.key), {"rater_age": "old"}, now=NOW)
    assert check_entry(platform, "pilot", str(kept.key), now=NOW).state == "full"
    later = NOW + timedelta(hours=2)
    assert check_entry(platform, "pilot", str(kept.key), now=later).state == "open"


def test_items_are_rated_by_each_cell_alike(platform: Platform) -> None:
    balance = {"seats": 3, "rest": 3, "balanced": True, "axes": {"rater_age": AXES["rater_age"]}}
    kept = with_seats(platform, 6, quota=balance, replication=6)
    for age in ("young", "old", DECLINED) * 3:
        rater = enter(platform, kept.key)
        assert screening.screen_rater(platform, rater, {"rater_age": age}, now=NOW) is not None
        rate_all(platform, rater)
    with platform.database.reading() as tx:
        rows = tx.execute(
            select(AssignmentTable.item_id, RaterTable.cell).join(RaterTable).where(AssignmentTable.state == "done")
        ).all()
    assert set(Counter(map(tuple, rows)).values()) == {2}
    assert len(rows) == 36


def test_who_leaves_is_made_up_for_by_their_own_cell(platform: Platform) -> None:
    balance = {"seats": 4, "rest": 2, "balanced": True, "axes": {"rater_age": AXES["rater_age"]}}
    kept = with_seats(platform, 2, quota=balance, replication=5)
    leaving = enter(platform, kept.key)
    screening.screen_rater(platform, leaving, {"rater_age": "young"}, now=NOW)
    rate_all(platform, leaving)
    withdrawal.withdraw_rater(platform, leaving.id, now=NOW)
    for age in ("young", "young", "old", "old", DECLINED):
        rater = enter(platform, kept.key)
        screening.screen_rater(platform, rater, {"rater_age": age}, now=NOW)
        rate_all(platform, rater)
    with platform.database.reading() as tx:
        cells = tx.scalars(select(RaterTable.cell).join(AssignmentTable).where(AssignmentTable.state == "done")).all()
    assert Counter(cells) == {"young": 4, "old": 4, "rest": 2}


ENTRANTS = 64


@pytest.fixture
def crowded(database_url: str) -> Iterator[Platform]:
    """A platform with a connection for each thread."""
    platform = Platform(connect(database_url, pool_size=16))
    yield platform
    platform.close()


def test_of_many_who_enter_at_once_as_many_get_in_as_there_are_seats(crowded: Platform) -> None:
    kept = with_seats(crowded, seats=5)
    people = [("young", "old")[n % 2] for n in range(ENTRANTS)]

    def come(age: str) -> bool:
        return screen(crowded, enter(crowded, kept.key), age) is not None

    with ThreadPoolExecutor(16) as threads:
        let_in = list(threads.map(come, people))
    assert Counter(age for age, inside in zip(people, let_in, strict=True) if inside) == {"young": 5, "old": 5}
    found = taken(crowded, kept.id)
    assert found["young × small"] == found["old × small"] == SeatCounts(held=5, screened=ENTRANTS // 2 - 5)


@dataclass
class Known:
    """What is known of a rater who was let in."""

    rater: RaterRow
    seen_at: datetime
    finished: bool = False
    withdrawn: bool = False


class Seats(RuleBasedStateMachine):
    """People come, rate, stay away, stop and withdraw, in any order."""

    N, HOLD = 2, timedelta(minutes=60)

    def __init__(self, platform: Platform, staff_id: str) -> None:
        super().__init__()
        self.platform, self.staff_id, self.now = platform, staff_id, NOW
        self.known: list[Known] = []
        self.away: Counter[str] = Counter()

    @initialize()
    def open(self) -> None:
        self.name = f"pilot-{new_id(NOW)[-12:]}"
        about = {"axes": AXES, "seats": self.N, "rest": 1, "hold_minutes": 60}
        made = definition(self.name, demographics=ABOUT_YOU, quota=about)
        campaigns.create_campaign(self.platform, made, items(2), staff_id=self.staff_id, now=NOW)
        self.kept = campaigns.change_state(self.platform, self.name, "open", staff_id=self.staff_id, now=NOW)

    @rule(age=st.sampled_from(["young", "old", DECLINED]))
    def come(self, age: str) -> None:
        rater, _ = enrolment.enrol_rater(
            self.platform, Arrival(self.name, str(self.kept.key), "en"), AGREED, now=self.now
        )
        cell = "rest" if age == DECLINED else f"{age} × small"
        places = 1 if cell == "rest" else self.N
        seated = [one for one in self.known if one.rater.cell == cell and self._has(one)]
        step = screen(self.platform, rater, age, now=self.now)
        if step is None:
            self.away[cell] += 1
            # Nobody is turned away from a seat that is free, or that somebody has left.
            assert len(seated) == places
            assert not any(self._may_lose(one) for one in seated)
            return
        staying = [one for one in seated if not self._may_lose(one) and self._has(one)]
        assert len(staying) < places
        self.known.append(Known(step.rater, self.now))

    @rule(data=st.data())
    def rate(self, data: st.DataObject) -> None:
        here = [one for one in self.known if not one.withdrawn]
        if here:
            one = data.draw(st.sampled_from(here))
            at = journey.next_state(self.platform, one.rater, now=self.now)
            if at.stage == "rate" and at.assignment is not None:
                save = AnswerSave(
                    revision=1, visit="v", visible_ms=9, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")}
                )
                at = rating.submit_answers(
                    self.platform, one.rater, at.assignment.id, new_id(self.now), save, now=self.now
                )
            one.seen_at, one.finished = self.now, at.rater.state == "finished" or at.stage in ("demographics", "done")

    @rule(data=st.data(), how=st.sampled_from(["stop", "go on", "withdraw"]))
    def leave(self, data: st.DataObject, how: str) -> None:
        if self.known:
            one = data.draw(st.sampled_from(self.known))
            if how == "withdraw":
                withdrawal.withdraw_rater(self.platform, one.rater.id, now=self.now)
                one.withdrawn = True
            elif not one.withdrawn and not one.finished:
                (rating.stop_rating if how == "stop" else rating.resume_rating)(self.platform, one.rater, now=self.now)
                one.seen_at = self.now

    @rule(minutes=st.sampled_from([1, 30, 61, 200]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    def _may_lose(self, one: Known) -> bool:
        return not one.finished and self.now - one.seen_at > self.HOLD

    def _has(self, one: Known) -> bool:
        with self.platform.database.reading() as tx:
            return seats.has_seat(tx, one.rater.id)

    @invariant()
    def there_are_never_more_than_seats(self) -> None:
        if not hasattr(self, "kept"):
            return
        found = taken(self.platform, self.kept.id)
        for cell, one in found.items():
            assert one.free + one.held + one.taken == (1 if cell == "rest" else self.N)
        assert {cell: one.screened for cell, one in found.items() if one.screened} == dict(self.away)
        with self.platform.database.reading() as tx:
            rows = tx.execute(
                select(SeatTable.state, RaterTable.state.label("standing"), RaterTable.cell, SeatTable.cell.label("of"))
                .join(RaterTable)
                .where(SeatTable.campaign_id == self.kept.id)
            ).all()
            n_raters = tx.scalar(select(func.count()).where(RaterTable.campaign_id == self.kept.id))
        for row in rows:
            assert row.cell == row.of
            assert row.standing != "withdrawn"
            assert (row.state == "taken") == (row.standing == "finished")
        assert n_raters == len(self.known)


@pytest.mark.parametrize(
    "tried",
    [
        pytest.param(settings(quick, max_examples=12, stateful_step_count=25), id="quick"),
        pytest.param(settings(quick, max_examples=60, stateful_step_count=50), id="long", marks=pytest.mark.slow),
    ],
)
def test_no_cell_is_ever_over_filled(platform: Platform, tried: settings) -> None:
    staff_id = owner(platform.database)

    class OnThisPlatform(Seats):
        def __init__(self) -> None:
            super().__init__(platform, staff_id)

    run(OnThisPlatform, settings=tried)
