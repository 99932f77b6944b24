"""Best-of-n sampling: the rejection sampling of the red-team paper (arXiv 2209.07858)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from math import log1p
from time import monotonic
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.chat.prompt import check_awaits_response
from dissensus.chat.response import Bot, Clock, Cost, Response, Stream, collect_response, derive_seeds
from dissensus.errors import DissensusError, InvalidInput
from dissensus.preference.models.model import Model
from dissensus.schema.campaign.chatbot import BestOfNSettings
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, Conversation, Turn

Scorer: TypeAlias = Callable[[Sequence[Conversation]], NDArray[np.float64]]
"""Function from conversations that end with a response to a score for each; higher is better."""


def brevity(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
    """Score responses by brevity; an empty one is the worst.

    A baseline for trials. In the test split of harmless-base the shorter response is the less harmful one in 1,278 of
    2,312 pairs (55 %).

    Examples
    --------
    >>> talks = [("human", "Hi"), ("bot", "Hello!")], [("human", "Hi"), ("bot", "Hello to you, too!")]
    >>> brevity([Conversation.from_turns(turns) for turns in talks]).round(2).tolist()
    [-1.95, -2.94]
    """
    lengths = (len(conversation.rated_turn.text.strip()) for conversation in conversations)
    return np.array([-log1p(length or MAX_TURN_LENGTH + 1) for length in lengths], dtype=np.float64)


SCORERS: Final[Mapping[str, Scorer]] = MappingProxyType({"brevity": brevity})
"""Built-in scorers, by the names used in definitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfN:
    """A chatbot that draws several responses of another one and returns the best."""

    bot: Bot
    scorer: Scorer
    n: int = 16  # Number of samples
    clock: Clock = monotonic

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`; the text is one piece."""
        (best,) = await self.best(conversation, seed)
        if best.text:
            yield best.text
        yield best

    async def best(self, conversation: Conversation, seed: int, keep: int = 1) -> tuple[Response, ...]:
        """Return the `keep` best responses in descending order; ties are in the order of drawing.

        Empty responses rank last, whatever their score. If fewer than `keep` arrive, the first failure is raised.
        """
        check_whole("keep", keep, 1, self.n)
        check_awaits_response(conversation)
        started = self.clock()
        samples = await self._draw(conversation, derive_seeds(seed, self.n))
        responses = [sample for sample in samples if isinstance(sample, Response)]
        if len(responses) < keep:
            raise next(sample for sample in samples if not isinstance(sample, Response))
        scores = await self._score(conversation, responses)
        has_text = np.array([bool(response.text.strip()) for response in responses])
        elapsed = self.clock() - started
        cost = _total_cost(responses, self.n)
        return tuple(
            replace(
                responses[index],
                seed=seed,
                first_token_s=elapsed if responses[index].text else None,
                total_s=elapsed,
                cost=cost,
                score=float(scores[index]),
            )
            for index in np.lexsort((-scores, ~has_text))[:keep]
        )

    async def _draw(self, conversation: Conversation, seeds: Sequence[int]) -> list[Response | DissensusError]:
        async def sample(seed: int) -> Response | DissensusError:
            try:
                return await collect_response(self.bot, conversation, seed)
            except DissensusError as error:
                return error

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(sample(seed)) for seed in seeds]
        return [task.result() for task in tasks]

    async def _score(self, conversation: Conversation, responses: Sequence[Response]) -> NDArray[np.float64]:
        completed = [Conversation((*conversation.turns, Turn("bot", response.text))) for response in responses]
        # In a thread, since scoring would block other conversations on this event loop.
        scores = np.asarray(await asyncio.to_thread(self.scorer, completed))
        if scores.shape != (len(responses),) or scores.dtype.kind not in "fiu" or not np.isfinite(scores).all():
            raise InvalidInput(
                f"The scorer gives {scores.dtype} of shape {scores.shape} for {len(responses):,} responses, or a "
                "number that is not finite. It must give one finite number for each."
            )
        return scores.astype(np.float64)


class Ranker(NamedTuple):
    """Current ranker of responses: a scorer and the name of its version, such as ``harmless/3``."""

    scorer: Scorer
    name: str


RankerLookup: TypeAlias = Callable[[BestOfNSettings], Ranker | None]
"""Function that returns the current ranker of a chatbot; None while its registered model has no version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfRegistry:
    """Best-of-n sampling with the current version of a registered model, as in the online loop of arXiv 2204.05862.

    While there is no version, one response is drawn and returned.
    """

    bot: Bot
    current: Callable[[], Ranker | None]  # Function that returns the current ranker, and may read files
    n: int = 16  # Number of samples
    clock: Clock = monotonic

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`; the response names the version that chose it."""
        ranker = await asyncio.to_thread(self.current)
        bot = self.bot
        if ranker is not None:
            bot = BestOfN(bot=self.bot, scorer=ranker.scorer, n=self.n, clock=self.clock)
        async with aclosing(bot.stream(conversation, seed)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Response) and ranker is not None:
                    yield replace(piece, ranked_by=ranker.name)
                else:
                    yield piece


def _total_cost(responses: Sequence[Response], n: int) -> Cost:
    """Return the cost of all samples; token counts only if every response reports them."""
    prompt_tokens = [response.cost.prompt_tokens for response in responses]
    response_tokens = [response.cost.response_tokens for response in responses]
    return Cost(
        samples=n,
        failed=n - len(responses),
        prompt_tokens=_sum_if_all_known(prompt_tokens),
        response_tokens=_sum_if_all_known(response_tokens),
    )


def _sum_if_all_known(counts: Sequence[int | None]) -> int | None:
    reported = [count for count in counts if count is not None]
    return sum(reported) if len(reported) == len(counts) else None


def scorer_from_model(model: Model) -> Scorer:
    """Return a scorer of the last turn of conversations, given the turns before it.

    Examples
    --------
    >>> from dissensus.preference.models.linear import Linear
    >>> model = Linear(
    ...     purpose="harmless", vocabularies={}, weights={}, length_weight=-1.0, length_alone=0.0, temperature=1.0
    ... )
    >>> talks = [[("human", "Hi"), ("bot", text)] for text in ("Hello!", "Hello to you, too!")]
    >>> scorer_from_model(model)([Conversation.from_turns(turns) for turns in talks]).round(2).tolist()
    [-0.58, -0.88]
    """

    def score(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
        return np.array([scores[-1] for scores in model.score(conversations)], dtype=np.float64)

    return score
