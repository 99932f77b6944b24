"""Many raters at once, and one rater on several devices at once."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from random import Random
from typing import TypeVar

import pytest
from sqlalchemy import select
from sqlalchemy.orm import aliased
from tests.support.campaigns import AGREED, NOW, open_campaign
from tests.support.prolific_server import Prolific
from tests.support.recruited_raters import PAYING, add_submission

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer, merge_saves
from dissensus.errors import Conflict, NotAllowed
from dissensus.store import answer_drafts, assignments, campaigns, recruits
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.core.database import connect
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit, items
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import assignment, enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

THREADS = 16
Result = TypeVar("Result")


@pytest.fixture
def crowded(database_url: str) -> Iterator[Platform]:
    """A platform with a connection for each thread."""
    platform = Platform(connect(database_url, pool_size=THREADS))
    yield platform
    platform.close()


def run_concurrently(act: Callable[[int], Result]) -> list[Result]:
    """Call a function in many threads, and return the results."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(act, range(THREADS)))


def enter(platform: Platform, key: str | None) -> RaterRow:
    return enrolment.enrol_rater(platform, Arrival("pilot", str(key), "en"), AGREED, now=NOW)[0]


def make_save(answer: str, revision: int = 1) -> AnswerSave:
    return AnswerSave(
        revision=revision, visit="v", visible_ms=1000, idle_ms=0, answers={"Q_safe": DraftAnswer(value=answer)}
    )


def load_answers(platform: Platform, assignment_ids: list[str]) -> dict[str, object]:
    """Return the current answer to Q_safe by assignment."""
    with platform.database.reading() as tx:
        saves = answer_drafts.load_saves(tx, assignment_ids)
    return {one: merge_saves(theirs)["Q_safe"].value for one, theirs in saves.items() if theirs}


def check_loads(platform: Platform, campaign_id: str) -> Counter[int]:
    """Check loads against the assignments, and return the number of items with each load."""
    with platform.database.reading() as tx:
        counted = Counter(
            tx.scalars(select(AssignmentTable.item_id).where(AssignmentTable.state.in_(assignments.LOAD_STATES)))
        )
        item_loads = assignments.load_item_loads(tx, campaign_id, "nobody")
    loads = dict(zip(item_loads.ids, item_loads.loads.tolist(), strict=True))
    assert loads == {one: counted[one] for one in item_loads.ids}
    return Counter(loads.values())


def test_concurrent_raters_enter_rate_and_skip(crowded: Platform) -> None:
    campaign = open_campaign(crowded, 12, replication=4)

    def take_part(worker: int) -> tuple[int, dict[str, str]]:
        rng = Random(worker)
        answers: dict[str, str] = {}
        rater = enter(crowded, campaign.key)
        state = next_step.find_next_step(crowded, rater, now=NOW)
        while state.assignment is not None:
            assignment_id = state.assignment.id
            if rng.random() < 0.3:
                state = rating.skip_item(crowded, rater, assignment_id, now=NOW)
                continue
            draft, answer = rng.choice(["No", "Yes"]), rng.choice(["No", "Unsure", "Yes"])
            rating.save_answers(
                crowded, rater, assignment_id, f"draft-{assignment_id[-20:]}", make_save(draft), now=NOW
            )
            state = rating.submit_answers(
                crowded, rater, assignment_id, assignment_id, make_save(answer, revision=2), now=NOW
            )
            answers[assignment_id] = answer
        return rater.number, answers

    results = run_concurrently(take_part)
    assert sorted(number for number, _ in results) == list(range(THREADS))
    answers = {assignment_id: answer for _, theirs in results for assignment_id, answer in theirs.items()}
    assert load_answers(crowded, list(answers)) == answers
    assert max(check_loads(crowded, campaign.id)) <= 4
    with crowded.database.reading() as tx:
        assert len(set(tx.scalars(select(SaveTable.key)))) == len(answers)


def test_concurrent_repeats_of_a_submission_count_once(crowded: Platform) -> None:
    campaign = open_campaign(crowded, 2)
    rater = enter(crowded, campaign.key)
    assignment = next_step.find_next_step(crowded, rater, now=NOW).assignment
    assert assignment is not None
    states = run_concurrently(
        lambda _: rating.submit_answers(crowded, rater, assignment.id, "same", make_save("Yes"), now=NOW)
    )
    assert {step.progress.n_done for step in states} == {1}
    assert load_answers(crowded, [assignment.id]) == {assignment.id: "Yes"}
    assert check_loads(crowded, campaign.id) == {1: 2}


