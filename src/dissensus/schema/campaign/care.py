"""Rater care settings."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dissensus.schema.item_sets import TOPICS, split_set
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Wording, empty_wording

MAX_CONTACT_LENGTH: Final = 500
"""Characters of contact details."""
MAX_TOPICS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSettings:
    """Settings of the well-being survey, the contact and the topics that raters may skip."""

    survey: Questionnaire  # all questions are optional
    survey_every: int = 10  # items or conversations between two surveys
    contact: Wording = field(default_factory=empty_wording)  # shown on request; empty for none
    topics: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))  # as raters read them, by name

    def is_survey_due(self, n_done: int, n_asked: int) -> bool:
        """Return whether a survey is due, after `n_done` items and `n_asked` surveys.

        Examples
        --------
        >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
        >>> care = CareSettings(survey=load_questionnaire("care-survey"), survey_every=3)
        >>> [n for n in range(8) if care.is_survey_due(n, 0)], care.is_survey_due(5, 1), care.is_survey_due(6, 1)
        ([3, 4, 5, 6, 7], False, True)
        """
        return n_done // self.survey_every > n_asked


def has_topic(attributes: Mapping[str, str], topics: Collection[str]) -> bool:
    """Return whether the attributes of an item name one of some topics.

    Examples
    --------
    >>> has_topic({"harm_type": "Legal, Violent"}, ["Violent"]), has_topic({"topic": "Violent/Gory"}, ["Violent"])
    (True, False)
    """
    return any(topic in topics for name in TOPICS for topic in split_set(attributes.get(name, "")))
