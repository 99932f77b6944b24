"""Random answers for rehearsals of a questionnaire."""

import numpy as np

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Answer, Question

# How often the first answer of a scale is given: most things are no problem.
FIRST_ANSWER_SHARE = 0.7
REHEARSAL_TEXT = "These words were drawn, and nobody wrote them."


def draw_answers(questionnaire: Questionnaire, rng: np.random.Generator) -> dict[str, Answer]:
    """Draw a complete set of answers that the questionnaire takes, follow-ups among them.

    Examples
    --------
    >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
    >>> dices = load_questionnaire("dices-350")
    >>> drawn = draw_answers(dices, np.random.default_rng(0))
    >>> dices.check(drawn, complete=True) == drawn
    True
    """
    answers: dict[str, Answer] = {}
    for question in questionnaire.questions:
        if question in questionnaire.asked(answers):
            drawn = _draw(question, rng)
            if drawn:
                answers[question.name] = drawn
    return answers


def _draw(question: Question, rng: np.random.Generator) -> Answer:
    if question.kind == "text":
        return REHEARSAL_TEXT[: question.longest] if question.required else ""
    shares = np.full(len(question.scale), (1 - FIRST_ANSWER_SHARE) / max(1, len(question.scale) - 1))
    shares[0] = FIRST_ANSWER_SHARE
    if question.kind != "multiple":
        return question.scale[int(rng.choice(len(question.scale), p=shares / shares.sum()))]
    together = [answer for answer in question.scale if answer not in question.exclusive]
    chosen = [answer for answer in together if rng.random() < 0.5]
    if question.most is not None:
        chosen = chosen[: question.most]
    return tuple(chosen or together[:1] or question.scale[:1])
