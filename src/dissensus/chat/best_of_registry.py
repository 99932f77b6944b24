"""The best of several responses by whichever version of a model line is current: the online loop of the HH paper."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple, TypeAlias

from dissensus.chat.best_of_n import BestOfN, Scorer
from dissensus.chat.response import Bot, Clock, Response, Stream
from dissensus.schema.campaign.chatbot import Samples
from dissensus.schema.records.conversation import Conversation


class Ranker(NamedTuple):
    """What ranks responses now: a version of a line, and its name, such as ``harmless/3``."""

    scorer: Scorer
    name: str


RankerLookup: TypeAlias = Callable[[Samples], Ranker | None]
"""Gives what ranks the responses of a chatbot now; None as long as its line has no version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfRegistry:
    """A chatbot that says the best of several responses of another one, by the version of a line that is current.

    As long as there is none, it says the first response, and nothing is chosen.

    Parameters
    ----------
    bot
        Who is asked.
    current
        Gives what ranks responses now; it may read files.
    n
        How many are drawn.
    clock
        Tells the seconds that are measured.
    """

    bot: Bot
    current: Callable[[], Ranker | None]
    n: int = 16
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
