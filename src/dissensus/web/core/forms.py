"""Forms, saves and files that pages submit, parsed and validated."""

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeVar
from uuid import UUID

from fastapi import Request
from markupsafe import Markup, escape
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.datastructures import FormData, Headers

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.raw.limits import restrict_to_upload
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import parse_digits
from dissensus.schema.questionnaire.definition import Heading, Questionnaire
from dissensus.schema.questionnaire.question import Answer, Question
from dissensus.web.core.json_body import SMALL_BYTES, parse_json

UNSAFE_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9._-]")
Result = TypeVar("Result")

MAX_FIELD_BYTES: Final = 256 << 10
"""Maximum field of a form without files; decoding it blocks other requests."""
MAX_CARRIED_BYTES: Final = 8 << 20
"""Maximum field of a form with files: items as a page carries them from step to step."""
MAX_SEED: Final = 2**32 - 1
MAX_MS: Final = 7 * 24 * 3600 * 1000
Milliseconds = Annotated[int, Field(ge=0, le=MAX_MS)]
NUL: Final = "\0"
"""PostgreSQL cannot store it in text."""
Id = Annotated[str, StringConstraints(max_length=36, pattern=r"^[^\x00]+$")]
Name = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00]+$")]
ERROR_MESSAGES: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not a field here",
    "json_invalid": "is not valid JSON",
    "string_too_long": "is too long: at most {max_length:,} characters are allowed",
    "too_long": "has too many entries: at most {max_length:,} are allowed",
    "greater_than_equal": "must be {ge:,} or more",
    "less_than_equal": "must be {le:,} or less",
    "int_type": "must be a whole number",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "bool_parsing": "must be 1 or 0",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "string_unicode": "has an unpaired surrogate, which is not valid text",
    "string_too_short": "is too short: at least {min_length:,} characters are required",
    "too_short": "has too few entries: at least {min_length:,} are required",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "literal_error": "must be one of {expected}",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "definition_type": "must be a text or an object",
    "conversation_choice": "needs one of conversation, messages and turns",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
}
"""Messages by Pydantic error type."""
MAX_COLUMNS: Final = 5
MAX_COLUMN_LABEL: Final = 8
"""Maximum columns of a grid of questions, and characters of a label: a phone shows them beside the questions."""


def is_multipart(headers: Headers) -> bool:
    """Return whether the body is a multipart form, which may contain files."""
    return headers.get("content-type", "").lower().startswith("multipart/form-data")


class QuestionGroup(NamedTuple):
    """Consecutive questions under one heading, if any."""

    heading: Heading | None
    questions: tuple[Question, ...]

    def grid_labels(self, language: str) -> tuple[str, ...]:
        """Labels of the common answers, if the questions fit into one grid with a column for each answer."""
        scales = {tuple(question.label(answer, language) for answer in question.answers) for question in self.questions}
        [labels, *others] = scales
        fits = 1 < len(labels) <= MAX_COLUMNS and all(len(label) <= MAX_COLUMN_LABEL for label in labels)
        simple = all(one.kind in ("single", "likert") and not one.when and not one.own_words for one in self.questions)
        return labels if fits and simple and not others and len(self.questions) > 1 else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """Questions with the answers so far and their faults."""

    questionnaire: Questionnaire
    answers: Mapping[str, Answer | list[str]] = field(default_factory=dict)  # By question
    faults: Mapping[str, str] = field(default_factory=dict)  # Failed check by question
    bulk: frozenset[str] = frozenset()  # Questions that were answered in bulk

    @property
    def groups(self) -> tuple[QuestionGroup, ...]:
        """Questions in order, grouped by shared heading."""
        headings = self.questionnaire.headings
        by_heading = groupby(self.questionnaire.questions, key=lambda question: question.heading)
        return tuple(QuestionGroup(headings.get(name or ""), tuple(questions)) for name, questions in by_heading)

    def answer_rest(self, first: str, language: str) -> "QuestionForm":
        """Return the form with the first answer to all unanswered questions of the grid that begins with a question."""
        grids = (group.questions for group in self.groups if group.grid_labels(language))
        grid = next((questions for questions in grids if questions[0].name == first), ())
        rest = {question.name: question.scale[0] for question in grid if question.name not in self.answers}
        return replace(self, answers={**self.answers, **rest}, bulk=self.bulk | rest.keys())


class SubmittedAnswer(BaseModel):
    """One answer as a page submits it."""

    model_config = ConfigDict(extra="forbid")

    value: str | list[str] | None
    first_ms: Milliseconds = 0
    last_ms: Milliseconds = 0
    changes: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    bulk: bool = False


class DraftSubmission(BaseModel):
    """One save of answers as a page submits it."""

    model_config = ConfigDict(extra="forbid")

    key: UUID
    revision: Annotated[int, Field(ge=1, le=1_000_000_000)]
    visit: Id
    visible_ms: Milliseconds
    idle_ms: Milliseconds
    open_ms: Milliseconds | None = None
    answers: Annotated[dict[Name, SubmittedAnswer], Field(max_length=1_000)]
    final: bool = False

    def to_save(self) -> AnswerSave:
        """Return the domain object."""
        answers = {
            name: DraftAnswer(
                value=tuple(answer.value) if isinstance(answer.value, list) else answer.value,
                first_ms=answer.first_ms,
                last_ms=answer.last_ms,
                changes=answer.changes,
                bulk=answer.bulk,
            )
            for name, answer in self.answers.items()
        }
        return AnswerSave(
            revision=self.revision,
            visit=self.visit,
            visible_ms=self.visible_ms,
            idle_ms=self.idle_ms,
            open_ms=self.open_ms,
            answers=answers,
        )


