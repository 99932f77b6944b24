"""Forms and saves that pages submit, parsed and validated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.datastructures import FormData

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Heading, Questionnaire
from dissensus.schema.questionnaire.question import Answer, Question

MAX_SEED: Final = 2**32 - 1
MAX_MS: Final = 7 * 24 * 3600 * 1000
Milliseconds = Annotated[int, Field(ge=0, le=MAX_MS)]
NUL: Final = "\0"
"""PostgreSQL cannot store it in text."""
Id = Annotated[str, StringConstraints(max_length=36, pattern=r"^[^\x00]+$")]
Name = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00]+$")]
FAULT_MESSAGES: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "means nothing here",
    "json_invalid": "is no JSON",
    "string_too_long": "is too long: it may have {max_length:,} characters",
    "too_long": "has too many parts: it may have {max_length:,}",
    "greater_than_equal": "must be a number from {ge:,} on",
    "less_than_equal": "must be a number up to {le:,}",
    "int_type": "must be a whole number",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "bool_parsing": "must be 1 or 0",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "string_unicode": "has half of a surrogate pair, which is no text",
    "string_too_short": "is too short: it must have {min_length:,} or more characters",
    "too_short": "has too few parts: it must have {min_length:,} or more",
    "string_pattern_mismatch": "must be as the pattern {pattern} says",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "literal_error": "must be one of {expected}",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "definition_type": "must be a text or an object",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
}
"""Messages by Pydantic error type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """Questions with the answers so far and their faults."""

    questionnaire: Questionnaire
    answers: Mapping[str, Answer | list[str]] = field(default_factory=dict)  # What was answered, by name
    # What is wrong with an answer, by name: the check that it did not pass
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[tuple[Heading | None, tuple[Question, ...]], ...]:
        """Questions in order, grouped by shared heading."""
        headings = self.questionnaire.headings
        together = groupby(self.questionnaire.questions, key=lambda question: question.heading)
        return tuple((headings.get(name or ""), tuple(questions)) for name, questions in together)


class SubmittedAnswer(BaseModel):
    """One answer as a page submits it."""

    model_config = ConfigDict(extra="forbid")

    value: str | list[str] | None
    first_ms: Milliseconds = 0
    last_ms: Milliseconds = 0
    changes: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class DraftSubmission(BaseModel):
    """One save of answers as a page submits it."""

    model_config = ConfigDict(extra="forbid")

    key: UUID
    revision: Annotated[int, Field(ge=1, le=1_000_000_000)]
    visit: Id
    visible_ms: Milliseconds
    idle_ms: Milliseconds
    answers: Annotated[dict[Name, SubmittedAnswer], Field(max_length=1_000)]
    final: bool = False

    def save(self) -> AnswerSave:
        """Return it as a domain object."""
        answers = {
            name: DraftAnswer(
                value=tuple(one.value) if isinstance(one.value, list) else one.value,
                first_ms=one.first_ms,
                last_ms=one.last_ms,
                changes=one.changes,
            )
            for name, one in self.answers.items()
        }
        return AnswerSave(
            revision=self.revision,
            visit=self.visit,
            visible_ms=self.visible_ms,
            idle_ms=self.idle_ms,
            answers=answers,
        )


def read_save(body: bytes) -> DraftSubmission:
    """Parse a save from JSON; raise `InvalidInput` if it is invalid."""
    try:
        return DraftSubmission.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise InvalidInput(f"What was sent cannot be read: {place} {describe_form_fault(first)}") from None


def describe_form_fault(fault: Mapping[str, Any]) -> str:
    """Describe what is wrong with a value, with the remedy.

    Examples
    --------
    >>> describe_form_fault({"type": "string_too_long", "ctx": {"max_length": 100}})
    'is too long: it may have 100 characters. Load the page again, or open your link again.'
    """
    return f"{describe_fault(fault)}. Load the page again, or open your link again."


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Describe what is wrong with a value.

    Examples
    --------
    >>> describe_fault({"type": "missing"})
    'is missing'
    """
    return FAULT_MESSAGES.get(fault["type"], "is not what it may be").format(**fault.get("ctx", {}))


def parse_whole_number(text: str, what: str, least: int, most: int) -> int:
    """Parse a whole number within limits.

    Examples
    --------
    >>> parse_whole_number(" 20 ", "of raters", 1, 20)
    20
    """
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise InvalidInput(
            f"{format_value(text)} is no number {what}. Write a whole number from {least:,} to {most:,}."
        )
    return int(text)


def read_answers(form: FormData, questionnaire: Questionnaire) -> dict[str, Any]:
    """Return the answers of a form by question, lists for multiple choice."""
    found: dict[str, Any] = {}
    for question in questionnaire.questions:
        values = [value for value in form.getlist(question.name) if isinstance(value, str) and value]
        if values:
            found[question.name] = values if question.kind == "multiple" else values[0]
        own = question.own_words
        words = None if own is None else form.get(own)
        if own is not None and isinstance(words, str) and words.strip():
            found[own] = words
    return found


async def check_storable(request: Request) -> None:
    """Raise `InvalidInput` for NUL characters in the address or form."""
    values: list[object] = [request.scope["path"], *request.query_params.values()]
    if "form" in request.headers.get("content-type", ""):
        values += (await request.form()).values()
    if any(isinstance(value, str) and NUL in value for value in values):
        raise InvalidInput("What was sent has a NUL in it, which cannot be kept. Take it out.")
