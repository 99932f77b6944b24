"""One question as data: what it asks, what may be answered, and how far both may go."""

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
    """Asked only if an earlier question has one of some answers."""

    question: str  # Name of the earlier question
    answers: tuple[str, ...]  # Any of them will do


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, answered once by each rater of an item, or once about themselves."""

    name: str  # Name of its column
    # Its answers, in order: from no problem to the worst, where it counts. Empty where the answer is a text.
    scale: tuple[str, ...]
    category: str | None = None  # The overall that it is aggregated into, besides the overall of everything
    counts: bool = True  # Whether it enters the overall of everything
    kind: QuestionKind = "single"  # ``single``, one of its scale; ``multiple``, any of them; ``likert``, one step; or ``text``
    text: Wording = field(default_factory=empty_wording)  # What raters read: the question, and what it means
    help: Wording = field(default_factory=empty_wording)
    examples: tuple[Wording, ...] = ()  # Cases that show what is meant
    # What is shown for an answer; where there is none, the answer itself. Stored is always the answer.
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))
    heading: str | None = None  # Name of the heading that it stands under
    when: When | None = None  # Asked only then; None where it is always asked
    required: bool = True  # Whether an answer is needed
    exclusive: tuple[str, ...] = ()  # Answers of a multiple question that go with no other
    self_describe: str | None = None  # The answer that opens a text field of its own
    # The answer that means "prefer not to answer". It is no part of the scale, and always allowed.
    decline: str | None = None
    longest: int = DEFAULT_TEXT_LENGTH  # Most characters of a text
    most: int | None = None  # How many answers of a multiple question may be chosen; None for any number
    # The first step of a likert scale that counts as yes, where two classes are told apart; None where none are
    cut: str | None = None

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
