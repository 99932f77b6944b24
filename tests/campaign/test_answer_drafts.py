"""Which answers hold, in whatever order they came."""

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.campaign import AnswerSave, DraftAnswer, answer_time_ms, merge_saves

VALUES = st.none() | st.sampled_from(["No", "Unsure", "Yes"])
ANSWERS = st.dictionaries(st.sampled_from(["Q1", "Q2", "Q3"]), VALUES, max_size=3)


def save(revision: int, answers: dict[str, str | None], *, visit: str = "v", visible_ms: int = 0) -> AnswerSave:
    given = {name: DraftAnswer(value=value) for name, value in answers.items()}
    return AnswerSave(revision=revision, visit=visit, visible_ms=visible_ms, idle_ms=0, answers=given)


@st.composite
def saves(draw: st.DrawFn) -> list[AnswerSave]:
    """Saves of one assignment, each with a revision of its own, in the order of the revisions."""
    every = draw(st.lists(ANSWERS, max_size=6))
    return [save(revision, answers) for revision, answers in enumerate(every, 1)]


@quick
@given(saves(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(sent: list[AnswerSave], random: object) -> None:
    arrived = list(sent)
    random.shuffle(arrived)  # type: ignore[attr-defined]
    assert merge_saves(arrived) == merge_saves(sent)


@quick
@given(saves())
def test_the_last_word_on_each_question_holds(sent: list[AnswerSave]) -> None:
    last: dict[str, str | None] = {}
    for one in sent:
        last.update({name: answer.value for name, answer in one.answers.items()})  # type: ignore[misc]
    assert {name: answer.value for name, answer in merge_saves(sent).items()} == {
        name: value for name, value in last.items() if value is not None
    }


@quick
@given(saves())
def test_the_same_save_again_changes_nothing(sent: list[AnswerSave]) -> None:
    assert merge_saves([*sent, *sent]) == merge_saves(sent)


def test_of_two_saves_with_one_revision_the_later_one_holds() -> None:
    assert merge_saves([save(1, {"Q1": "No"}), save(1, {"Q1": "Yes"})])["Q1"].value == "Yes"


def test_what_was_taken_back_is_no_answer_until_it_is_given_again() -> None:
    back = [save(1, {"Q1": "No"}), save(2, {"Q1": None})]
    assert merge_saves(back) == {}
    assert merge_saves([*back, save(3, {"Q1": "Yes"})])["Q1"].value == "Yes"
    # The same words that come late do not bring it back.
    assert merge_saves([save(2, {"Q1": None}), save(1, {"Q1": "No"})]) == {}


def test_a_question_that_a_later_save_leaves_out_keeps_its_answer() -> None:
    assert set(merge_saves([save(1, {"Q1": "No"}), save(2, {"Q2": "Yes"})])) == {"Q1", "Q2"}


TIMES = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 10**6)), max_size=8)


@quick
@given(TIMES)
def test_a_visit_counts_once_with_its_longest_time(times: list[tuple[str, int]]) -> None:
    sent = [save(1, {}, visit=visit, visible_ms=ms) for visit, ms in times]
    visits = {visit for visit, _ in times}
    assert answer_time_ms(sent) == sum(max(ms for one, ms in times if one == visit) for visit in visits)
    assert answer_time_ms(reversed(sent)) == answer_time_ms(sent) == answer_time_ms([*sent, *sent])


def test_without_saves_there_is_no_answer_and_no_time() -> None:
    assert merge_saves([]) == {}
    assert answer_time_ms([]) == 0
