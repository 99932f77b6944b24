"""Definition of a questionnaire: questions, aggregates, wordings, and validation of answers."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.questionnaire import answers as answers_schema
from dissensus.schema.questionnaire.faults import AnswerProblem, combine_problems, describe_type
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Answer, Question, Wording, empty_wording

Subject: TypeAlias = Literal["item", "rater"]
SUBJECTS: Final[tuple[Subject, ...]] = get_args(Subject)
Judged: TypeAlias = Literal["response", "conversation"]
JUDGED: Final[tuple[Judged, ...]] = get_args(Judged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading above several questions, with an explanation."""

    text: Wording
    help: Wording = field(default_factory=empty_wording)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questionnaire:
    """The questions of a campaign, and the aggregation of their answers.

    Parameters
    ----------
    name
        Name to load it by.
    questions
        The granular questions, in the order of their columns.
    overalls
        Each aggregated column with the names of the questions that it is aggregated from.
    leading
        Columns of its released file before those of the questions.
    flagged_raters
        Ids of raters whom the authors of the dataset removed.
    about
        ``item``, or ``rater`` where raters describe themselves.
    judged
        What of an item raters judge: the last ``response``, which is marked, or the whole ``conversation``.
    languages
        Languages of all that raters read, as BCP 47 tags, the first language first; none where it has no wordings.
    title, introduction
        What raters read first.
    headings
        Headings by the name that questions give.

    Notes
    -----
    `parse_questionnaire` makes one from TOML and checks it. One made by hand is taken as it is.
    """

    name: str
    questions: tuple[Question, ...]
    overalls: Mapping[str, tuple[str, ...]]
    leading: tuple[str, ...] = ()
    flagged_raters: tuple[str, ...] = ()
    about: Subject = "item"
    judged: Judged = "response"
    languages: tuple[str, ...] = ()
    title: Wording = field(default_factory=empty_wording)
    introduction: Wording = field(default_factory=empty_wording)
    headings: Mapping[str, Heading] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of its released file, in order."""
        return (*self.leading, *(question.name for question in self.questions), *self.overalls)

    @property
    def digest(self) -> str:
        """SHA-256 of all that it says, in hexadecimal: another one means that something was changed.

        It is that of `as_mapping` as JSON with sorted keys, no spaces and ASCII alone.
        """
        text = json.dumps(self.as_mapping(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def as_mapping(self) -> dict[str, Any]:
        """Return what `parse_questionnaire` reads as this questionnaire; what is as by default is left out."""
        categories = {question.category for question in self.questions}
        overall = next((name for name in self.overalls if name not in categories), None)
        mapping = to_mapping(self)
        mapping.pop("overalls", None)
        return mapping if overall is None else {**mapping, "overall": overall}

    def scale(self, column: str) -> tuple[str, ...] | None:
        """Return the scale of a question or an overall, None where it is not known here."""
        name = self.overalls.get(column, (column,))[0]
        return next((question.scale for question in self.questions if question.name == name), None)

    def matches(self, columns: Collection[str]) -> bool:
        """Tell whether a table has every question and every overall of this questionnaire."""
        names = {question.name for question in self.questions} | set(self.overalls)
        return names <= set(columns)

    def asked(self, answers: Mapping[str, object]) -> tuple[Question, ...]:
        """Return the questions that apply, given the answers so far.

        Examples
        --------
        >>> from dissensus.schema.questionnaire.question import When
        >>> why = Question(name="Why", scale=(), kind="text", when=When(question="Q1", answers=("Yes",)))
        >>> both = Questionnaire(name="two", questions=(Question(name="Q1", scale=("No", "Yes")), why), overalls={})
        >>> [question.name for question in both.asked({"Q1": "No"})]
        ['Q1']
        >>> [question.name for question in both.asked({"Q1": "Yes"})]
        ['Q1', 'Why']
        """
        return answers_schema.applicable_questions(self.questions, _mapping(answers))

    def check(self, answers: Mapping[str, object], *, complete: bool) -> dict[str, Answer]:
        """Return the answers as they are stored, of the questions that apply.

        Parameters
        ----------
        answers
            By the name of the question, and of the text that an answer opens (`Question.own_words`). Nothing, blank
            text and an empty list are no answer.
        complete
            Whether every required question that applies must have an answer.

        Returns
        -------
        dict
            One answer as text, several as a tuple in the order of the scale, a text without blanks around it. Answers
            to questions that do not apply are left out.

        Raises
        ------
        InvalidInput
            The message names everything that is wrong.

        Examples
        --------
        >>> colours = Question(name="Colours", scale=("red", "blue", "none"), kind="multiple", exclusive=("none",))
        >>> survey = Questionnaire(name="survey", questions=(colours,), overalls={})
        >>> survey.check({"Colours": ["blue", "red"]}, complete=True)
        {'Colours': ('red', 'blue')}
        >>> survey.check({"Colours": ["none", "red"]}, complete=True)
        Traceback (most recent call last):
            ...
        dissensus.errors.InvalidInput: The answer to survey has a fault:
        - Colours: 'none' goes with no other answer, and 'red' is chosen too. Choose one or the other.
        """
        kept, faults = answers_schema.check_answers(self.questions, _mapping(answers), complete=complete)
        if faults:
            raise combine_problems(f"The answer to {self.name}", faults)
        return kept

    def faults(self, answers: Mapping[str, object], *, complete: bool) -> tuple[AnswerProblem, ...]:
        """Return what `check` would refuse, each beside the name of its question; nothing if all is well."""
        return answers_schema.check_answers(self.questions, _mapping(answers), complete=complete)[1]


def _mapping(answers: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(answers, Mapping):
        raise InvalidInput(
            f"Answers are {describe_type(answers)}. Give a mapping from the name of each question to its answer."
        )
    return answers
