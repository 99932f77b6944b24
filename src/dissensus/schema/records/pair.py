"""Pairwise comparison of two responses, with the preference as a question."""

from dataclasses import dataclass, replace
from typing import Final

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.records.preference import MAX_STRENGTH, Criterion

PREFERENCE: Final = "Q_preference"
"""Question for the preference: negative for response A of the item, positive for B, larger if stronger."""

_SWAPPED: Final = {str(step): str(-step) for step in range(-MAX_STRENGTH, MAX_STRENGTH + 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """Settings for comparing two responses in a campaign."""

    criterion: Criterion
    allow_ties: bool = False

    @property
    def strengths(self) -> tuple[int, ...]:
        """Steps from a strong preference for A to one for B; 0 if a tie is allowed."""
        return tuple(step for step in range(-MAX_STRENGTH, MAX_STRENGTH + 1) if step or self.allow_ties)

    def add_preference(self, questionnaire: Questionnaire) -> Questionnaire:
        """Return a questionnaire with the preference as its first question."""
        preference = Question(name=PREFERENCE, scale=tuple(map(str, self.strengths)), kind="likert")
        return replace(questionnaire, questions=(preference, *questionnaire.questions))


def remove_preference(questionnaire: Questionnaire) -> Questionnaire:
    """Return a questionnaire without the preference."""
    questions = tuple(question for question in questionnaire.questions if question.name != PREFERENCE)
    return replace(questionnaire, questions=questions)


def is_preference(question: Question) -> bool:
    """Return whether a question compares two responses: by name, and by a scale that a swap of them reverses.

    Examples
    --------
    >>> is_preference(Question(name="Q_preference", scale=("-1", "0", "1")))
    True
    >>> is_preference(Question(name="Q_preference", scale=("the first", "the second")))
    False
    """
    reverse = tuple(map(_SWAPPED.get, reversed(question.scale)))
    return question.name == PREFERENCE and question.kind != "text" and question.scale == reverse


def swap_preference(strength: str) -> str:
    """Return a preference after the two responses are swapped.

    Examples
    --------
    >>> swap_preference("-3"), swap_preference("0"), swap_preference("none of them")
    ('3', '0', 'none of them')
    """
    return _SWAPPED.get(strength, strength)
