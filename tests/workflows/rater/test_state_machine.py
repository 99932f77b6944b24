"""Whatever raters do in whatever order: no answer that was acknowledged is lost, and no item is planned too often."""

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
from dissensus.workflows.rater import enrolment, journey, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

if TYPE_CHECKING:
    from dissensus.schema.campaign.definition import CampaignState

REPLICATION, N_ITEMS, MOST_RATERS = 2, 3, 4
NUMBERS = count()


@dataclass
class Kept:
    """What a platform said it had kept of one assignment."""

    rater_id: str
    item_id: str
    saves: dict[str, AnswerSave] = field(default_factory=dict)
    submitted: bool = False
    skipped: bool = False
    late: bool = False

    def answers(self) -> dict[str, object]:
        """The answers that hold: each save is laid over those of lower revisions, and over earlier ones of its own."""
        laid: dict[str, object] = {}
        for save in sorted(self.saves.values(), key=lambda one: one.revision):
            laid |= {question: given.value for question, given in save.answers.items()}
        return {question: value for question, value in laid.items() if value is not None}

    def visible_ms(self) -> int:
        """The longest time that each visit told, together."""
        told = sorted((save.visit, save.visible_ms) for save in self.saves.values())
        return sum(dict(told).values())


answer = st.sampled_from(["No", "Unsure", "Yes"])
own_words = st.sampled_from([None, "because", "Grund: ä\n😀"])


