"""Strict parser of the responses of a judge: one JSON object with an answer to every question."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from dissensus.schema.questionnaire.answers import check_answers
from dissensus.schema.questionnaire.question import Answer, Question

Outcome = Literal["answered", "refused", "not_json", "not_valid", "cut"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""Outcomes of a request: answers; a refusal of the provider or the model; text that is not one JSON object; answers
that are missing or not on the scale; a response that reached its limit of length."""
_FENCE: Final = re.compile(r"\A```(?:json)?[ \t]*\n(.*?)\n?```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedResponse:
    """Outcome of a response: its answers, or the fault for which it does not count."""

    outcome: Outcome
    answers: dict[str, Answer] | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """Response to a request as the server gave it."""

    key: str  # Key of the request
    text: str = ""
    refusal: str = ""  # Message of a provider or model that refused
    is_cut: bool = False  # True if it reached its limit of length
    model: str = ""  # Name as reported by the server
    prompt_tokens: int | None = None
    response_tokens: int | None = None


class _RepeatedName(ValueError):
    pass


def parse_response(text: str, questions: Sequence[Question], *, is_cut: bool = False) -> ParsedResponse:
    """Parse a response of a judge; nothing is guessed.

    A response counts if it is one JSON object, alone or in one fenced block, that answers every required question that
    applies with an answer of its scale, and names no other.

    Examples
    --------
    >>> safe = Question(name="Q1", scale=("No", "Yes"))
    >>> parse_response('{"Q1": "Yes"}', [safe]).answers
    {'Q1': 'Yes'}
    >>> parse_response("Yes, it is.", [safe]).outcome, parse_response('{"Q1": "Maybe"}', [safe]).outcome
    ('not_json', 'not_valid')
    """
    if is_cut:
        return ParsedResponse(outcome="cut", fault="The response reached its limit of length.")
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    try:
        value = json.loads(
            fenced[1] if fenced else stripped, object_pairs_hook=_read_pairs, parse_constant=_refuse_constant
        )
    except _RepeatedName as error:
        return ParsedResponse(outcome="not_valid", fault=f"The name {error} occurs twice.")
    except (ValueError, RecursionError):
        return ParsedResponse(outcome="not_json", fault="The response is not one JSON object.")
    if not isinstance(value, dict):
        return ParsedResponse(outcome="not_json", fault="The response is not one JSON object.")
    answers, problems = check_answers(questions, value, complete=True)
    if problems:
        return ParsedResponse(outcome="not_valid", fault="; ".join(str(problem) for problem in problems[:3]))
    return ParsedResponse(outcome="answered", answers=answers)


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise _RepeatedName(json.dumps(name))
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
