"""The best of several responses by whichever version of a line is current."""

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.chat.conftest import TALK, heard

from dissensus.chat import BestOfN, BestOfRegistry, Ranker, Response, ScriptedBot, collect_response, open_chatbot
from dissensus.chat.best_of_n import brevity
from dissensus.errors import NotFound, Unavailable
from dissensus.schema.campaign.chatbot import BestOfNSettings, Chatbot, ScriptedResponses

SEVERAL = ScriptedBot(script=ScriptedResponses(responses=("a", "bb", "ccc", "dddd", "eeeee")))
SHORT = Ranker(brevity, "short/1")
LONG = Ranker(lambda talks: -brevity(talks), "long/2")


@dataclass
class Going:
    """A line that has gone on each time that it is looked at."""

    versions: list[Ranker | None] = field(default_factory=list)

    def __call__(self) -> Ranker | None:
        return self.versions.pop(0)


def test_what_is_current_at_each_response_ranks_it() -> None:
    bot = BestOfRegistry(bot=SEVERAL, current=Going([SHORT, LONG]), n=32)
    one, other = (asyncio.run(collect_response(bot, TALK, seed)) for seed in (1, 2))
    assert (one.text, one.ranked_by) == ("a", "short/1")
    assert (other.text, other.ranked_by) == ("eeeee", "long/2")
    assert one.score == pytest.approx(-np.log1p(1))
    assert one.cost.samples == 32


def test_it_is_the_best_of_n_by_that_version() -> None:
    on_line = asyncio.run(collect_response(BestOfRegistry(bot=SEVERAL, current=lambda: SHORT, n=4), TALK, 7))
    best = asyncio.run(collect_response(BestOfN(bot=SEVERAL, scorer=brevity, n=4), TALK, 7))
    assert (on_line.text, on_line.score, on_line.seed) == (best.text, best.score, 7)


def test_before_the_first_version_one_response_is_said_as_it_comes() -> None:
    pieces, response = asyncio.run(heard(BestOfRegistry(bot=SEVERAL, current=lambda: None, n=16)))
    plain = asyncio.run(heard(SEVERAL))
    assert (pieces, response.text) == (plain[0], plain[1].text)
    assert (response.ranked_by, response.score, response.cost.samples) == ("", None, 1)


def test_a_line_that_cannot_be_read_is_an_error_of_the_chatbot() -> None:
    def broken() -> Ranker | None:
        raise Unavailable("The disk is gone.")

    with pytest.raises(Unavailable, match="The disk is gone"):
        asyncio.run(collect_response(BestOfRegistry(bot=SEVERAL, current=broken), TALK, 1))


def test_a_definition_finds_its_line() -> None:
    inner = Chatbot(name="any", source=SEVERAL.script, model_type="plain lm", version="1")
    source = BestOfNSettings(of=inner, scorer="registry:short", n=32)
    chatbot = Chatbot(name="best", source=source, model_type="rejection sampling", version="1")
    asked = []

    def ranking(samples: BestOfNSettings) -> Ranker:
        asked.append(samples)
        return SHORT

    async def say() -> Response:
        async with open_chatbot(chatbot, environment={}, ranking=ranking) as bot:
            return await collect_response(bot, TALK, 3)

    assert asyncio.run(say()).ranked_by == "short/1"
    assert asked == [source]

    async def nowhere() -> None:
        async with open_chatbot(chatbot, environment={}):
            pass

    with pytest.raises(NotFound, match="nobody said where model lines are"):
        asyncio.run(nowhere())
