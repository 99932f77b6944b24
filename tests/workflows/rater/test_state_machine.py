"""In any order of actions, no acknowledged answer is lost, and no item exceeds its replication."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run
from sqlalchemy import select
from tests.strategies import quick
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW, definition, items, owner

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer, answer_time_ms, merge_saves
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.store import answer_drafts, assignments, raters
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

if TYPE_CHECKING:
    from dissensus.schema.campaign.definition import CampaignState

REPLICATION, N_ITEMS, MOST_RATERS = 2, 3, 4
NUMBERS = count()


@dataclass
class StoredAssignment:
    """Acknowledged saves of one assignment."""

    rater_id: str
    item_id: str
    saves: dict[str, AnswerSave] = field(default_factory=dict)
    drafts: set[str] = field(default_factory=set)
    submitted: bool = False
    skipped: bool = False
    late: bool = False

    def add(self, key: str, save: AnswerSave, *, draft: bool) -> None:
        """Add a save; a final one takes the drafts of its visit that say nothing more."""
        if draft:
            self.drafts.add(key)
        elif save.revision > 1:
            for one in [*self.drafts]:
                other = self.saves[one]
                if (
                    other.visit == save.visit
                    and other.revision <= save.revision
                    and other.visible_ms <= save.visible_ms
                ):
                    del self.saves[one]
                    self.drafts.remove(one)
        self.saves[key] = save

    def answers(self) -> dict[str, object]:
        """Current answers: saves override those of lower revisions, and earlier ones of the same revision."""
        merged: dict[str, object] = {}
        for save in sorted(self.saves.values(), key=lambda one: one.revision):
            merged |= {question: draft.value for question, draft in save.answers.items()}
        return {question: value for question, value in merged.items() if value is not None}

    def visible_ms(self) -> int:
        """The sum over visits of their longest time."""
        times = sorted((save.visit, save.visible_ms) for save in self.saves.values())
        return sum(dict(times).values())


answer = st.sampled_from(["No", "Unsure", "Yes"])
own_words = st.sampled_from([None, "because", "Grund: ä\n😀"])


class Raters(RuleBasedStateMachine):
    """A few raters with old and new pages, and an owner who pauses and reopens the campaign."""

    sent_saves = Bundle("sent_saves")

    def __init__(self, platform: Platform, staff_id: str) -> None:
        super().__init__()
        self.platform, self.staff_id = platform, staff_id
        self.name = f"pilot-{next(NUMBERS)}"
        self.now = NOW
        self.raters: list[RaterRow] = []
        self.withdrawn: set[str] = set()
        self.assignments: dict[str, StoredAssignment] = {}
        self.keys = (f"{self.name}-{n}" for n in count())
        self.state: CampaignState = "open"

    @initialize(everything=st.booleans(), limit=st.sampled_from([None, 3]))
    def open(self, everything: bool, limit: int | None) -> None:
        self.replication = None if everything else REPLICATION
        limits = {"replication": self.replication, "max_items": limit}
        options = {name: value for name, value in limits.items() if value is not None}
        campaign_definition = definition(self.name, reclaim_after_h=2, demographics=ABOUT_YOU, **options)
        campaigns.create_campaign(
            self.platform, campaign_definition, items(N_ITEMS), staff_id=self.staff_id, now=self.now
        )
        self.campaign = campaigns.change_state(self.platform, self.name, "open", staff_id=self.staff_id, now=self.now)
        self.enter()
        self.enter()

    # Actions of raters

    @rule()
    def enter(self) -> None:
        if len(self.raters) == MOST_RATERS or self.state != "open":
            return
        key = str(self.campaign.key)
        rater, _ = enrolment.enrol_rater(self.platform, Arrival(self.name, key, "en"), AGREED, now=self.now)
        assert rater.number == len(self.raters)
        self.raters.append(rater)

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        """Open the page, and do nothing."""
        self._draw_page(data)

    @rule(
        target=sent_saves,
        data=st.data(),
        draft=st.booleans(),
        ahead=st.integers(-3, 3),
        value=answer,
        explanation=own_words,
    )
    def rate(
        self, data: st.DataObject, draft: bool, ahead: int, value: str, explanation: str | None
    ) -> tuple[str, str] | None:
        """Save or submit the offered assignment, or that of an old page; pages may count revisions differently."""
        page = self._draw_page(data)
        if page is None:
            return None
        rater, assignment_id = page
        stored = self.assignments[assignment_id]
        revision = max([one.revision for one in stored.saves.values()], default=0) + ahead
        visit = data.draw(st.sampled_from(["phone", "desk"]))
        save = AnswerSave(
            revision=max(revision, 0),
            visit=visit,
            visible_ms=data.draw(st.integers(0, 9)) * 1000,
            idle_ms=0,
            answers={"Q_safe": DraftAnswer(value=value), "Why": DraftAnswer(value=explanation)},
        )
        key, before = next(self.keys), self._states().get(assignment_id)
        if before == "done" and self.state != "open":
            with pytest.raises(Conflict, match="can be corrected while it is open"):
                self._send(rater, assignment_id, key, save, draft=draft)
            return None
        if self._send(rater, assignment_id, key, save, draft=draft):
            stored.add(key, save, draft=draft)
            stored.late |= not draft and before in ("skipped", "reclaimed")
            stored.submitted |= not draft
        return assignment_id, key

    @rule(sent=sent_saves, draft=st.booleans())
    def send_again(self, sent: tuple[str, str] | None, draft: bool) -> None:
        """Repeat a save, as an outbox without an acknowledgement does."""
        if sent is None or sent[1] not in self.assignments[sent[0]].saves:
            return
        stored = self.assignments[sent[0]]
        rater = next(rater for rater in self.raters if rater.id == stored.rater_id)
        self._send(rater, sent[0], sent[1], stored.saves[sent[1]], draft=draft)

    @rule(sent=consumes(sent_saves), other=st.integers(0, MOST_RATERS - 1))
    def rate_for_another_rater(self, sent: tuple[str, str] | None, other: int) -> None:
        if sent is None or other >= len(self.raters) or self.raters[other].id == self.assignments[sent[0]].rater_id:
            return
        save = AnswerSave(revision=9, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        with pytest.raises((NotFound, NotAllowed)):
            rating.submit_answers(self.platform, self.raters[other], sent[0], next(self.keys), save, now=self.now)

    @rule(data=st.data(), wrong=st.sampled_from([{"Q_safe": "Perhaps"}, {"Why": "no answer"}, {"Q_none": "No"}]))
    def send_invalid_answers(self, data: st.DataObject, wrong: dict[str, str]) -> None:
        page = self._draw_page(data)
        if page is None or page[0].id in self.withdrawn:
            return
        answers = {question: DraftAnswer(value=value) for question, value in wrong.items()}
        save = AnswerSave(revision=9, visit="v", visible_ms=0, idle_ms=0, answers=answers)
        with pytest.raises(InvalidInput):
            rating.submit_answers(self.platform, *page, next(self.keys), save, now=self.now)

    @rule(data=st.data())
    def skip(self, data: st.DataObject) -> None:
        page = self._draw_page(data)
        if page is not None and page[0].id not in self.withdrawn:
            rating.skip_item(self.platform, *page, now=self.now)
            self.assignments[page[1]].skipped = True

    @rule(data=st.data(), stops=st.booleans())
    def stop_or_go_on(self, data: st.DataObject, stops: bool) -> None:
        if self.raters:
            act = rating.stop_rating if stops else rating.resume_rating
            act(self.platform, data.draw(st.sampled_from(self.raters)), now=self.now)

    @rule(data=st.data())
    def declare_attributes(self, data: st.DataObject) -> None:
        if self.raters:
            rater = data.draw(st.sampled_from(self.raters))
            self._or_withdrawn(
                rater, lambda: rating.declare_attributes(self.platform, rater, {"rater_age": "old"}, now=self.now)
            )

    @rule(data=st.data(), surely=st.integers(0, 3))
    def withdraw(self, data: st.DataObject, surely: int) -> None:
        if not self.raters or surely:
            return
        rater = data.draw(st.sampled_from(self.raters))
        rated = [stored for stored in self.assignments.values() if stored.rater_id == rater.id and stored.saves]
        assert withdrawal.withdraw_rater(self.platform, rater.id, now=self.now) == len(rated)
        self.withdrawn.add(rater.id)
        for stored in rated:
            stored.saves.clear()
            stored.drafts.clear()

    # Time and state of the campaign

    @rule(hours=st.sampled_from([1, 3, 60]))
    def time_passes(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule()
    def pause_or_open(self) -> None:
        self.state = "paused" if self.state == "open" else "open"
        campaigns.change_state(self.platform, self.name, self.state, staff_id=self.staff_id, now=self.now)

    # Invariants

    @invariant()
    def every_acknowledged_answer_is_stored(self) -> None:
        with self.platform.database.reading() as tx:
            rows = tx.execute(
                select(SaveTable.key, SaveTable.assignment_id).where(SaveTable.assignment_id.in_(self.assignments))
            )
            assert Counter(map(tuple, rows)) == Counter(
                (key, assignment_id) for assignment_id, one in self.assignments.items() for key in one.saves
            )
            for assignment_id, saves in answer_drafts.load_saves(tx, list(self.assignments)).items():
                stored = self.assignments[assignment_id]
                assert {question: one.value for question, one in merge_saves(saves).items()} == stored.answers()
                assert answer_time_ms(saves) == stored.visible_ms()

    @invariant()
    def states_follow_the_actions(self) -> None:
        for assignment_id, state in self._states().items():
            stored = self.assignments.get(assignment_id)
            if stored is None or stored.rater_id in self.withdrawn:
                assert state in ("open", "reclaimed", "skipped")
            elif stored.submitted:
                assert state == "done"
            elif stored.skipped:
                assert state in ("skipped", "reclaimed")
            else:
                assert state in ("open", "reclaimed")

    @invariant()
    def loads_equal_assignments(self) -> None:
        if not hasattr(self, "campaign"):
            return
        with self.platform.database.reading() as tx:
            counted = Counter(
                tx.scalars(
                    select(AssignmentTable.item_id)
                    .join(ItemTable, ItemTable.id == AssignmentTable.item_id)
                    .where(ItemTable.campaign_id == self.campaign.id, AssignmentTable.state.in_(("open", "done")))
                )
            )
            item_loads = assignments.load_item_loads(tx, self.campaign.id, "nobody")
        assert dict(zip(item_loads.ids, item_loads.loads.tolist(), strict=True)) == {
            one: counted[one] for one in item_loads.ids
        }
        if self.replication is not None:
            # Only late submissions of reassigned items exceed the replication.
            late = Counter(one.item_id for one in self.assignments.values() if one.late)
            assert all(load <= self.replication + late[one] for one, load in counted.items())

    @invariant()
    def withdrawn_raters_are_erased(self) -> None:
        with self.platform.database.reading() as tx:
            assert all(raters.find_declaration(tx, rater_id) is None for rater_id in self.withdrawn)
            assert all(assignments.count_rated_items(tx, rater_id) == 0 for rater_id in self.withdrawn)

    # Helpers

    def _draw_page(self, data: st.DataObject) -> tuple[RaterRow, str] | None:
        """Draw a rater, in an old state, with the next assignment or an earlier one."""
        if not self.raters:
            return None
        rater = data.draw(st.sampled_from(self.raters), label="rater")
        with self.platform.database.reading() as tx:
            fresh = raters.find_rater(tx, rater.id)
        assert fresh is not None
        state = next_step.find_next_step(self.platform, fresh, now=self.now)
        if state.assignment is not None:
            self.assignments.setdefault(state.assignment.id, StoredAssignment(rater.id, state.assignment.item_id))
        offered = [assignment_id for assignment_id, one in self.assignments.items() if one.rater_id == rater.id]
        if state.assignment is not None and data.draw(st.booleans(), label="what comes next"):
            return rater, state.assignment.id
        return (rater, data.draw(st.sampled_from(offered), label="old page")) if offered else None

    def _send(self, rater: RaterRow, assignment_id: str, key: str, save: AnswerSave, *, draft: bool) -> bool:
        act = rating.save_answers if draft else rating.submit_answers
        return self._or_withdrawn(rater, lambda: act(self.platform, rater, assignment_id, key, save, now=self.now))

    def _or_withdrawn(self, rater: RaterRow, act: Callable[[], object]) -> bool:
        if rater.id not in self.withdrawn:
            act()
            return True
        with pytest.raises(NotAllowed):
            act()
        return False

    def _states(self) -> dict[str, str]:
        of_raters = AssignmentTable.rater_id.in_([rater.id for rater in self.raters])
        with self.platform.database.reading() as tx:
            return dict(tx.execute(select(AssignmentTable.id, AssignmentTable.state).where(of_raters)).all())


SHORT = settings(quick, max_examples=15, stateful_step_count=30)
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
def test_no_answer_is_lost_and_no_item_is_planned_too_often(platform: Platform, tried: settings) -> None:
    staff_id = owner(platform.database)

    class OnThisPlatform(Raters):
        def __init__(self) -> None:
            super().__init__(platform, staff_id)

    run(OnThisPlatform, settings=tried)


def test_an_old_page_can_submit_a_reclaimed_assignment(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaign_definition = definition(replication=2, reclaim_after_h=2)
    campaigns.create_campaign(platform, campaign_definition, items(5), staff_id=staff_id, now=NOW)
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    first, other = (
        enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)[0] for _ in range(2)
    )
    assignment = next_step.find_next_step(platform, first, now=NOW).assignment
    assert assignment is not None
    later = NOW + timedelta(hours=3)
    next_step.find_next_step(platform, other, now=later)
    next_step.find_next_step(platform, first, now=later)
    save = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
    assert rating.submit_answers(platform, first, assignment.id, "old", save, now=later).progress.n_done == 1
    with platform.database.reading() as tx:
        assert assignments.load_item_loads(tx, campaign.id, "nobody").loads.tolist() == [2] * 5


def test_the_key_of_another_item_is_refused(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    save = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
    next_assignment = rating.submit_answers(platform, rater, assignment.id, "same", save, now=NOW).assignment
    assert next_assignment is not None
    with pytest.raises(Conflict, match="already saved under this key"):
        rating.submit_answers(platform, rater, next_assignment.id, "same", save, now=NOW)
