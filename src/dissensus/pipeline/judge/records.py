"""Records of the requests to a judge: how each was presented, and its parsed and raw response."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from dissensus.errors import InvalidInput
from dissensus.pipeline.judge.pairs import unswap_answers
from dissensus.pipeline.judge.request_plan import JudgeRequest
from dissensus.pipeline.judge.response import OUTCOMES, Outcome, ParsedResponse, RawResponse, parse_response
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRecord:
    """A request with its response."""

    item_id: str
    number: int  # Number of the seed, from 1
    probe: str | None = None
    persona: str | None = None  # Axis and group: rater_gender=Woman
    questions: tuple[str, ...]  # In the order in which they were asked
    is_reversed: bool  # True if answers were listed from last to first
    wording: int = 0
    is_swapped: bool = False  # True if response B of a pair stood first; answers are about A and B
    outcome: Outcome
    answers: Mapping[str, Any] | None = None  # By name of the question
    fault: str = ""  # Reason for which the response does not count
    raw: str = ""  # The response, or the message of a provider that refused
    model: str = ""
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    key: str = ""

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Return the record of `to_dict`, checked."""
        try:
            record = cls(**{**row, "questions": tuple(row["questions"])})
        except (KeyError, TypeError):
            raise InvalidInput(f"{format_value(dict(row))} is not a response of a judge.") from None
        if record.outcome not in OUTCOMES or (record.outcome == "answered") != isinstance(record.answers, Mapping):
            raise InvalidInput(f"The response to {format_value(record.item_id)} has no valid outcome.")
        return record

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeResponses:
    """Responses of a judge, with the questionnaire that it answered.

    Parameters
    ----------
    judge
        Name of the judge.
    questionnaire
        The questionnaire.
    records
        Requests with their responses.
    """

    judge: str
    questionnaire: Questionnaire
    records: tuple[JudgeRecord, ...]


def build_record(request: JudgeRequest, response: RawResponse, questions: Mapping[str, Question]) -> JudgeRecord:
    """Parse the response to a request."""
    # In the order of the questionnaire, where a condition comes before the questions that depend on it.
    parsed = _parse(
        response, [question for name, question in questions.items() if name in request.presentation.questions]
    )
    is_swapped = request.presentation.is_swapped
    return JudgeRecord(
        item_id=request.item_id,
        number=request.number,
        probe=request.probe,
        persona=None if request.persona is None else request.persona.label,
        questions=request.presentation.questions,
        is_reversed=request.presentation.is_reversed,
        wording=request.presentation.wording,
        is_swapped=is_swapped,
        outcome=parsed.outcome,
        answers=unswap_answers(parsed.answers) if is_swapped and parsed.answers is not None else parsed.answers,
        fault=parsed.fault,
        raw=response.text or response.refusal,
        model=response.model,
        prompt_tokens=response.prompt_tokens,
        response_tokens=response.response_tokens,
        key=response.key,
    )


def _parse(response: RawResponse, questions: Sequence[Question]) -> ParsedResponse:
    if response.refusal:
        return ParsedResponse(outcome="refused", fault="The provider or the model refused the request.")
    return parse_response(response.text, questions, is_cut=response.is_cut)
