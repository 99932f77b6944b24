"""From a definition to somebody to talk with."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import assert_never

from dissensus.chat.best_of_n import SCORERS, BestOfN, Scorer
from dissensus.chat.best_of_registry import BestOnLine, Ranking
from dissensus.chat.local import running
from dissensus.chat.openai_compatible import OpenAICompatible, Sleep, connected
from dissensus.chat.response import Bot, Clock
from dissensus.chat.scripted import Scripted
from dissensus.errors import InvalidInput, NotFound
from dissensus.http_client import check_token
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint, Samples, Script, Weights
from dissensus.schema.hints import did_you_mean, listed, shown


@asynccontextmanager
async def opened(
    chatbot: Chatbot,
    *,
    environment: Mapping[str, str],
    scorers: Mapping[str, Scorer] = SCORERS,
    ranking: Ranking | None = None,
    clock: Clock = monotonic,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[Bot]:
    """Open a chatbot, and close its connections in the end.

    Parameters
    ----------
    chatbot
        Its definition.
    environment
        Variables by name; of them the one is read that the definition names for the key.
    scorers
        What ranks responses, by the names that definitions give.
    ranking
        Gives what ranks responses now, of those that model lines rank; None where there are no lines.
    clock
        Tells the seconds that responses take.
    sleep
        Waits for some seconds.

    Yields
    ------
    Bot
        For the event loop in which it was opened.

    Raises
    ------
    InvalidInput
        The variable with the key is not set, or holds what cannot be a key.
    NotFound
        There is no scorer or line of that name.
    Unavailable
        What a model on this machine needs is not installed.
    """
    match chatbot.source:
        case Endpoint() as endpoint:
            key = _key(endpoint, environment)
            async with connected(chatbot, key) as http:
                yield OpenAICompatible(chatbot, endpoint, http, key, clock=clock, sleep=sleep)
        case Samples(of=of, scorer=name, n=n) as samples:
            scorer = None if samples.line is not None else _scorer(name, scorers)
            async with opened(of, environment=environment, scorers=scorers, clock=clock, sleep=sleep) as bot:
                if scorer is not None:
                    yield BestOfN(bot=bot, scorer=scorer, n=n, clock=clock)
                else:
                    yield BestOnLine(bot=bot, current=partial(_known(ranking, name), samples), n=n, clock=clock)
        case Script() as script:
            yield Scripted(script=script, clock=clock, sleep=sleep)
        case Weights() as weights:
            async with (
                running(weights, chatbot.patience.at_once) as (endpoint, key),
                connected(chatbot, key, here=True) as http,
            ):
                yield OpenAICompatible(chatbot, endpoint, http, key, clock=clock, sleep=sleep)
        case _:
            assert_never(chatbot.source)


def _key(endpoint: Endpoint, environment: Mapping[str, str]) -> str:
    variable = endpoint.key_variable
    if not variable:
        return ""
    if not environment.get(variable):
        raise InvalidInput(
            f"{variable} is not set in the environment, and should hold the key for {endpoint.url}. "
            f"Set it: export {variable}=…"
        )
    check_token(environment[variable], f"where it was made, into {variable}")
    return environment[variable]


def _known(ranking: Ranking | None, name: str) -> Ranking:
    if ranking is None:
        raise NotFound(f"There is no scorer {shown(name)}: nobody said where model lines are.")
    return ranking


def _scorer(name: str, scorers: Mapping[str, Scorer]) -> Scorer:
    if name not in scorers:
        known = list(scorers)
        raise NotFound(
            f"There is no scorer {shown(name)}.{did_you_mean(name, known)} There are {listed(known)}, "
            "and folders of preference models."
        )
    return scorers[name]
