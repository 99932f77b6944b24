"""Random answers of rehearsals."""

import numpy as np

from dissensus.campaign.rehearsal import FIRST_ANSWER_SHARE, draw_answers
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
