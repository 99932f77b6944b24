"""One question as data: what it asks, what may be answered, and how far both may go."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from dissensus.schema.ratings.columns import OWN_WORDS

Kind: TypeAlias = Literal["single", "multiple", "likert", "text"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

Wording: TypeAlias = Mapping[str, str]
"""One text that raters read, in each language."""

Answer: TypeAlias = str | tuple[str, ...]
"""What is stored: one answer, the text, or all that were chosen."""

LONGEST_NAME: Final = 200
LONGEST_ANSWER: Final = 500
LONGEST_WORDING: Final = 10_000
MOST_ANSWERS: Final = 300
"""Room for a list of all countries."""
MOST_EXAMPLES: Final = 20
MOST_CHARACTERS: Final = 2_000
"""How long a text may be unless the question says otherwise."""
LONGEST_TEXT: Final = 20_000
"""How long a question may let a text be."""


def no_wording() -> Wording:
    """Return the wording of what has none."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Asked only if an earlier question has one of some answers.

    Parameters
    ----------
    question
        Name of the earlier question.
    answers
        Any of them will do.
    """

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, answered once by each rater of an item, or once about themselves.

    Parameters
    ----------
    name
        Name of its column.
    scale
        Its answers, in order: from no problem to the worst, where it counts. Empty where the answer is a text.
    category
        The overall that it is aggregated into, besides the overall of everything.
    counts
        Whether it enters the overall of everything.
    kind
        ``single``, one of its scale; ``multiple``, any of them; ``likert``, one step; or ``text``.
    text, help
        What raters read: the question, and what it means.
    examples
        Cases that show what is meant.
    labels
        What is shown for an answer; where there is none, the answer itself. Stored is always the answer.
    heading
        Name of the heading that it stands under.
    when
        Asked only then; None where it is always asked.
    required
        Whether an answer is needed.
    exclusive
        Answers of a multiple question that go with no other.
    self_describe
        The answer that opens a text field of its own.
    decline
        The answer that means "prefer not to answer". It is no part of the scale, and always allowed.
    longest
        Most characters of a text.
    most
        How many answers of a multiple question may be chosen; None for any number.
    cut
        The first step of a likert scale that counts as yes, where two classes are told apart; None where none are.
    """

    name: str
    scale: tuple[str, ...]
    category: str | None = None
    counts: bool = True
    kind: Kind = "single"
    text: Wording = field(default_factory=no_wording)
    help: Wording = field(default_factory=no_wording)
    examples: tuple[Wording, ...] = ()
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))
    heading: str | None = None
    when: When | None = None
    required: bool = True
    exclusive: tuple[str, ...] = ()
    self_describe: str | None = None
    decline: str | None = None
    longest: int = MOST_CHARACTERS
    most: int | None = None
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
