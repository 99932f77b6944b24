"""Best-of-n sampling with the current version of a registered model: the online loop of the HH paper."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple, TypeAlias

from dissensus.chat.best_of_n import BestOfN, Scorer
from dissensus.chat.response import Bot, Clock, Response, Stream
from dissensus.schema.campaign.chatbot import BestOfNSettings
from dissensus.schema.records.conversation import Conversation


class Ranker(NamedTuple):
    """Current ranker of responses: a scorer and the name of its version, such as ``harmless/3``."""

    scorer: Scorer
    name: str


RankerLookup: TypeAlias = Callable[[BestOfNSettings], Ranker | None]
"""Gives what ranks the responses of a chatbot now; None as long as its line has no version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfRegistry:
    """A chatbot that says the best of several responses of another one, by the version of a line that is current.

    As long as there is none, it says the first response, and nothing is chosen.
    """

    bot: Bot
    current: Callable[[], Ranker | None]  # Gives what ranks responses now; it may read files
    n: int = 16  # Number of are drawn
    clock: Clock = monotonic  # Tells the seconds that are measured

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
