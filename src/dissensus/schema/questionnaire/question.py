"""Definition of one question, and limits on its texts and answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from dissensus.schema.ratings.columns import OWN_WORDS

QuestionKind: TypeAlias = Literal["single", "multiple", "likert", "text"]
KINDS: Final[tuple[QuestionKind, ...]] = get_args(QuestionKind)

Wording: TypeAlias = Mapping[str, str]
"""One text that raters read, in each language."""

Answer: TypeAlias = str | tuple[str, ...]
"""A stored answer: one answer, a text, or several answers."""

MAX_COLUMN_NAME: Final = 200
MAX_ANSWER_LENGTH: Final = 500
MAX_WORDING_LENGTH: Final = 10_000
MAX_ANSWERS: Final = 300
"""Enough for a list of all countries."""
MAX_EXAMPLES: Final = 20
DEFAULT_TEXT_LENGTH: Final = 2_000
"""Default length limit of a text."""
MAX_TEXT_LENGTH: Final = 20_000
"""Upper bound of the length limit."""
MAX_ITEM_TEXT: Final = 240_000
"""Characters of all texts about an item: a save of at most 1 MiB has room for them in any script."""

MAX_RATER_TEXT: Final = 80_000
"""Characters of all texts about a rater: a form takes up to twelve bytes for each."""


def empty_wording() -> Wording:
    """Return a wording in no language."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Condition: ask only if an earlier question has one of these answers."""

    question: str
    answers: tuple[str, ...]  # any of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, answered once by each rater about an item, or once about themselves."""

    name: str
    scale: tuple[str, ...]  # from no problem to the worst, if it counts towards an overall; empty for a text
    category: str | None = None  # aggregated column besides the overall
    in_overall: bool = True
    kind: QuestionKind = "single"  # one answer; ``multiple`` for any number, ``likert`` for a step, or ``text``
    text: Wording = field(default_factory=empty_wording)
    help: Wording = field(default_factory=empty_wording)
    examples: tuple[Wording, ...] = ()
    # displayed in place of an answer; the answer itself is stored
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))
    heading: str | None = None
    when: When | None = None
    required: bool = True
    exclusive: tuple[str, ...] = ()  # answers that exclude all others, if multiple
    self_describe: str | None = None  # answer that opens a text field
    decline: str | None = None  # answer "prefer not to answer", outside the scale
    max_length: int = DEFAULT_TEXT_LENGTH  # maximum characters of a text
    max_answers: int | None = None  # maximum number of answers, if multiple; None for no limit
    threshold: str | None = None  # first step that counts as yes, if likert

    @property
    def answers(self) -> tuple[str, ...]:
        """All possible answers: the scale, then the answer that declines."""
        return self.scale if self.decline is None else (*self.scale, self.decline)

    @property
    def own_words(self) -> str | None:
        """Name of the text that `self_describe` opens, None without it."""
        return None if self.self_describe is None else self.name + OWN_WORDS

    def label(self, answer: str, language: str) -> str:
        """Return the label of an answer.

        Examples
        --------
        >>> question = Question(name="Q1", scale=("No", "Yes"), labels={"No": {"de": "Nein"}})
        >>> question.label("No", "de"), question.label("Yes", "de")
        ('Nein', 'Yes')
        """
        return self.labels.get(answer, {}).get(language, answer)
