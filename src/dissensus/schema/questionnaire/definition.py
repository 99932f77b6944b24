"""Definition of a questionnaire: questions, aggregates, wordings, and validation of answers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.canonical_json import digest_json
from dissensus.schema.questionnaire import answers as answers_schema
from dissensus.schema.questionnaire.faults import AnswerProblem, combine_problems, describe_type
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Answer, Question, Wording, empty_wording

Subject: TypeAlias = Literal["item", "rater"]
SUBJECTS: Final[tuple[Subject, ...]] = get_args(Subject)
RatingTarget: TypeAlias = Literal["response", "conversation"]
RATING_TARGETS: Final[tuple[RatingTarget, ...]] = get_args(RatingTarget)


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
        Names of the questions from which each aggregated column is computed, by the name of the column.
    leading_columns
        Columns of its released file before those of the questions.
    flagged_raters
        Ids of raters whom the authors of the dataset removed.
    about
        ``item``, or ``rater`` where raters describe themselves.
    rating_target
        The part of an item to rate: the last ``response``, which is highlighted, or the whole ``conversation``.
    languages
        Languages of the wordings, as BCP 47 tags, the default first; empty without wordings.
    title, introduction
        Texts above the questions.
    headings
        Headings by the name that questions refer to.

    Notes
    -----
    `parse_questionnaire` reads one from TOML and checks it; the constructor checks nothing.
    """

    name: str
    questions: tuple[Question, ...]
    overalls: Mapping[str, tuple[str, ...]]
    leading_columns: tuple[str, ...] = ()
    flagged_raters: tuple[str, ...] = ()
    about: Subject = "item"
    rating_target: RatingTarget = "response"
    languages: tuple[str, ...] = ()
    title: Wording = field(default_factory=empty_wording)
    introduction: Wording = field(default_factory=empty_wording)
    headings: Mapping[str, Heading] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of its released file, in order."""
        return (*self.leading_columns, *(question.name for question in self.questions), *self.overalls)

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of `as_mapping`, as JSON with sorted keys, without spaces, in ASCII."""
        return digest_json(self.as_mapping())

    def as_mapping(self) -> dict[str, Any]:
        """Return the input of `parse_questionnaire` without default values."""
        categories = {question.category for question in self.questions}
        overall = next((name for name in self.overalls if name not in categories), None)
        mapping = to_mapping(self)
        mapping.pop("overalls", None)
        return mapping if overall is None else {**mapping, "overall": overall}

    def scale(self, column: str) -> tuple[str, ...] | None:
        """Return the scale of a question or an overall, None for other columns."""
        name = self.overalls.get(column, (column,))[0]
        return next((question.scale for question in self.questions if question.name == name), None)

    def matches(self, columns: Collection[str]) -> bool:
        """Return whether a table has all questions and overalls of this questionnaire."""
        names = {question.name for question in self.questions} | set(self.overalls)
        return names <= set(columns)

    def applicable_questions(self, answers: Mapping[str, object]) -> tuple[Question, ...]:
        """Return the questions that apply, given the answers so far.

        Examples
        --------
        >>> from dissensus.schema.questionnaire.question import When
        >>> why = Question(name="Why", scale=(), kind="text", when=When(question="Q1", answers=("Yes",)))
        >>> survey = Questionnaire(name="two", questions=(Question(name="Q1", scale=("No", "Yes")), why), overalls={})
        >>> [question.name for question in survey.applicable_questions({"Q1": "No"})]
        ['Q1']
        >>> [question.name for question in survey.applicable_questions({"Q1": "Yes"})]
        ['Q1', 'Why']
        """
        return answers_schema.applicable_questions(self.questions, _require_mapping(answers))

    def check(self, answers: Mapping[str, object], *, complete: bool) -> dict[str, Answer]:
        """Validate answers, and return those to questions that apply in canonical form.

        Parameters
        ----------
        answers
            Answers by name of the question, or of the text that an answer opens (`Question.own_words`). None, blank
            text and an empty list count as no answer.
        complete
            Require an answer to every required question that applies.

        Returns
        -------
        dict
            One answer as text, several as a tuple in the order of the scale, a text without surrounding blanks.
            Answers to questions that do not apply are left out.

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
        - Colours: 'none' excludes other answers, and 'red' is chosen too. Choose one or the other.
        """
        canonical, faults = answers_schema.check_answers(self.questions, _require_mapping(answers), complete=complete)
        if faults:
            raise combine_problems(f"The answer to {self.name}", faults)
        return canonical

    def faults(self, answers: Mapping[str, object], *, complete: bool) -> tuple[AnswerProblem, ...]:
        """Return the problems that `check` raises, empty if the answers are valid."""
        return answers_schema.check_answers(self.questions, _require_mapping(answers), complete=complete)[1]


def _require_mapping(answers: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(answers, Mapping):
        raise InvalidInput(
            f"Answers are {describe_type(answers)}. Give a mapping from the name of each question to its answer."
        )
    return answers