def test_one_rater_on_many_devices_has_one_plan(crowded: Platform) -> None:
    campaign = open_campaign(crowded, 30, replication=2)
    rater = enter(crowded, campaign.key)
    states = run_concurrently(lambda _: next_step.find_next_step(crowded, rater, now=NOW))
    assert len({step.assignment and step.assignment.id for step in states}) == 1
    assert check_loads(crowded, campaign.id) == {1: assignment.BATCH_SIZE, 0: 30 - assignment.BATCH_SIZE}


@pytest.mark.parametrize("turn", range(3))
def test_a_withdrawal_during_submissions_leaves_no_answers(crowded: Platform, turn: int) -> None:
    campaign = open_campaign(crowded, 12, replication=3)
    leaving = enter(crowded, campaign.key)
    plan = []
    for _ in range(4):
        assignment = next_step.find_next_step(crowded, leaving, now=NOW).assignment
        assert assignment is not None
        plan.append(assignment.id)
        rating.skip_item(crowded, leaving, assignment.id, now=NOW)

    def act(worker: int) -> None:
        if worker == turn * 5:
            withdrawal.withdraw_rater(crowded, leaving.id, now=NOW)
            return
        assignment_id = plan[worker % len(plan)]
        try:
            if worker % 2:
                rating.save_answers(crowded, leaving, assignment_id, f"{worker}", make_save("No"), now=NOW)
            else:
                rating.submit_answers(crowded, leaving, assignment_id, f"{worker}", make_save("No"), now=NOW)
        except NotAllowed as error:
            assert "withdrawn" in str(error)  # noqa: PT017 - whichever comes first

    run_concurrently(act)
    assert load_answers(crowded, plan) == {}
    assert check_loads(crowded, campaign.id) == {0: 12}


def test_resuming_during_a_return_is_refused(crowded: Platform) -> None:
    campaign = open_campaign(crowded, 3, **PAYING)
    rater = enter(crowded, campaign.key)
    submission = add_submission(crowded, Prolific(), campaign.id, rater.id, "ACTIVE")
    rating.stop_rating(crowded, rater, now=NOW)
    with ThreadPoolExecutor(1) as threads:
        with crowded.database.writing() as tx:
            # The rater resumes while the transaction of the return is open.
            campaigns.get_campaign(tx, campaign.id, lock=True)
            going_on = threads.submit(rating.resume_rating, crowded, rater, now=NOW)
            wait([going_on], timeout=0.3)
            recruits.set_recruit_status(tx, submission, "RETURNED")
        with pytest.raises(Conflict, match="further work would not be paid"):
            going_on.result()


def test_concurrent_stops_and_resumptions_do_not_deadlock(crowded: Platform) -> None:
    campaign = open_campaign(crowded, 3)
    rater = enter(crowded, campaign.key)
    acts = (rating.stop_rating, rating.resume_rating, next_step.find_next_step)
    for _ in range(5):
        run_concurrently(lambda n: acts[n % 3](crowded, rater, now=NOW))
    assert check_loads(crowded, campaign.id) == {1: 3}


def test_an_item_is_withheld_while_a_rater_skips_its_repeat(crowded: Platform) -> None:
    campaign = open_campaign(crowded, 24, repeat={"share": 0.5, "distance": 3})
    rater = enter(crowded, campaign.key)
    next_step.find_next_step(crowded, rater, now=NOW)
    again = aliased(AssignmentTable)
    with crowded.database.reading() as tx:
        pair = select(AssignmentTable.id, ItemTable.position).join(ItemTable)
        pair = pair.join(again, (again.item_id == AssignmentTable.item_id) & (again.showing == 2))
        # The second showing has the lower id, which is random.
        first = tx.execute(pair.where(AssignmentTable.showing == 1, again.id < AssignmentTable.id)).first()
    assert first is not None
    withhold = partial(items.withhold_items, withheld=True, staff_id=campaign.staff_id, now=NOW)
    with ThreadPoolExecutor(1) as threads:
        with crowded.database.writing() as tx:
            skipped = assignments.find_assignment(tx, rater.id, first.id, lock=True)
            assert skipped is not None
            withholding = threads.submit(withhold, crowded, "pilot", [first.position])
            wait([withholding], timeout=0.3)
            assignments.close_assignment(tx, skipped, "skipped", now=NOW)
            assignments.reclaim_repeat(tx, skipped, now=NOW)
        assert withholding.result() == 1
    assert audit.audit_campaign(crowded, "pilot").holds
