"""Estimate of tokens and cost of requests to a judge, before the first one is sent."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.pipeline.judge.request_plan import JudgeRequest
from dissensus.schema.hints import count_noun
from dissensus.schema.questionnaire.question import Question

BYTES_PER_TOKEN: Final = 3.5
"""Bytes of UTF-8 in a token: English has about four; other scripts have two to four bytes in a character."""
TOKENS_PER_REQUEST: Final = 12
"""Tokens of roles and separators."""
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of a million tokens of prompts and of responses, in any currency."""

    prompt: float
    response: float

    def __post_init__(self) -> None:
        if not (0 <= self.prompt < MILLION and 0 <= self.response < MILLION):
            raise InvalidInput(
                f"The prices are {self.prompt:g} and {self.response:g}; give those of a million tokens, each 0 or more "
                f"and below {MILLION:,}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """Number of requests, their tokens, and what they cost."""

    n_requests: int
    n_answered: int  # requests that were answered before
    prompt_tokens: int
    response_tokens: int
    cost: float | None = None

    def __str__(self) -> str:
        answered = f" ({self.n_answered:,} more are answered)" if self.n_answered else ""
        cost = (
            ""
            if self.cost is None
            else (
                f", about {self.cost:,.2f} in the currency of the prices; text besides the answers, such as "
                "reasoning, is not counted"
            )
        )
        return (
            f"{count_noun(self.n_requests, 'request')}{answered}, about {self.prompt_tokens:,} tokens of prompts and "
            f"{self.response_tokens:,} of responses{cost}"
        )


def estimate_cost(
    requests: Iterable[JudgeRequest], questions: Sequence[Question], *, prices: Prices | None = None
) -> CostEstimate:
    """Estimate tokens and cost from the lengths of prompts with their schema, and of the longest answers."""
    answer_tokens = _count_tokens(
        json.dumps({question.name: _longest_answer(question) for question in questions}, ensure_ascii=False)
    )
    n_requests = prompt_tokens = 0
    for request in requests:
        n_requests += 1
        texts = [message["content"] for message in request.messages]
        if request.response_format is not None:
            texts.append(json.dumps(request.response_format, ensure_ascii=False))
        prompt_tokens += TOKENS_PER_REQUEST + sum(map(_count_tokens, texts))
    response_tokens = n_requests * answer_tokens
    cost = None
    if prices is not None:
        cost = (prompt_tokens * prices.prompt + response_tokens * prices.response) / MILLION
    return CostEstimate(
        n_requests=n_requests,
        n_answered=0,
        prompt_tokens=prompt_tokens,
        response_tokens=response_tokens,
        cost=cost,
    )


def _count_tokens(text: str) -> int:
    return int(len(text.encode()) / BYTES_PER_TOKEN) + 1


def _longest_answer(question: Question) -> str | list[str]:
    return list(question.answers) if question.kind == "multiple" else max(question.answers, key=len)
