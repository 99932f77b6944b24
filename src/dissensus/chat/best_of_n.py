"""The best of several responses: the rejection sampling of the red-team paper (arXiv 2209.07858)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p
from time import monotonic
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.chat.build_messages import check_open
from dissensus.chat.response import Bot, Clock, Cost, Response, Stream, collect_response
from dissensus.chat.seeds import derive_seeds
from dissensus.errors import DissensusError, InvalidInput
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.conversation import LONGEST_TURN, Conversation, Turn

Scorer: TypeAlias = Callable[[Sequence[Conversation]], NDArray[np.float64]]
"""Conversations that each end with a response → a score each; higher is better, less harmful among others."""


def brevity(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
    """Score a response by how short it is; one that says nothing is the worst.

    A baseline with which everything can be tried. In the test split of harmless-base the shorter response is the less
    harmful one in 1,278 of 2,312 pairs (55 %).

    Examples
    --------
    >>> talk = [("human", "Hi"), ("bot", "Hello!")], [("human", "Hi"), ("bot", "Hello to you, too!")]
    >>> brevity([Conversation.from_turns(turns) for turns in talk]).round(2).tolist()
    [-1.95, -2.94]
    """
    lengths = (len(conversation.rated.text.strip()) for conversation in conversations)
    return np.array([-log1p(length or LONGEST_TURN + 1) for length in lengths], dtype=np.float64)


SCORERS: Final[Mapping[str, Scorer]] = MappingProxyType({"brevity": brevity})
"""Those that ship, by the names that definitions give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfN:
    """A chatbot that draws several responses of another one and says the best.

    Parameters
    ----------
    bot
        Who is asked.
    scorer
        What ranks the responses.
    n
        How many are drawn.
    clock
        Tells the seconds that are measured.
    """

    bot: Bot
    scorer: Scorer
    n: int = 16
    clock: Clock = monotonic

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`; all of it comes at once."""
        (best,) = await self.best(conversation, seed)
        if best.text:
            yield best.text
        yield best

    async def best(self, conversation: Conversation, seed: int, keep: int = 1) -> tuple[Response, ...]:
        """Return the best responses, the best one first; of equal ones the one drawn first.

        A response that says nothing is ranked behind all that say something, whatever its score.

        Parameters
        ----------
        conversation
            It ends with what a person said.
        seed
            Those of all samples follow from it.
        keep
            How many; red-teamers were shown the two least harmful.

        Returns
        -------
        tuple of Response
            Each with its score, and with the cost of all samples: those that failed are counted and were not ranked.

        Raises
        ------
        InvalidInput
            The scorer gives something else than a number each.
        DissensusError
            Fewer than `keep` samples came: the error of the first one that did not.
        """
        check_whole("keep", keep, 1, self.n)
        check_open(conversation)
        started = self.clock()
        drawn = await self._drawn(conversation, derive_seeds(seed, self.n))
        came = [one for one in drawn if isinstance(one, Response)]
        if len(came) < keep:
            raise next(one for one in drawn if not isinstance(one, Response))
        scores = await self._scores(conversation, came)
        said = np.array([bool(one.text.strip()) for one in came])
        taken = self.clock() - started
        cost = _total_cost(came, self.n)
        return tuple(
            replace(
                came[place],
                seed=seed,
                first_token_s=taken if came[place].text else None,
                total_s=taken,
                cost=cost,
                score=float(scores[place]),
            )
            for place in np.lexsort((-scores, ~said))[:keep]
        )

    async def _drawn(self, conversation: Conversation, seeds: Sequence[int]) -> list[Response | DissensusError]:
        async def one(seed: int) -> Response | DissensusError:
            try:
                return await collect_response(self.bot, conversation, seed)
            except DissensusError as error:
                return error

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(seed)) for seed in seeds]
        return [task.result() for task in tasks]

    async def _scores(self, conversation: Conversation, came: Sequence[Response]) -> NDArray[np.float64]:
        ended = [Conversation((*conversation.turns, Turn("bot", response.text))) for response in came]
        # In a thread: who talks with somebody else meanwhile should not wait for it.
        scores = np.asarray(await asyncio.to_thread(self.scorer, ended))
        if scores.shape != (len(came),) or scores.dtype.kind not in "fiu" or not np.isfinite(scores).all():
            raise InvalidInput(
                f"The scorer gives {scores.dtype} of shape {scores.shape} for {len(came):,} responses, or what is not "
                "finite. It must give one number for each."
            )
        return scores.astype(np.float64)


def _total_cost(came: Sequence[Response], n: int) -> Cost:
    """Return the cost of all samples; tokens where all that came tell theirs."""
    prompts = [one.cost.prompt_tokens for one in came]
    responses = [one.cost.response_tokens for one in came]
    return Cost(samples=n, failed=n - len(came), prompt_tokens=_sum_if_all_known(prompts), response_tokens=_sum_if_all_known(responses))


def _sum_if_all_known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
