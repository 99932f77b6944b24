"""Rater care: well-being survey, contact, and topics that raters may skip."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Wording, empty_wording

MAX_CONTACT_LENGTH: Final = 500
"""Characters of how somebody can be reached."""
MAX_TOPICS: Final = 50
TOPIC_ATTRIBUTES: Final = ("harm_type", "topic")
"""Attributes that say what an item is about, with commas between topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSettings:
    """Well-being survey, contact, and topics that raters may skip."""

    survey: Questionnaire  # all questions are optional
    every: int = 10  # items or conversations between two surveys
    contact: Wording = field(default_factory=empty_wording)  # shown only to raters who ask for it; empty for nobody
    topics: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))  # topics that raters may skip

    def due(self, n_done: int, n_asked: int) -> bool:
        """Tell whether a rater is asked now, given how much they did and how often they were asked.

        Examples
        --------
        >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
        >>> care = CareSettings(survey=load_questionnaire("feelings"), every=3)
        >>> [n for n in range(8) if care.due(n, n_asked=0)], care.due(5, n_asked=1), care.due(6, n_asked=1)
        ([3, 4, 5, 6, 7], False, True)
        """
        return n_done // self.every > n_asked


def has_topic(attributes: Mapping[str, str], topics: Collection[str]) -> bool:
    """Tell whether an item is about one of some topics, by its attributes.

    Examples
    --------
    >>> has_topic({"harm_type": "Legal, Violent"}, ["Violent"]), has_topic({"topic": "Violent/Gory"}, ["Violent"])
    (True, False)
    """
    return any(part.strip() in topics for name in TOPIC_ATTRIBUTES for part in attributes.get(name, "").split(","))
