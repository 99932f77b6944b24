"""Factory: open a chatbot from its definition."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import assert_never

from dissensus.chat.best_of_n import SCORERS, BestOfN, BestOfRegistry, RankerLookup, Scorer
from dissensus.chat.local import run_local_model
from dissensus.chat.openai_compatible import OpenAICompatible, Sleep, open_chat_client
from dissensus.chat.response import Bot, Clock
from dissensus.chat.scripted import ScriptedBot
from dissensus.errors import InvalidInput, NotFound
from dissensus.http_client import check_token
from dissensus.schema.campaign.chatbot import BestOfNSettings, Chatbot, Endpoint, LocalModel, ScriptedResponses
from dissensus.schema.hints import format_list, format_value, suggest


@asynccontextmanager
async def open_chatbot(
    chatbot: Chatbot,
    *,
    environment: Mapping[str, str],
    scorers: Mapping[str, Scorer] = SCORERS,
    ranking: RankerLookup | None = None,
    clock: Clock = monotonic,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[Bot]:
    """Open a chatbot, and close its connections on exit.

    `environment` has the keys of servers, `scorers` those by name, and `ranking` finds rankers of registered models.
    """
    match chatbot.source:
        case Endpoint() as endpoint:
            key = _api_key(endpoint, environment)
            async with open_chat_client(chatbot, key) as http:
                yield OpenAICompatible(chatbot, endpoint, http, key, clock=clock, sleep=sleep)
        case BestOfNSettings(chatbot=inner, scorer=name, n=n) as samples:
            scorer = None if samples.registered_model is not None else _shipped_scorer(name, scorers)
            async with open_chatbot(inner, environment=environment, scorers=scorers, clock=clock, sleep=sleep) as bot:
                if scorer is not None:
                    yield BestOfN(bot=bot, scorer=scorer, n=n, clock=clock)
                else:
                    yield BestOfRegistry(
                        bot=bot, current=partial(_require_ranking(ranking, name), samples), n=n, clock=clock
                    )
        case ScriptedResponses() as script:
            yield ScriptedBot(script=script, clock=clock, sleep=sleep)
        case LocalModel() as weights:
            async with (
                run_local_model(weights, chatbot.request_policy.max_concurrent) as (endpoint, key),
                open_chat_client(chatbot, key, loopback=True) as http,
            ):
                yield OpenAICompatible(chatbot, endpoint, http, key, clock=clock, sleep=sleep)
        case _:
            assert_never(chatbot.source)


def _api_key(endpoint: Endpoint, environment: Mapping[str, str]) -> str:
    variable = endpoint.key_variable
    if not variable:
        return ""
    if not environment.get(variable):
        raise InvalidInput(
            f"{variable} is not set in the environment; it must hold the key for {endpoint.url}. "
            f"Set it: export {variable}=…"
        )
    check_token(environment[variable], f"where it was made, into {variable}")
    return environment[variable]


def _require_ranking(ranking: RankerLookup | None, name: str) -> RankerLookup:
    if ranking is None:
        raise NotFound(f"There is no scorer {format_value(name)}: no registry of models is given.")
    return ranking


def _shipped_scorer(name: str, scorers: Mapping[str, Scorer]) -> Scorer:
    if name not in scorers:
        names = list(scorers)
        raise NotFound(
            f"There is no scorer {format_value(name)}.{suggest(name, names)} There are {format_list(names)}, "
            "and folders of preference models."
        )
    return scorers[name]