def read_save(body: bytes) -> DraftSubmission:
    """Parse a save from JSON; raise `InvalidInput` if it is invalid."""
    try:
        if len(body) <= SMALL_BYTES:
            return DraftSubmission.model_validate_json(body)
        return parse_json(DraftSubmission, body)
    except ValidationError as error:
        first: Mapping[str, Any] = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
    except InvalidInput:
        raise
    except ValueError:
        first, field = {"type": "json_invalid"}, "it"
    raise InvalidInput(f"The request cannot be read: {field} {describe_form_error(first)}")


def describe_form_error(error: Mapping[str, Any]) -> str:
    """Describe what is wrong with a value, with the remedy.

    Examples
    --------
    >>> describe_form_error({"type": "string_too_long", "ctx": {"max_length": 100}})
    'is too long: at most 100 characters are allowed. Load the page again, or open your link again.'
    """
    return f"{describe_error(error)}. Load the page again, or open your link again."


def describe_error(error: Mapping[str, Any]) -> str:
    """Describe what is wrong with a value.

    Examples
    --------
    >>> describe_error({"type": "missing"})
    'is missing'
    """
    return ERROR_MESSAGES.get(error["type"], "is not valid").format(**error.get("ctx", {}))


def parse_whole_number(text: str, purpose: str, minimum: int, maximum: int) -> int:
    """Parse a whole number within limits.

    Examples
    --------
    >>> parse_whole_number(" 20 ", "of raters", 1, 20)
    20
    """
    text = text.strip()
    number = parse_digits(text, 11)
    if number is None or not minimum <= number <= maximum:
        raise InvalidInput(
            f"{format_value(text)} is not a valid number {purpose}. "
            f"Write a whole number from {minimum:,} to {maximum:,}."
        )
    return number


def read_answers(form: FormData, questionnaire: Questionnaire) -> dict[str, Any]:
    """Return the answers of a form by question, lists for multiple choice."""
    answers: dict[str, Any] = {}
    for question in questionnaire.questions:
        values = [value for value in form.getlist(question.name) if isinstance(value, str) and value]
        if values:
            answers[question.name] = values if question.kind == "multiple" else values[0]
        own = question.own_words
        words = None if own is None else form.get(own)
        if own is not None and isinstance(words, str) and words.strip():
            answers[own] = words
    return answers


def read_bulk_questions(form: FormData, questionnaire: Questionnaire, answers: Mapping[str, Any]) -> frozenset[str]:
    """Return the questions that were answered in bulk, as a form names them, and whose answer is still the first."""
    firsts = {question.name: question.scale[0] for question in questionnaire.questions if question.scale}
    named = set(map(str, form.getlist("bulk_question"))) & firsts.keys()
    return frozenset(name for name in named if answers.get(name) == firsts[name])


async def read_form_data(request: Request) -> FormData:
    """Return a submitted form, with limits on the number and size of its fields."""
    return await request.form(max_files=0, max_part_size=MAX_FIELD_BYTES)


async def check_storable(request: Request) -> None:
    """Raise `InvalidInput` for NUL characters in the address or form."""
    values: list[object] = [request.scope["path"], *(value for _, value in request.query_params.multi_items())]
    if "form" in request.headers.get("content-type", ""):
        values += (value for _, value in (await read_form_data(request)).multi_items())
    if any(isinstance(value, str) and NUL in value for value in values):
        raise InvalidInput("The request contains a NUL character, which cannot be stored. Remove it.")


def write_carried(rows: Iterable[object]) -> Markup:
    """Return rows as JSON for a hidden form field, since browsers do not resubmit files."""
    return Markup("[{}]").format(Markup(",").join(map(_write_row, rows)))


def check_carried(rows: Iterable[object]) -> None:
    """Raise `InvalidInput` for rows of items that are larger than a form can carry."""
    size = sum(len(_write_row(row).encode()) + 1 for row in rows)
    if size > MAX_CARRIED_BYTES:
        raise InvalidInput(
            f"A page carries at most {MAX_CARRIED_BYTES:,} bytes of items, and these have {size:,}. Use the command "
            "line for more: dissensus campaign add-items"
        )


def _write_row(row: object) -> Markup:
    # One call for all rows would block other requests.
    return escape(json.dumps(row, ensure_ascii=False))


def read_uploaded(name: str, content: bytes, read: Callable[[Path], Result]) -> Result:
    """Read an uploaded file; error messages do not show its temporary path."""
    # Readers recognise the kind of a file by its suffix.
    safe_name = UNSAFE_CHARACTERS.sub("_", Path(name).name)[-100:].lstrip(".-") or "file"
    with tempfile.TemporaryDirectory(prefix="dissensus-uploaded-") as folder:
        path = Path(folder) / safe_name
        path.write_bytes(content)
        try:
            with restrict_to_upload():
                return read(path)
        except DissensusError as error:
            raise InvalidInput(site_message(error).replace(f"{folder}/", "")) from None
