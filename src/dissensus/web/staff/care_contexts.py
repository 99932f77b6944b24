"""What the page about how raters feel shows; it is in English."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from dissensus.schema.campaign.definition import worded
from dissensus.web.core.translations import FIRST
from dissensus.workflows.rater.care import CareSummary

if TYPE_CHECKING:
    from dissensus.schema.questionnaire.question import Question
    from dissensus.store.care import Feeling

PUBLISHED: Final[Mapping[str, float]] = {
    "rater_upset": 0.31,
    "rater_hostile": 0.16,
    "rater_alert": 1.02,
    "rater_ashamed": 0.24,
    "rater_inspired": 0.92,
    "rater_nervous": 0.24,
    "rater_determined": 0.98,
    "rater_attentive": 1.73,
    "rater_afraid": 0.24,
    "rater_active": 1.33,
}
"""Means of 49 answers of 15 people after red teaming (Ganguli et al. 2022, appendix)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarePage:
    """Who wants the contact to know how they feel, and how all feel."""

    template: ClassVar[str] = "owner/care.html"

    owner: str
    form_token: str
    name: str
    cared: CareSummary
    language: str = FIRST

    @property
    def means(self) -> tuple[tuple[str, float | None, int, float | None], ...]:
        """What is asked, the mean of raters, of how many, and the published one."""
        questions = self.cared.survey.questions
        return tuple(
            (worded(one.text, FIRST) or one.name, *self.cared.means[one.name], PUBLISHED.get(one.name))
            for one in questions
        )

    def said(self, feeling: "Feeling") -> tuple[tuple[str, str], ...]:
        """Return what one rater said, in words."""
        questions = self.cared.survey.questions
        given = [(one, feeling.answers[one.name]) for one in questions if one.name in feeling.answers]
        return tuple((worded(one.text, FIRST) or one.name, _in_words(one, answer)) for one, answer in given)


def _in_words(question: "Question", answer: "str | Sequence[str]") -> str:
    return ", ".join(question.label(one, FIRST) for one in ([answer] if isinstance(answer, str) else answer))
