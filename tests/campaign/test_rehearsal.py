"""Random answers of rehearsals."""

import numpy as np

from dissensus.campaign.rehearsal import FIRST_ANSWER_SHARE, REHEARSAL_TEXT, draw_answers
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question

QUESTIONNAIRE = Questionnaire(
    name="two-questions",
    questions=(
        Question(name="Q_harm", scale=("No", "Unsure", "Yes")),
        Question(name="Q_kinds", scale=("insult", "threat", "slur"), kind="multiple"),
    ),
    overalls={},
)


def test_the_first_answer_of_a_scale_is_drawn_with_its_share() -> None:
    rng = np.random.default_rng(18)
    answers = [draw_answers(QUESTIONNAIRE, rng)["Q_harm"] for _ in range(600)]
    assert abs(answers.count("No") / 600 - FIRST_ANSWER_SHARE) < 0.05
    assert {"No", "Unsure", "Yes"} == set(answers)


def test_multiple_answers_are_drawn_in_every_number() -> None:
    rng = np.random.default_rng(18)
    assert {len(draw_answers(QUESTIONNAIRE, rng)["Q_kinds"]) for _ in range(60)} == {1, 2, 3}


def test_texts_are_written_where_they_are_required_and_not_too_long() -> None:
    texts = (
        Question(name="Q_why", scale=(), kind="text", max_length=4),
        Question(name="Q_more", scale=(), kind="text", required=False),
    )
    answers = draw_answers(Questionnaire(name="texts", questions=texts, overalls={}), np.random.default_rng(18))
    assert answers == {"Q_why": REHEARSAL_TEXT[:4]}


def test_no_more_answers_are_drawn_than_allowed_and_none_beside_an_exclusive_one() -> None:
    scale = ("insult", "threat", "slur", "none")
    question = Question(name="Q_kinds", scale=scale, kind="multiple", max_answers=2, exclusive=("none",))
    questionnaire = Questionnaire(name="one-question", questions=(question,), overalls={})
    rng = np.random.default_rng(18)
    drawn = [draw_answers(questionnaire, rng)["Q_kinds"] for _ in range(60)]
    assert {len(answer) for answer in drawn} == {1, 2}
    assert not any("none" in answer for answer in drawn)
