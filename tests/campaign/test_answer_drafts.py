"""Merging and digests of answer saves, and answer times."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.campaign import AnswerSave, DraftAnswer, answer_time_ms, merge_saves
from dissensus.campaign.answer_drafts import digest_save, find_superseded, open_time_ms, select_submitted

VALUES = st.none() | st.sampled_from(["No", "Unsure", "Yes"])
DRAFT = DraftAnswer(value="No", first_ms=1, last_ms=2, changes=3)
DRAFT_CHANGES: tuple[dict[str, Any], ...] = (
    {"value": "Yes"},
    {"first_ms": 0},
    {"last_ms": 3},
    {"changes": 4},
    {"bulk": True},
)
ANSWERS = st.dictionaries(st.sampled_from(["Q1", "Q2", "Q3"]), VALUES, max_size=3)


def save(
    revision: int, answers: dict[str, str | None], *, visit: str = "v", visible_ms: int = 0, idle_ms: int = 0
) -> AnswerSave:
    drafts = {name: DraftAnswer(value=value) for name, value in answers.items()}
    return AnswerSave(revision=revision, visit=visit, visible_ms=visible_ms, idle_ms=idle_ms, answers=drafts)


@st.composite
def saves(draw: st.DrawFn) -> list[AnswerSave]:
    """Draw saves of one assignment in the order of their distinct revisions."""
    answers_by_save = draw(st.lists(ANSWERS, max_size=6))
    return [save(revision, answers) for revision, answers in enumerate(answers_by_save, 1)]


@quick
@given(saves(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(page_saves: list[AnswerSave], random: object) -> None:
    arrived = list(page_saves)
    random.shuffle(arrived)  # type: ignore[attr-defined]
    assert merge_saves(arrived) == merge_saves(page_saves)


@quick
@given(saves())
def test_the_last_answer_to_each_question_counts(page_saves: list[AnswerSave]) -> None:
    last: dict[str, str | None] = {}
    for draft in page_saves:
        last.update({name: answer.value for name, answer in draft.answers.items()})  # type: ignore[misc]
    assert {name: answer.value for name, answer in merge_saves(page_saves).items()} == {
        name: value for name, value in last.items() if value is not None
    }


@quick
@given(saves())
def test_the_same_save_again_changes_nothing(page_saves: list[AnswerSave]) -> None:
    assert merge_saves([*page_saves, *page_saves]) == merge_saves(page_saves)


def test_the_later_of_two_saves_with_one_revision_counts() -> None:
    assert merge_saves([save(1, {"Q1": "No"}), save(1, {"Q1": "Yes"})])["Q1"].value == "Yes"


def test_the_final_save_with_the_latest_revision_is_submitted() -> None:
    """Of two final saves with one revision the later arrival counts; answers of others are not added."""
    finals = [
        save(2, {"Q1": "No", "Q2": "No"}),
        save(3, {"Q1": "Yes"}),
        save(3, {"Q1": "Unsure"}),
        save(1, {"Q3": "No"}),
    ]
    assert {name: answer.value for name, answer in select_submitted(finals).items()} == {"Q1": "Unsure"}


def test_a_removed_answer_is_missing_until_it_is_given_again() -> None:
    removed = [save(1, {"Q1": "No"}), save(2, {"Q1": None})]
    assert merge_saves(removed) == {}
    assert merge_saves([*removed, save(3, {"Q1": "Yes"})])["Q1"].value == "Yes"
    # A save that arrives late does not restore it.
    assert merge_saves([save(2, {"Q1": None}), save(1, {"Q1": "No"})]) == {}


def test_a_question_that_a_later_save_leaves_out_keeps_its_answer() -> None:
    assert set(merge_saves([save(1, {"Q1": "No"}), save(2, {"Q2": "Yes"})])) == {"Q1", "Q2"}


TIMES = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 10**6)), max_size=8)


@quick
@given(TIMES)
def test_a_visit_counts_once_with_its_longest_time(times: list[tuple[str, int]]) -> None:
    page_saves = [save(1, {}, visit=visit, visible_ms=ms) for visit, ms in times]
    visits = {visit for visit, _ in times}
    assert answer_time_ms(page_saves) == sum(max(ms for other, ms in times if other == visit) for visit in visits)
    assert (
        answer_time_ms(reversed(page_saves)) == answer_time_ms(page_saves) == answer_time_ms([*page_saves, *page_saves])
    )


def test_without_saves_there_is_no_answer_and_no_time() -> None:
    assert merge_saves([]) == {}
    assert answer_time_ms([]) == 0


SAVES = st.builds(
    save,
    st.integers(1, 9),
    ANSWERS,
    visit=st.sampled_from("ab"),
    visible_ms=st.integers(0, 9),
    idle_ms=st.integers(0, 9),
)


def active_times(saves: list[AnswerSave]) -> dict[str, int]:
    """Return the longest time of each visit without idling."""
    return {
        visit: max(one.visible_ms - one.idle_ms for one in saves if one.visit == visit)
        for visit in {one.visit for one in saves}
    }


@quick
@given(st.lists(SAVES))
def test_superseded_saves_say_nothing_more(page_saves: list[AnswerSave]) -> None:
    superseded = find_superseded(page_saves)
    others = [draft for position, draft in enumerate(page_saves) if position not in superseded]
    assert merge_saves(others) == merge_saves(page_saves)
    assert answer_time_ms(others) == answer_time_ms(page_saves)
    assert active_times(others) == active_times(page_saves)
    assert max((one.revision for one in others), default=0) == max((one.revision for one in page_saves), default=0)
    assert find_superseded(others) == ()
    assert len(page_saves) - 1 not in superseded


def test_drafts_of_a_visit_leave_the_last_answer_to_each_question() -> None:
    page_saves = [save(number, {f"Q{number % 5}": "Yes"}, visible_ms=number) for number in range(1, 1001)]
    assert find_superseded(page_saves) == tuple(range(995))


def test_the_open_time_is_the_sum_of_the_longest_of_each_visit() -> None:
    visits = [("a", None), ("a", 200), ("a", 700), ("b", 50), ("c", None)]
    page_saves = [
        AnswerSave(revision=n, visit=visit, visible_ms=900, idle_ms=0, open_ms=open_ms, answers={})
        for n, (visit, open_ms) in enumerate(visits, 1)
    ]
    assert open_time_ms(page_saves) == 750
    assert open_time_ms(page_saves[:1]) is None
    assert open_time_ms(page_saves[n] for n in range(5) if n not in find_superseded(page_saves)) == 750


@pytest.mark.parametrize(
    "change",
    [
        {"revision": 4},
        {"visit": "w"},
        {"visible_ms": 11},
        {"idle_ms": 6},
        {"open_ms": 0},
        {"answers": {}},
        *({"answers": {"Q1": replace(DRAFT, **part)}} for part in DRAFT_CHANGES),
    ],
    ids=str,
)
def test_the_digest_of_a_save_depends_on_each_of_its_fields(change: dict[str, Any]) -> None:
    stored = AnswerSave(revision=3, visit="v", visible_ms=10, idle_ms=5, answers={"Q1": DRAFT})
    assert digest_save(stored) == digest_save(replace(stored))
    assert digest_save(replace(stored, **change)) != digest_save(stored)
    assert len({digest_save(stored, first) for first in (None, "a", "b")}) == 3
