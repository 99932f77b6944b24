"""A chatbot that says what was written beforehand."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chat.conftest import TALK, Asker, Ticking, heard
from tests.strategies import quick

from dissensus.chat import Bot, ScriptedBot
from dissensus.chat.scripted import shipped_responses
from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chatbot import MANNERS, Chatbot, Manner, ScriptedResponses
from dissensus.schema.records.conversation import Conversation

CHATBOT = Chatbot(name="parrot", source=ScriptedResponses(), model_type="scripted", version="1")


def said(bot: Bot, seed: int, conversation: Conversation = TALK) -> str:
    return asyncio.run(heard(bot, conversation, seed))[1].text


def test_the_same_conversation_and_seed_get_the_same_response() -> None:
    first, again = ([said(ScriptedBot(), seed) for seed in range(20)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 5
    other = Conversation.from_turns([("human", "May I swim there?")])
    assert first != [said(ScriptedBot(), seed, other) for seed in range(20)]


def test_responses_of_one_seed_stay_as_they_are() -> None:
    assert said(ScriptedBot(), 1) == "People see this in many ways, and I wouldn't want to take sides."


@pytest.mark.parametrize("manner", MANNERS)
def test_a_manner_chooses_among_what_ships(manner: Manner) -> None:
    bot = ScriptedBot(script=ScriptedResponses(manner=manner))
    assert {said(bot, seed) for seed in range(200)} == set(shipped_responses(manner))
    assert set(shipped_responses("mixed")) == {one for manner in MANNERS for one in shipped_responses(manner)}


@quick
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3), st.integers(0, 2**31 - 1))
def test_words_joined_are_the_response(responses: list[str], seed: int) -> None:
    pieces, response = asyncio.run(heard(ScriptedBot(script=ScriptedResponses(responses=tuple(responses))), TALK, seed))
    assert "".join(pieces) == response.text
    assert response.text in responses
    assert (response.finish, response.seed) == ("stop", seed)


def test_it_speaks_at_the_pace_that_is_set() -> None:
    asker = Asker(
        replace(CHATBOT, source=ScriptedResponses(responses=("One two  three.",), pause_s=0.25)), clock=Ticking()
    )
    pieces, response = asker.ask()
    assert pieces == ["One", " two", "  three."]
    assert asker.waits == [0.25] * 3
    assert (response.first_token_s, response.total_s) == (0.25, 0.75)


def test_nobody_responds_to_themselves() -> None:
    with pytest.raises(InvalidInput, match="The chatbot spoke last"):
        said(ScriptedBot(), 1, Conversation.from_turns([("human", "Hi"), ("bot", "Hello")]))
    with pytest.raises(InvalidInput, match="seed is -1"):
        said(ScriptedBot(), -1)
