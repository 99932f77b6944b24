"""Conversations as they grow: who responds, what comes next, and which response is the better one."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import InvalidInput
from dissensus.pipeline.collect.chat import (
    Exchange,
    ResponseCandidate,
    ResponsePick,
    build_conversation,
    check_pick,
    choose_better_response,
    choose_next_step,
    continue_conversation,
    derive_seed,
    digest_message,
    digest_pick,
    draw_chatbots,
)
from dissensus.schema.campaign.chat import MAX_STRENGTH, ChatMode, ChatSettings
from dissensus.schema.campaign.chatbot import Chatbot, ScriptedResponses

BOTS = tuple(
    Chatbot(name=name, source=ScriptedResponses(), model_type="rlhf", version="1") for name in ("tern", "gull", "auk")
)
HARM = ChatMode(name="red team", title={"en": "Red team"}, compared="more harmful")
CHAT = ChatSettings(chatbots=BOTS, modes=(HARM,), most_turns=2)
ONE = Exchange(
    mode="red team",
    said="Hi.",
    candidates=(
        ResponseCandidate(place=0, chatbot="tern", text="A."),
        ResponseCandidate(place=1, chatbot="gull", text="B."),
    ),
)
strengths = st.integers(-MAX_STRENGTH, MAX_STRENGTH).filter(bool)
drawn = st.text(min_size=1, max_size=20)


def test_every_chatbot_is_drawn_as_often_on_each_side() -> None:
    n = 6_000
    pairs = [draw_chatbots(CHAT, f"talk {i}", f"turn {i}", compared=True) for i in range(n)]
    assert all(a != b for a, b in pairs)
    for side in zip(*pairs, strict=True):
        for count in Counter(side).values():
            # Six standard errors of a third of them.
            assert abs(count - n / 3) < 6 * (n * 2 / 9) ** 0.5


@given(talk=drawn, turns=st.lists(drawn, min_size=2, max_size=6))
def test_a_conversation_keeps_its_chatbots_and_not_their_sides(talk: str, turns: list[str]) -> None:
    every = [draw_chatbots(CHAT, talk, turn, compared=True) for turn in turns]
    assert len({frozenset(pair) for pair in every}) == 1
    assert draw_chatbots(CHAT, talk, turns[0], compared=False)[0] in every[0]
    same = draw_chatbots(replace(CHAT, pairing="same"), talk, turns[0], compared=True)
    assert same[0] == same[1]
    alone = draw_chatbots(replace(CHAT, chatbots=BOTS[:1]), talk, turns[0], compared=True)
    assert alone == ("tern", "tern")


@given(turn=drawn)
def test_two_responses_have_two_seeds_that_every_server_takes(turn: str) -> None:
    seeds = {derive_seed(turn, place) for place in (0, 1)}
    assert len(seeds) == 2
    assert all(0 <= seed < 2**31 for seed in seeds)


@given(strength=strengths, turn=drawn)
def test_with_what_it_goes_on(strength: int, turn: str) -> None:
    pick = ResponsePick(strength=strength)
    picked = 1 if strength > 0 else 0
    assert continue_conversation(HARM, pick, turn) == picked
    assert continue_conversation(replace(HARM, continues="other"), pick, turn) == 1 - picked
    by_chance = continue_conversation(replace(HARM, continues="random"), pick, turn)
    assert by_chance == continue_conversation(HARM, ResponsePick(strength=0), turn)


def test_by_chance_is_either() -> None:
    mode = replace(HARM, continues="random")
    assert 400 < sum(continue_conversation(mode, ResponsePick(strength=1), f"turn {i}") for i in range(1_000)) < 600


@given(strength=strengths)
def test_the_better_response_does_not_depend_on_how_it_was_asked(strength: int) -> None:
    pick, turned = ResponsePick(strength=strength), ResponsePick(strength=-strength)
    assert choose_better_response(HARM, pick) == choose_better_response(replace(HARM, compared="less harmful"), turned)
    assert choose_better_response(replace(HARM, compared="more helpful"), pick) == pick.place
    assert choose_better_response(HARM, ResponsePick(strength=0)) is None


def test_what_comes_next() -> None:
    waiting = replace(ONE, candidates=(ResponseCandidate(place=0, chatbot="tern"), ONE.candidates[1]))
    on = replace(ONE, pick=ResponsePick(strength=2), continues=1)
    assert choose_next_step(CHAT, []) == "say"
    assert choose_next_step(CHAT, [waiting]) == "answering"
    assert choose_next_step(CHAT, [ONE]) == "pick"
    assert choose_next_step(CHAT, [on]) == "say"
    assert choose_next_step(CHAT, [on, on]) == "end"


def test_the_conversation_holds_what_it_went_on_with() -> None:
    plain = replace(ONE, pick=ResponsePick(strength=2), continues=1)
    edited = replace(ONE, pick=ResponsePick(strength=2, edit="B, better."), continues=1)
    other = replace(edited, continues=0)
    texts = [turn.text for turn in build_conversation([plain, edited, other], "And?").turns]
    assert texts == ["Hi.", "B.", "Hi.", "B, better.", "Hi.", "A.", "And?"]


@pytest.mark.parametrize(
    ("mode", "pick", "told"),
    [
        ({"compared": None}, ResponsePick(strength=1), "There is one response"),
        ({}, ResponsePick(strength=0), "from -3 to 3 but 0"),
        ({}, ResponsePick(strength=-4), "It is -4|The strength is -4"),
        ({}, ResponsePick(strength=1, edit="Worse."), "Nothing can be edited"),
        ({"compared": "more helpful", "edits": True}, ResponsePick(strength=1, edit=" "), "nothing to send"),
    ],
)
def test_a_pick_that_cannot_be(mode: dict[str, Any], pick: ResponsePick, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        check_pick(CHAT, replace(HARM, **mode), pick)


def test_equal_may_be_said_where_it_is_asked() -> None:
    check_pick(replace(CHAT, equal=True), HARM, ResponsePick(strength=0))


@given(said=st.text(max_size=30), other=st.text(max_size=30))
def test_a_digest_is_of_what_was_said_and_of_nothing_else(said: str, other: str) -> None:
    one, two = replace(ONE, said=said), replace(ONE, said=other)
    assert (digest_message(one) == digest_message(two)) == (said == other)
    assert digest_message(one) == digest_message(replace(one, continues=1))
    on = replace(ONE, pick=ResponsePick(strength=1), continues=1)
    assert digest_pick(on) != digest_pick(replace(on, continues=0))
    assert digest_pick(on) != digest_pick(replace(on, pick=ResponsePick(strength=2)))
