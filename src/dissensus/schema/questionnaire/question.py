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
"""What is stored: one answer, the text, or all that were chosen."""

MAX_COLUMN_NAME: Final = 200
MAX_ANSWER_LENGTH: Final = 500
MAX_WORDING_LENGTH: Final = 10_000
MAX_ANSWERS: Final = 300
"""Room for a list of all countries."""
MAX_EXAMPLES: Final = 20
DEFAULT_TEXT_LENGTH: Final = 2_000
"""How long a text may be unless the question says otherwise."""
MAX_TEXT_LENGTH: Final = 20_000
"""How long a question may let a text be."""


def empty_wording() -> Wording:
    """Return the wording of what has none."""
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
    scale: tuple[str, ...]  # from no problem to the worst, where it counts; empty for a text
    category: str | None = None  # overall that it is aggregated into, besides the overall of everything
    counts: bool = True  # towards the overall of everything
    kind: QuestionKind = (
        "single"  # ``single``, one of its scale; ``multiple``, any of them; ``likert``, one step; or ``text``
    )
    text: Wording = field(default_factory=empty_wording)
    help: Wording = field(default_factory=empty_wording)
    examples: tuple[Wording, ...] = ()
    # shown in place of an answer; the answer itself is stored
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))
    heading: str | None = None
    when: When | None = None
    required: bool = True
    exclusive: tuple[str, ...] = ()  # answers of a multiple question that exclude all others
    self_describe: str | None = None  # answer that opens a text field
    decline: str | None = None  # answer "prefer not to answer", outside the scale and always allowed
    longest: int = DEFAULT_TEXT_LENGTH  # characters of a text
    most: int | None = None  # answers of a multiple question; None for any number
    cut: str | None = None  # first step of a likert scale that counts as yes in two classes

    @property
    def answers(self) -> tuple[str, ...]:
        """All answers that may be chosen: the scale, then the one that declines."""
        return self.scale if self.decline is None else (*self.scale, self.decline)

    @property
    def own_words(self) -> str | None:
        """Name of the text that `self_describe` opens, None where nothing does."""
        return None if self.self_describe is None else self.name + OWN_WORDS

    def label(self, answer: str, language: str) -> str:
        """Return what is shown for an answer.

        Examples
        --------
        >>> question = Question(name="Q1", scale=("No", "Yes"), labels={"No": {"de": "Nein"}})
        >>> question.label("No", "de"), question.label("Yes", "de")
        ('Nein', 'Yes')
        """
        return self.labels.get(answer, {}).get(language, answer)
