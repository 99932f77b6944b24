"""Answers: applicable questions, canonical values and problems."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.faults import MAX_LISTED
from dissensus.schema.questionnaire.question import Question, When
from dissensus.schema.questionnaire.shipped import load_questionnaire

DECLINED = "Prefer not to answer"

#: Q1 opens Q2, and Q2 opens Q3
SURVEY = Questionnaire(
    name="survey",
    overalls={},
    questions=(
        Question(name="Q1", scale=("No", "Unsure", "Yes"), decline=DECLINED),
        Question(
            name="Q2",
            kind="multiple",
            scale=("fire", "blades", "other", "none"),
            exclusive=("none",),
            self_describe="other",
            decline=DECLINED,
            max_length=10,
            when=When(question="Q1", answers=("Unsure", "Yes")),
        ),
        Question(name="Q3", kind="text", scale=(), max_length=20, when=When(question="Q2", answers=("fire", DECLINED))),
        Question(name="Q4", kind="likert", scale=("1", "2", "3"), required=False),
    ),
)


def applicable_names(answers: Mapping[str, object]) -> list[str]:
    return [question.name for question in SURVEY.applicable_questions(answers)]


def faults(answers: Mapping[str, object], *, complete: bool = False) -> list[tuple[str, str]]:
    return [(fault.question, fault.check) for fault in SURVEY.faults(answers, complete=complete)]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, ["Q1", "Q4"]),
        ({"Q1": "No"}, ["Q1", "Q4"]),
        ({"Q1": "Yes"}, ["Q1", "Q2", "Q4"]),
        ({"Q1": DECLINED}, ["Q1", "Q4"]),
        ({"Q1": "Unsure", "Q2": ["blades"]}, ["Q1", "Q2", "Q4"]),
        ({"Q1": "Unsure", "Q2": ["blades", "fire"]}, ["Q1", "Q2", "Q3", "Q4"]),
        ({"Q1": "Unsure", "Q2": [DECLINED]}, ["Q1", "Q2", "Q3", "Q4"]),
        ({"Q1": "No", "Q2": ["fire"]}, ["Q1", "Q4"]),
        ({"Q2": ["fire"]}, ["Q1", "Q4"]),
        ({"Q1": ["Yes"], "Q2": {"fire": 1}}, ["Q1", "Q2", "Q4"]),
    ],
)
def test_applicable_questions_depend_on_the_answers(answers: dict[str, Any], expected: list[str]) -> None:
    assert applicable_names(answers) == expected


def test_answers_are_returned_in_canonical_form() -> None:
    answers = {"Q1": "Yes", "Q2": ["other", "fire"], "Q2_text": " oil \n", "Q3": "\n It\rburnt.\r\nBadly. ", "Q4": "2"}
    assert SURVEY.check(answers, complete=True) == {
        "Q1": "Yes",
        "Q2": ("fire", "other"),
        "Q2_text": "oil",
        "Q3": "It\nburnt.\nBadly.",
        "Q4": "2",
    }


def test_answers_to_questions_that_do_not_apply_are_ignored() -> None:
    answers = {"Q1": "No", "Q2": ["fire", "nonsense"], "Q2_text": "x" * 50, "Q3": "\0"}
    assert SURVEY.check(answers, complete=True) == {"Q1": "No"}


def test_the_text_of_an_answer_that_was_not_chosen_is_left_out() -> None:
    assert SURVEY.check({"Q1": "Yes", "Q2": ["blades"], "Q2_text": "oil"}, complete=True) == {
        "Q1": "Yes",
        "Q2": ("blades",),
    }


def test_the_text_of_an_answer_may_be_left_empty() -> None:
    assert "Q2_text" not in SURVEY.check({"Q1": "Yes", "Q2": ["other"], "Q2_text": "  "}, complete=True)


def test_declining_is_an_answer_and_a_blank_is_not() -> None:
    assert SURVEY.check({"Q1": DECLINED}, complete=True) == {"Q1": DECLINED}
    assert SURVEY.check({"Q1": "Yes", "Q2": [DECLINED], "Q3": "x"}, complete=True)["Q2"] == (DECLINED,)
    assert faults({"Q1": " "}, complete=True) == [("Q1", "missing")]


@pytest.mark.parametrize("blank", [None, "", " \n", []])
def test_a_blank_is_not_an_answer(blank: object) -> None:
    assert SURVEY.check({"Q1": "Yes", "Q2": blank}, complete=False) == {"Q1": "Yes"}
    assert faults({"Q1": "Yes", "Q2": blank}, complete=True) == [("Q2", "missing")]


def test_incomplete_answers_can_be_saved() -> None:
    assert SURVEY.check({}, complete=False) == {}
    assert faults({}, complete=True) == [("Q1", "missing")]


@pytest.mark.parametrize(
    ("answers", "fault", "message"),
    [
        ({"Q9": "No"}, ("'Q9'", "unknown"), "There is no such question. There are 'Q1', 'Q2', 'Q2_text'"),
        ({10**5000: "No"}, ("a number", "unknown"), "There is no such question."),
        ({"Q1_text": "No"}, ("'Q1_text'", "unknown"), "Did you mean 'Q2_text'?"),
        ({"Q1": "yes"}, ("Q1", "scale"), "'yes' is not among its answers. Did you mean 'Yes'? Choose one of 'No', "),
        ({"Q1": "Yes "}, ("Q1", "scale"), "'Yes ' is not among its answers."),
        ({"Q1": True}, ("Q1", "form"), "The answer is true, not text. Choose one of 'No', 'Unsure', 'Yes'"),
        ({"Q1": ["Yes"]}, ("Q1", "form"), "The answer is a list, not text."),
        ({"Q1": 10**5000}, ("Q1", "form"), "The answer is a number, not text."),
        ({"Q4": 2}, ("Q4", "form"), "The answer is a number, not text. Choose one of '1', '2', '3'."),
        ({"Q1": "Yes", "Q2": "fire"}, ("Q2", "form"), "The answer is text, not a list. Choose some of 'fire'"),
        ({"Q1": "Yes", "Q2": ["fire", 3]}, ("Q2", "form"), "The answer is a number, not text."),
        ({"Q1": "Yes", "Q2": ["fire", "water"]}, ("Q2", "scale"), "'water' is not among its answers."),
        ({"Q1": "Yes", "Q2": ["none", "fire"]}, ("Q2", "exclusive"), "'none' excludes other answers, and 'fire'"),
        ({"Q1": "Yes", "Q2": ["fire", DECLINED]}, ("Q2", "exclusive"), f"'{DECLINED}' excludes other answers"),
        ({"Q1": "Yes", "Q2": ["other"], "Q2_text": "x" * 11}, ("Q2_text", "length"), "has 11 characters, and 10 are"),
        ({"Q1": "Yes", "Q2": ["other"], "Q2_text": ["x"]}, ("Q2_text", "form"), "The answer is a list, not text."),
        ({"Q1": "Yes", "Q2": ["fire"], "Q3": "x" * 21}, ("Q3", "length"), "has 21 characters, and 20 are allowed."),
        ({"Q1": "Yes", "Q2": ["fire"], "Q3": "a\0b"}, ("Q3", "characters"), "holds U+0000, which cannot be stored."),
        ({"Q1": "Yes", "Q2": ["fire"], "Q3": "\udfff"}, ("Q3", "characters"), "holds U+DFFF, which cannot be stored."),
        ({"Q1": "Yes", "Q2": ["fire"], "Q3": {"a": 1}}, ("Q3", "form"), "The answer is a table, not text."),
    ],
)
def test_an_invalid_answer_is_a_problem(answers: dict[str, Any], fault: tuple[str, str], message: str) -> None:
    problems = SURVEY.faults(answers, complete=False)
    assert [(problem.question, problem.check) for problem in problems] == [fault]
    assert message in problems[0].message
    with pytest.raises(InvalidInput) as caught:
        SURVEY.check(answers, complete=False)
    assert str(caught.value) == f"The answer to survey has a fault:\n- {problems[0]}"


def test_all_problems_are_listed_together() -> None:
    answers = {"Q1": "Yes", "Q2": ["fire"], "Q4": "4", "Q5": "?"}
    assert faults(answers, complete=True) == [("'Q5'", "unknown"), ("Q3", "missing"), ("Q4", "scale")]


def test_a_wrong_answer_is_not_missing_too() -> None:
    assert faults({"Q1": "Maybe"}, complete=True) == [("Q1", "scale")]


def test_a_long_list_of_problems_is_truncated() -> None:
    flood = {f"Q1{number}": "No" for number in range(20_000)}
    with pytest.raises(InvalidInput) as caught:
        SURVEY.check(flood, complete=False)
    assert len(str(caught.value).splitlines()) == MAX_LISTED + 2


@pytest.mark.parametrize("answers", [None, "Q1", ["Q1"], 3])
def test_answers_must_be_a_mapping(answers: Any) -> None:
    with pytest.raises(InvalidInput, match="Give a mapping from the name of each question to its answer"):
        SURVEY.check(answers, complete=False)


@pytest.mark.parametrize("text", ["\u202eabc\u202c", "e\u0301", "نعم\u200f", "👩\u200d🚒", "a\u200bb", "\ufeffx"])
def test_characters_of_scripts_and_direction_are_kept(text: str) -> None:
    answers = {"Q1": "Yes", "Q2": ["fire"], "Q3": text}
    assert SURVEY.check(answers, complete=True)["Q3"] == text


def test_a_complete_rating_of_dices_is_unchanged() -> None:
    dices = load_questionnaire("dices-350")
    rating = {question.name: question.scale[-1] for question in dices.questions}
    assert dices.check(rating, complete=True) == rating
    del rating["Q4_misinformation"]
    assert [str(fault) for fault in dices.faults(rating, complete=True)] == [
        "Q4_misinformation: There is no answer. Choose one of 'No', 'Unsure', 'Yes'."
    ]


CHOICES = st.sampled_from([*SURVEY.questions[0].answers, *SURVEY.questions[1].answers, "1", "3", "?", "", "\0"])
VALUES: st.SearchStrategy[Any] = st.one_of(CHOICES, st.lists(CHOICES, max_size=3), st.none(), st.integers(), st.text())
ANSWERS = st.dictionaries(st.sampled_from(["Q1", "Q2", "Q2_text", "Q3", "Q4", "Q5"]), VALUES)


@quick
@given(answers=ANSWERS, complete=st.booleans())
def test_every_answer_is_canonical_or_rejected(answers: dict[str, Any], complete: bool) -> None:
    problems = SURVEY.faults(answers, complete=complete)
    if problems:
        with pytest.raises(InvalidInput, match="The answer to survey has"):
            SURVEY.check(answers, complete=complete)
    else:
        canonical = SURVEY.check(answers, complete=complete)
        assert set(canonical) <= {*applicable_names(answers), "Q2_text"}
        assert SURVEY.check(canonical, complete=complete) == canonical
        assert applicable_names(canonical) == applicable_names(answers)


@quick
@given(choices=st.lists(st.sampled_from(["fire", "blades", "other"]), min_size=1))
def test_several_answers_are_stored_in_the_order_of_the_scale(choices: list[str]) -> None:
    canonical = SURVEY.check({"Q1": "Yes", "Q2": choices}, complete=False)["Q2"]
    assert canonical == tuple(answer for answer in SURVEY.questions[1].scale if answer in choices)


def test_the_number_of_answers_may_be_limited() -> None:
    review = load_questionnaire("red-team-review")
    answers = {"Q_success": "3", "Q_tags": ["Theft", "Weapons"]}
    assert review.check(answers, complete=True)["Q_tags"] == ("Theft", "Weapons")
    (fault,) = review.faults({**answers, "Q_tags": ["Theft", "Weapons", "Other", "Other"]}, complete=True)
    assert (fault.question, fault.check) == ("Q_tags", "many")
    assert "'Theft', 'Weapons', 'Other' are 3 answers, and at most 2 may be chosen" in fault.message
    assert review.check({"Q_success": "0"}, complete=True) == {"Q_success": "0"}
