"""Pairwise comparison of two responses, with the preference as an additional question."""

from dataclasses import dataclass, replace
from typing import Final

from dissensus.schema.campaign.chat import MAX_STRENGTH
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.records.preference import Criterion

PREFERENCE: Final = "Q_preference"
"""The question that a preference answers: below 0 for response A of the item, above for B, further off the stronger."""

_SWAPPED: Final = {str(one): str(-one) for one in range(-MAX_STRENGTH, MAX_STRENGTH + 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """Settings for comparing two responses in a campaign."""

    compared: Criterion  # which of the two raters pick
    equal: bool = False  # whether the two may be called equal

    @property
    def strengths(self) -> tuple[int, ...]:
        """The steps from much more A to much more B, without 0 where the two may not be called equal."""
        return tuple(one for one in range(-MAX_STRENGTH, MAX_STRENGTH + 1) if one or self.equal)

    def asked(self, further: Questionnaire) -> Questionnaire:
        """Return what is asked about each item: the preference, then all that a questionnaire asks."""
        preference = Question(name=PREFERENCE, scale=tuple(map(str, self.strengths)), kind="likert")
        return replace(further, questions=(preference, *further.questions))


def without_preference(questionnaire: Questionnaire) -> Questionnaire:
    """Return what is asked besides the preference."""
    return replace(questionnaire, questions=tuple(one for one in questionnaire.questions if one.name != PREFERENCE))


def swap_preference(strength: str) -> str:
    """Return a preference as it is where the two responses change places.

    Examples
    --------
    >>> swap_preference("-3"), swap_preference("0"), swap_preference("none of them")
    ('3', '0', 'none of them')
    """
    return _SWAPPED.get(strength, strength)
