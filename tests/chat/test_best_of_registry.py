"""Best-of-n sampling by the current version of a registered model."""

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.chat.conftest import TALK, collect_stream

from dissensus.chat import BestOfN, BestOfRegistry, Ranker, Response, ScriptedBot, collect_response, open_chatbot
from dissensus.chat.best_of_n import brevity
from dissensus.errors import NotFound, Unavailable
from dissensus.schema.campaign.chatbot import BestOfNSettings, Chatbot, ScriptedResponses

SEVERAL = ScriptedBot(script=ScriptedResponses(responses=("a", "bb", "ccc", "dddd", "eeeee")))
SHORT = Ranker(brevity, "short/1")
LONG = Ranker(lambda talks: -brevity(talks), "long/2")


@dataclass
class ChangingRanker:
    """A registered model that returns its next version on each call."""

    versions: list[Ranker | None] = field(default_factory=list)

    def __call__(self) -> Ranker | None:
        return self.versions.pop(0)


def test_each_response_is_ranked_by_the_current_version() -> None:
    bot = BestOfRegistry(bot=SEVERAL, current=ChangingRanker([SHORT, LONG]), n=32)
    first, second = (asyncio.run(collect_response(bot, TALK, seed)) for seed in (1, 2))
    assert (first.text, first.ranked_by) == ("a", "short/1")
    assert (second.text, second.ranked_by) == ("eeeee", "long/2")
    assert first.score == pytest.approx(-np.log1p(1))
    assert first.cost.samples == 32


def test_the_response_equals_best_of_n_by_that_version() -> None:
    ranked = asyncio.run(collect_response(BestOfRegistry(bot=SEVERAL, current=lambda: SHORT, n=4), TALK, 7))
    best = asyncio.run(collect_response(BestOfN(bot=SEVERAL, scorer=brevity, n=4), TALK, 7))
    assert (ranked.text, ranked.score, ranked.seed) == (best.text, best.score, 7)


def test_before_the_first_version_one_response_is_streamed() -> None:
    pieces, response = asyncio.run(collect_stream(BestOfRegistry(bot=SEVERAL, current=lambda: None, n=16)))
    plain = asyncio.run(collect_stream(SEVERAL))
    assert (pieces, response.text) == (plain[0], plain[1].text)
    assert (response.ranked_by, response.score, response.cost.samples) == ("", None, 1)


def test_an_unreadable_registered_model_fails_the_chatbot() -> None:
    def broken() -> Ranker | None:
        raise Unavailable("The disk is gone.")

    with pytest.raises(Unavailable, match="The disk is gone"):
        asyncio.run(collect_response(BestOfRegistry(bot=SEVERAL, current=broken), TALK, 1))


def test_a_definition_resolves_its_registered_model() -> None:
    inner = Chatbot(name="any", source=SEVERAL.script, model_type="plain lm", version="1")
    source = BestOfNSettings(chatbot=inner, scorer="registry:short", n=32)
    chatbot = Chatbot(name="best", source=source, model_type="rejection sampling", version="1")
    requested_settings = []

    def ranking(samples: BestOfNSettings) -> Ranker:
        requested_settings.append(samples)
        return SHORT

    async def respond() -> Response:
        async with open_chatbot(chatbot, environment={}, ranking=ranking) as bot:
            return await collect_response(bot, TALK, 3)

    assert asyncio.run(respond()).ranked_by == "short/1"
    assert requested_settings == [source]

    async def open_without_registry() -> None:
        async with open_chatbot(chatbot, environment={}):
            pass

    with pytest.raises(NotFound, match="no registry of models is given"):
        asyncio.run(open_without_registry())
