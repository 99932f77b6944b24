"""Scripted chatbots."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chat.conftest import TALK, Asker, ManualClock, collect_stream
from tests.strategies import quick

from dissensus.chat import Bot, ScriptedBot
from dissensus.chat.scripted import shipped_responses
from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chatbot import STYLES, Chatbot, ResponseStyle, ScriptedResponses
from dissensus.schema.records.conversation import Conversation

CHATBOT = Chatbot(name="parrot", source=ScriptedResponses(), model_type="scripted", version="1")


def respond(bot: Bot, seed: int, conversation: Conversation = TALK) -> str:
    return asyncio.run(collect_stream(bot, conversation, seed))[1].text


def test_the_same_conversation_and_seed_get_the_same_response() -> None:
    first, again = ([respond(ScriptedBot(), seed) for seed in range(20)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 5
    other = Conversation.from_turns([("human", "May I swim there?")])
    assert first != [respond(ScriptedBot(), seed, other) for seed in range(20)]


def test_the_response_of_a_seed_is_stable() -> None:
    assert respond(ScriptedBot(), 1) == "People see this in many ways, and I wouldn't want to take sides."


@pytest.mark.parametrize("style", STYLES)
def test_a_style_selects_shipped_responses(style: ResponseStyle) -> None:
    bot = ScriptedBot(script=ScriptedResponses(style=style))
    assert {respond(bot, seed) for seed in range(200)} == set(shipped_responses(style))
    assert set(shipped_responses("mixed")) == {text for style in STYLES for text in shipped_responses(style)}


@quick
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3), st.integers(0, 2**31 - 1))
def test_words_joined_are_the_response(responses: list[str], seed: int) -> None:
    pieces, response = asyncio.run(
        collect_stream(ScriptedBot(script=ScriptedResponses(responses=tuple(responses))), TALK, seed)
    )
    assert "".join(pieces) == response.text
    assert response.text in responses
    assert (response.finish, response.seed) == ("stop", seed)


def test_words_are_paced() -> None:
    asker = Asker(
        replace(CHATBOT, source=ScriptedResponses(responses=("One two  three.",), pause_s=0.25)), clock=ManualClock()
    )
    pieces, response = asker.ask()
    assert pieces == ["One", " two", "  three."]
    assert asker.waits == [0.25] * 3
    assert (response.first_token_s, response.total_s) == (0.25, 0.75)


def test_invalid_conversations_and_seeds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="The chatbot spoke last"):
        respond(ScriptedBot(), 1, Conversation.from_turns([("human", "Hi"), ("bot", "Hello")]))
    with pytest.raises(InvalidInput, match="seed is -1"):
        respond(ScriptedBot(), -1)
