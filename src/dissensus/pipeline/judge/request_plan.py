"""Requests to a judge: every item with every seed, persona and probe, each with a key of its content."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.judge.personas import Persona
from dissensus.pipeline.judge.presentation import Presentation, Probe, change_presentation, draw_presentation
from dissensus.pipeline.judge.prompt import build_request_messages, build_response_schema
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_whole
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.records.item import Item

ResponseFormat = Literal["json_schema", "json_object", "text"]
RESPONSE_FORMATS: Final[tuple[ResponseFormat, ...]] = get_args(ResponseFormat)
MAX_SEEDS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Settings of the requests to a judge."""

    n_seeds: int = 3  # Number of times that each item is answered
    seed: int = 0  # Determines all orders, and the seeds that are sent to the server
    probes: tuple[Probe, ...] = ()
    personas: tuple[Persona, ...] = ()
    response_format: ResponseFormat = "json_schema"
    system_prompt: str = ""  # System prompt of the judge, which precedes the instructions

    def __post_init__(self) -> None:
        check_whole("n_seeds", self.n_seeds, 1, MAX_SEEDS)
        check_whole("seed", self.seed)
        if self.response_format not in RESPONSE_FORMATS:
            raise InvalidInput(
                f"The response format is {format_value(self.response_format)}; choose one of "
                f"{', '.join(RESPONSE_FORMATS)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One request to a judge."""

    item_id: str
    number: int  # Number of the seed, from 1
    seed: int  # Sent to the server
    presentation: Presentation
    probe: Probe | None = None
    persona: Persona | None = None
    messages: list[dict[str, str]] = field(repr=False)
    response_format: dict[str, Any] | None = field(default=None, repr=False)

    def key(self, judge: str) -> str:
        """Return the SHA-256 of everything that determines the response, with the digest of the judge."""
        content = [judge, self.messages, self.seed, self.response_format]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode("ascii")).hexdigest()


def list_judged_questions(questionnaire: Questionnaire) -> dict[str, Question]:
    """Return the questions that a judge answers by name: all but those for free text."""
    if questionnaire.about != "item":
        raise InvalidInput(
            f"The questions of {questionnaire.name} are about raters. A judge answers questions about items: name "
            "another questionnaire."
        )
    questions = {question.name: question for question in questionnaire.questions if question.kind != "text"}
    if not questions:
        raise InvalidInput(
            f"{questionnaire.name} has no question with a scale. A judge answers questions of the kinds single, "
            "multiple and likert."
        )
    return questions


def plan_requests(
    items: Sequence[Item], questionnaire: Questionnaire, settings: JudgeSettings
) -> Iterator[JudgeRequest]:
    """Yield all requests; the first seeds of an item are the same whatever their number.

    Each seed of an item has an order of questions and answers of its own. A persona is asked in the same presentation
    and with the same seed as the judge without it, and a probe changes one thing.
    """
    questions = list_judged_questions(questionnaire)
    for item in items:
        for number in range(1, settings.n_seeds + 1):
            yield from _plan_seed(item, number, questionnaire, questions, settings)


def _plan_seed(
    item: Item,
    number: int,
    questionnaire: Questionnaire,
    questions: dict[str, Question],
    settings: JudgeSettings,
) -> Iterator[JudgeRequest]:
    """Yield the requests of one seed of an item."""
    digest = hashlib.sha256(f"{item.item_id}\0{number}".encode()).digest()
    random = np.random.default_rng(np.random.SeedSequence([settings.seed, int.from_bytes(digest[:8])]))
    own = list(questions.values())
    is_pair = item.response_b is not None
    plain = draw_presentation(own, random, is_pair=is_pair)
    seed, repeated = (int(value) for value in random.integers(2**31, size=2))

    def build(
        presentation: Presentation, seed: int, *, probe: Probe | None = None, persona: Persona | None = None
    ) -> JudgeRequest:
        return JudgeRequest(
            item_id=item.item_id,
            number=number,
            seed=seed,
            presentation=presentation,
            probe=probe,
            persona=persona,
            messages=build_request_messages(
                item, questionnaire, questions, presentation, persona, settings.system_prompt
            ),
            response_format=_write_response_format(questions, presentation, settings.response_format),
        )

    yield build(plain, seed)
    for persona in settings.personas:
        yield build(plain, seed, persona=persona)
    for probe in settings.probes:
        if probe == "responses" and not is_pair:
            continue
        changed = change_presentation(plain, probe, own, random)
        if changed != plain or probe == "repeat":
            yield build(changed, repeated if probe == "repeat" else seed, probe=probe)


def _write_response_format(
    questions: dict[str, Question], presentation: Presentation, kind: ResponseFormat
) -> dict[str, Any] | None:
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": kind}
    schema = build_response_schema(questions, presentation)
    return {"type": kind, "json_schema": {"name": "answers", "strict": True, "schema": schema}}
