"""How a campaign looks after its raters: how they are asked how they feel, who is told, and what they may leave out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Wording, empty_wording

LONGEST_REACH: Final = 500
"""Characters of how somebody can be reached."""
MOST_TOPICS: Final = 50
SAYING: Final = ("harm_type", "topic")
"""Attributes that say what an item is about, with commas between topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """How raters are asked how they feel."""

    survey: Questionnaire  # What they are asked; each question can be left out
    every: int = 10  # After how many items or conversations
    # Who is there for them, told only of those who want that; empty where nobody is
    contact: Wording = field(default_factory=empty_wording)
    # What raters may say they do not want to meet, each with what they read; none where they are not asked
    topics: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))

    def due(self, n_done: int, n_asked: int) -> bool:
        """Tell whether a rater is asked now, given how much they did and how often they were asked.

        Examples
        --------
        >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
        >>> care = Care(survey=load_questionnaire("feelings"), every=3)
        >>> [n for n in range(8) if care.due(n, n_asked=0)], care.due(5, n_asked=1), care.due(6, n_asked=1)
        ([3, 4, 5, 6, 7], False, True)
        """
        return n_done // self.every > n_asked


def is_about(attributes: Mapping[str, str], topics: Collection[str]) -> bool:
    """Tell whether an item is about one of some topics, by its attributes.

    Examples
    --------
    >>> is_about({"harm_type": "Legal, Violent"}, ["Violent"]), is_about({"topic": "Violent/Gory"}, ["Violent"])
    (True, False)
    """
    return any(part.strip() in topics for name in SAYING for part in attributes.get(name, "").split(","))
