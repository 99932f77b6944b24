"""Many raters at once, and one rater on several devices at once."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from random import Random
from typing import TypeVar

import pytest
from sqlalchemy import select
from tests.recruit.fake_prolific import Prolific
from tests.support.campaigns import AGREED, NOW, open_campaign
from tests.support.recruited_raters import PAYING, arrived

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer, merge_saves
from dissensus.errors import Conflict, NotAllowed
from dissensus.store import answer_drafts, assignments, campaigns, recruits
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.core.database import connect
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, planning, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

THREADS = 16
Result = TypeVar("Result")


@pytest.fixture
def crowded(database_url: str) -> Iterator[Platform]:
    """A platform with a connection for each thread."""
    platform = Platform(connect(database_url, pool_size=THREADS))
    yield platform
    platform.close()


def at_once(act: Callable[[int], Result]) -> list[Result]:
    """Do something in many threads, and return what each returned; what one raises is raised."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(act, range(THREADS)))


def enter(platform: Platform, key: str | None) -> RaterRow:
    return enrolment.enrol_rater(platform, Arrival("pilot", str(key), "en"), AGREED, now=NOW)[0]


def given(answer: str, revision: int = 1) -> AnswerSave:
    return AnswerSave(
        revision=revision, visit="v", visible_ms=1000, idle_ms=0, answers={"Q_safe": DraftAnswer(value=answer)}
    )


def kept(platform: Platform, assignment_ids: list[str]) -> dict[str, object]:
    """The answer to Q_safe that holds, by assignment."""
    with platform.database.reading() as tx:
        found = answer_drafts.load_saves(tx, assignment_ids)
    return {one: merge_saves(theirs)["Q_safe"].value for one, theirs in found.items() if theirs}


def check_loads(platform: Platform, campaign_id: str) -> Counter[int]:
    """Make sure that loads are those that can be counted, and return how many items have each."""
    with platform.database.reading() as tx:
        counted = Counter(
            tx.scalars(select(AssignmentTable.item_id).where(AssignmentTable.state.in_(assignments.LOAD_STATES)))
        )
        found = assignments.load_item_loads(tx, campaign_id, "nobody")
    loads = dict(zip(found.ids, found.loads.tolist(), strict=True))
    assert loads == {one: counted[one] for one in found.ids}
    return Counter(loads.values())


def test_all_enter_rate_and_skip_at_once(crowded: Platform) -> None:
    made = open_campaign(crowded, 12, replication=4)

    def take_part(worker: int) -> tuple[int, dict[str, str]]:
        rng = Random(worker)
        told: dict[str, str] = {}
        rater = enter(crowded, made.key)
        at = journey.next_state(crowded, rater, now=NOW)
        while at.assignment is not None:
            one = at.assignment.id
            if rng.random() < 0.3:
                at = rating.skip_item(crowded, rater, one, now=NOW)
                continue
            draft, answer = rng.choice(["No", "Yes"]), rng.choice(["No", "Unsure", "Yes"])
            rating.save_answers(crowded, rater, one, f"draft-{one[-20:]}", given(draft), now=NOW)
            at = rating.submit_answers(crowded, rater, one, one, given(answer, revision=2), now=NOW)
            told[one] = answer
        return rater.number, told

    found = at_once(take_part)
    assert sorted(number for number, _ in found) == list(range(THREADS))
    told = {one: answer for _, theirs in found for one, answer in theirs.items()}
    assert kept(crowded, list(told)) == told
    assert max(check_loads(crowded, made.id)) <= 4
    with crowded.database.reading() as tx:
        assert len(set(tx.scalars(select(SaveTable.key)))) == 2 * len(told)


def test_one_submit_that_comes_many_times_is_one(crowded: Platform) -> None:
    made = open_campaign(crowded, 2)
    rater = enter(crowded, made.key)
    at = journey.next_state(crowded, rater, now=NOW).assignment
    assert at is not None
    found = at_once(lambda _: rating.submit_answers(crowded, rater, at.id, "same", given("Yes"), now=NOW))
    assert {step.progress.n_done for step in found} == {1}
    assert kept(crowded, [at.id]) == {at.id: "Yes"}
    assert check_loads(crowded, made.id) == {1: 2}


def test_one_rater_on_many_devices_has_one_plan(crowded: Platform) -> None:
    made = open_campaign(crowded, 30, replication=2)
    rater = enter(crowded, made.key)
    found = at_once(lambda _: journey.next_state(crowded, rater, now=NOW))
    assert len({step.assignment and step.assignment.id for step in found}) == 1
    assert check_loads(crowded, made.id) == {1: planning.BATCH_SIZE, 0: 30 - planning.BATCH_SIZE}


@pytest.mark.parametrize("turn", range(3))
def test_who_withdraws_while_pages_still_send_leaves_nothing(crowded: Platform, turn: int) -> None:
    made = open_campaign(crowded, 12, replication=3)
    leaving = enter(crowded, made.key)
    plan = []
    for _ in range(4):
        at = journey.next_state(crowded, leaving, now=NOW).assignment
        assert at is not None
        plan.append(at.id)
        rating.skip_item(crowded, leaving, at.id, now=NOW)

    def act(worker: int) -> None:
        if worker == turn * 5:
            withdrawal.withdraw_rater(crowded, leaving.id, now=NOW)
            return
        one = plan[worker % len(plan)]
        try:
            if worker % 2:
                rating.save_answers(crowded, leaving, one, f"{worker}", given("No"), now=NOW)
            else:
                rating.submit_answers(crowded, leaving, one, f"{worker}", given("No"), now=NOW)
        except NotAllowed as error:
            assert "withdrawn" in str(error)  # noqa: PT017 - whichever comes first

    at_once(act)
    assert kept(crowded, plan) == {}
    assert check_loads(crowded, made.id) == {0: 12}


def test_who_goes_on_while_their_visit_is_given_back_is_told(crowded: Platform) -> None:
    made = open_campaign(crowded, 3, **PAYING)
    rater = enter(crowded, made.key)
    submission = arrived(crowded, Prolific(), made.id, rater.id, "ACTIVE")
    rating.stop_rating(crowded, rater, now=NOW)
    with ThreadPoolExecutor(1) as threads:
        with crowded.database.writing() as tx:
            # As far as the word of the return has come when they go on.
            campaigns.get_campaign(tx, made.id, lock=True)
            going_on = threads.submit(rating.resume_rating, crowded, rater, now=NOW)
            wait([going_on], timeout=0.3)
            recruits.set_recruit_status(tx, submission, "RETURNED", now=NOW)
        with pytest.raises(Conflict, match="nobody would pay you"):
            going_on.result()


def test_who_stops_on_one_device_and_rates_on_another_is_never_in_a_knot(crowded: Platform) -> None:
    made = open_campaign(crowded, 3)
    rater = enter(crowded, made.key)
    acts = (rating.stop_rating, rating.resume_rating, journey.next_state)
    for _ in range(5):
        at_once(lambda n: acts[n % 3](crowded, rater, now=NOW))
    assert check_loads(crowded, made.id) == {1: 3}
