"""Two responses that raters compare: what they are asked for, and their preference as one more question of an item."""

from dataclasses import dataclass, replace
from typing import Final

from dissensus.schema.campaign.chat import STRONGEST
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.records.preference import Asked

PREFERENCE: Final = "Q_preference"
"""The question that a preference answers: below 0 for response A of the item, above for B, further off the stronger."""

_TURNED: Final = {str(one): str(-one) for one in range(-STRONGEST, STRONGEST + 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How raters compare two responses in a campaign.

    Parameters
    ----------
    compared
        Which of the two they pick.
    equal
        Whether the two may be called equal.
    """

    compared: Asked
    equal: bool = False

    @property
    def strengths(self) -> tuple[int, ...]:
        """The steps from much more A to much more B, without 0 where the two may not be called equal."""
        return tuple(one for one in range(-STRONGEST, STRONGEST + 1) if one or self.equal)

    def asked(self, further: Questionnaire) -> Questionnaire:
        """Return what is asked about each item: the preference, then all that a questionnaire asks."""
        preference = Question(name=PREFERENCE, scale=tuple(map(str, self.strengths)), kind="likert")
        return replace(further, questions=(preference, *further.questions))


def without_preference(questionnaire: Questionnaire) -> Questionnaire:
    """Return what is asked besides the preference."""
    return replace(questionnaire, questions=tuple(one for one in questionnaire.questions if one.name != PREFERENCE))


def turned(strength: str) -> str:
    """Return a preference as it is where the two responses change places.

    Examples
    --------
    >>> turned("-3"), turned("0"), turned("none of them")
    ('3', '0', 'none of them')
    """
    return _TURNED.get(strength, strength)