class Raters(RuleBasedStateMachine):
    """A handful of raters with old and new pages, and an owner who pauses and goes on."""

    given = Bundle("given")

    def __init__(self, platform: Platform, staff_id: str) -> None:
        super().__init__()
        self.platform, self.staff_id = platform, staff_id
        self.name = f"pilot-{next(NUMBERS)}"
        self.now = NOW
        self.raters: list[RaterRow] = []
        self.withdrawn: set[str] = set()
        self.kept: dict[str, Kept] = {}
        self.keys = (f"{self.name}-{n}" for n in count())
        self.state: CampaignState = "open"

    @initialize(everything=st.booleans(), limit=st.sampled_from([None, 3]))
    def open(self, everything: bool, limit: int | None) -> None:
        self.replication = None if everything else REPLICATION
        limits = {"replication": self.replication, "most_items": limit}
        said = {name: value for name, value in limits.items() if value is not None}
        made = definition(self.name, reclaim_after_h=2, demographics=ABOUT_YOU, **said)
        campaigns.create_campaign(self.platform, made, items(N_ITEMS), staff_id=self.staff_id, now=self.now)
        self.campaign = campaigns.change_state(self.platform, self.name, "open", staff_id=self.staff_id, now=self.now)
        self.enter()
        self.enter()

    # What raters do

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
        self._page(data)

    @rule(target=given, data=st.data(), draft=st.booleans(), ahead=st.integers(-3, 3), first=answer, why=own_words)
    def rate(self, data: st.DataObject, draft: bool, ahead: int, first: str, why: str | None) -> tuple[str, str] | None:
        """Save or submit what is offered, or what an old page still shows; pages may count revisions differently."""
        found = self._page(data)
        if found is None:
            return None
        rater, assignment_id = found
        known = self.kept[assignment_id]
        revision = max([one.revision for one in known.saves.values()], default=0) + ahead
        visit = data.draw(st.sampled_from(["phone", "desk"]))
        save = AnswerSave(
            revision=max(revision, 0),
            visit=visit,
            visible_ms=data.draw(st.integers(0, 9)) * 1000,
            idle_ms=0,
            answers={"Q_safe": DraftAnswer(value=first), "Why": DraftAnswer(value=why)},
        )
        key, before = next(self.keys), self._states().get(assignment_id)
        if self._send(rater, assignment_id, key, save, draft=draft):
            known.saves[key] = save
            known.late |= not draft and before in ("skipped", "reclaimed")
            known.submitted |= not draft
        return assignment_id, key

    @rule(one=given, draft=st.booleans())
    def send_again(self, one: tuple[str, str] | None, draft: bool) -> None:
        """An outbox that did not hear of the first time."""
        if one is None or one[1] not in self.kept[one[0]].saves:
            return
        known = self.kept[one[0]]
        rater = next(rater for rater in self.raters if rater.id == known.rater_id)
        self._send(rater, one[0], one[1], known.saves[one[1]], draft=draft)

    @rule(one=consumes(given), other=st.integers(0, MOST_RATERS - 1))
    def rate_for_somebody_else(self, one: tuple[str, str] | None, other: int) -> None:
        if one is None or other >= len(self.raters) or self.raters[other].id == self.kept[one[0]].rater_id:
            return
        save = AnswerSave(revision=9, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        with pytest.raises((NotFound, NotAllowed)):
            rating.submit_answers(self.platform, self.raters[other], one[0], next(self.keys), save, now=self.now)

    @rule(data=st.data(), wrong=st.sampled_from([{"Q_safe": "Perhaps"}, {"Why": "no answer"}, {"Q_none": "No"}]))
    def give_what_cannot_be(self, data: st.DataObject, wrong: dict[str, str]) -> None:
        found = self._page(data)
        if found is None or found[0].id in self.withdrawn:
            return
        given = {question: DraftAnswer(value=value) for question, value in wrong.items()}
        save = AnswerSave(revision=9, visit="v", visible_ms=0, idle_ms=0, answers=given)
        with pytest.raises(InvalidInput):
            rating.submit_answers(self.platform, *found, next(self.keys), save, now=self.now)

    @rule(data=st.data())
    def skip(self, data: st.DataObject) -> None:
        found = self._page(data)
        if found is not None and found[0].id not in self.withdrawn:
            rating.skip_item(self.platform, *found, now=self.now)
            self.kept[found[1]].skipped = True

    @rule(data=st.data(), stops=st.booleans())
    def stop_or_go_on(self, data: st.DataObject, stops: bool) -> None:
        if self.raters:
            act = rating.stop_rating if stops else rating.resume_rating
            act(self.platform, data.draw(st.sampled_from(self.raters)), now=self.now)

    @rule(data=st.data())
    def describe_oneself(self, data: st.DataObject) -> None:
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
        theirs = [one for one in self.kept.values() if one.rater_id == rater.id and one.saves]
        assert withdrawal.withdraw_rater(self.platform, rater.id, now=self.now) == len(theirs)
        self.withdrawn.add(rater.id)
        for one in theirs:
            one.saves.clear()

    # What happens

    @rule(hours=st.sampled_from([1, 3, 60]))
    def time_passes(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule()
    def pause_or_open(self) -> None:
        self.state = "paused" if self.state == "open" else "open"
        campaigns.change_state(self.platform, self.name, self.state, staff_id=self.staff_id, now=self.now)

    # What must hold

    @invariant()
    def every_answer_is_there(self) -> None:
        with self.platform.database.reading() as tx:
            rows = tx.execute(
                select(SaveTable.key, SaveTable.assignment_id).where(SaveTable.assignment_id.in_(self.kept))
            )
            assert Counter(map(tuple, rows)) == Counter(
                (key, assignment_id) for assignment_id, one in self.kept.items() for key in one.saves
            )
            for assignment_id, found in answer_drafts.load_saves(tx, list(self.kept)).items():
                known = self.kept[assignment_id]
                assert {question: one.value for question, one in merge_saves(found).items()} == known.answers()
                assert answer_time_ms(found) == known.visible_ms()

    @invariant()
    def ends_are_those_that_were_told(self) -> None:
        for assignment_id, state in self._states().items():
            known = self.kept.get(assignment_id)
            if known is None or known.rater_id in self.withdrawn:
                assert state in ("open", "reclaimed", "skipped")
            elif known.submitted:
                assert state == "done"
            elif known.skipped:
                assert state in ("skipped", "reclaimed")
            else:
                assert state in ("open", "reclaimed")

    @invariant()
    def loads_are_counted(self) -> None:
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
            found = assignments.load_item_loads(tx, self.campaign.id, "nobody")
        assert dict(zip(found.ids, found.loads.tolist(), strict=True)) == {one: counted[one] for one in found.ids}
        if self.replication is not None:
            # Only what comes late, after the item went to somebody else, is more than was planned.
            late = Counter(one.item_id for one in self.kept.values() if one.late)
            assert all(load <= self.replication + late[one] for one, load in counted.items())

    @invariant()
    def who_withdrew_left_nothing(self) -> None:
        with self.platform.database.reading() as tx:
            assert all(raters.find_declaration(tx, rater_id) is None for rater_id in self.withdrawn)
            assert all(assignments.count_rated_items(tx, rater_id) == 0 for rater_id in self.withdrawn)

    # How

    def _page(self, data: st.DataObject) -> tuple[RaterRow, str] | None:
        """Draw a rater, as a page knows them from before, with the item that comes next or any that ever was shown."""
        if not self.raters:
            return None
        rater = data.draw(st.sampled_from(self.raters), label="rater")
        with self.platform.database.reading() as tx:
            fresh = raters.find_rater(tx, rater.id)
        assert fresh is not None
        at = journey.next_state(self.platform, fresh, now=self.now)
        if at.assignment is not None:
            self.kept.setdefault(at.assignment.id, Kept(rater.id, at.assignment.item_id))
        shown = [assignment_id for assignment_id, one in self.kept.items() if one.rater_id == rater.id]
        if at.assignment is not None and data.draw(st.booleans(), label="what comes next"):
            return rater, at.assignment.id
        return (rater, data.draw(st.sampled_from(shown), label="old page")) if shown else None

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
        theirs = AssignmentTable.rater_id.in_([rater.id for rater in self.raters])
        with self.platform.database.reading() as tx:
            return dict(tx.execute(select(AssignmentTable.id, AssignmentTable.state).where(theirs)).all())


SHORT = settings(quick, max_examples=15, stateful_step_count=30)
LONG = settings(quick, max_examples=400, stateful_step_count=50)


@pytest.mark.parametrize(
    ("database_url", "tried"),
    [
        pytest.param("sqlite", SHORT, id="sqlite-quick"),
        pytest.param("postgresql", SHORT, id="postgresql-quick"),
        pytest.param("sqlite", LONG, id="sqlite-long", marks=pytest.mark.slow),
        # A step takes twice as long there, and the rules are the same.
        pytest.param("postgresql", settings(LONG, max_examples=100), id="postgresql-long", marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_nothing_is_lost_and_nothing_planned_twice(platform: Platform, tried: settings) -> None:
    staff_id = owner(platform.database)

    class OnThisPlatform(Raters):
        def __init__(self) -> None:
            super().__init__(platform, staff_id)

    run(OnThisPlatform, settings=tried)


def test_an_old_page_may_send_what_was_reclaimed_and_came_again(platform: Platform) -> None:
    staff_id = owner(platform.database)
    made = definition(replication=2, reclaim_after_h=2)
    campaigns.create_campaign(platform, made, items(5), staff_id=staff_id, now=NOW)
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    first, other = (
        enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)[0] for _ in range(2)
    )
    old = journey.next_state(platform, first, now=NOW).assignment
    assert old is not None
    later = NOW + timedelta(hours=3)
    journey.next_state(platform, other, now=later)
    journey.next_state(platform, first, now=later)
    save = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
    assert rating.submit_answers(platform, first, old.id, "old", save, now=later).progress.n_done == 1
    with platform.database.reading() as tx:
        assert assignments.load_item_loads(tx, kept.id, "nobody").loads.tolist() == [2] * 5


def test_a_key_of_another_item_is_refused_and_not_taken_for_it(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    one = journey.next_state(platform, rater, now=NOW).assignment
    assert one is not None
    save = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
    other = rating.submit_answers(platform, rater, one.id, "same", save, now=NOW).assignment
    assert other is not None
    with pytest.raises(Conflict, match="nothing was kept of this one"):
        rating.submit_answers(platform, rater, other.id, "same", save, now=NOW)
