"""Random answers for rehearsals of a questionnaire."""

import numpy as np

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Answer, Question

# Probability of the first answer of a scale, since most items are harmless.
FIRST_ANSWER_SHARE = 0.7
REHEARSAL_TEXT = "Randomly generated text of a rehearsal."


def draw_answers(questionnaire: Questionnaire, rng: np.random.Generator) -> dict[str, Answer]:
    """Draw a complete set of valid answers, including follow-up questions.

    Examples
    --------
    >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
    >>> dices = load_questionnaire("dices-350")
    >>> answers = draw_answers(dices, np.random.default_rng(0))
    >>> dices.check(answers, complete=True) == answers
    True
    """
    answers: dict[str, Answer] = {}
    for question in questionnaire.questions:
        if question in questionnaire.applicable_questions(answers):
            answer = _draw_answer(question, rng)
            if answer:
                answers[question.name] = answer
    return answers


def _draw_answer(question: Question, rng: np.random.Generator) -> Answer:
    if question.kind == "text":
        return REHEARSAL_TEXT[: question.max_length] if question.required else ""
    shares = np.full(len(question.scale), (1 - FIRST_ANSWER_SHARE) / max(1, len(question.scale) - 1))
    shares[0] = FIRST_ANSWER_SHARE
    if question.kind != "multiple":
        return question.scale[int(rng.choice(len(question.scale), p=shares / shares.sum()))]
    combinable = [answer for answer in question.scale if answer not in question.exclusive]
    chosen = [answer for answer in combinable if rng.random() < 0.5]
    if question.max_answers is not None:
        chosen = chosen[: question.max_answers]
    return tuple(chosen or combinable[:1] or question.scale[:1])
