"""Running conversations: chatbots that respond, next step, better response."""

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
    choose_continuation,
    choose_next_step,
    derive_seed,
    digest_ended_chat,
    digest_message,
    digest_pick,
    draw_chatbots,
)
from dissensus.schema.campaign.chat import MAX_MESSAGE_LENGTH, ChatMode, ChatSettings
from dissensus.schema.campaign.chatbot import Chatbot, ScriptedResponses
from dissensus.schema.records.preference import MAX_STRENGTH

BOTS = tuple(
    Chatbot(name=name, source=ScriptedResponses(), model_type="rlhf", version="1") for name in ("tern", "gull", "auk")
)
HARM = ChatMode(name="red team", title={"en": "Red team"}, criterion="more harmful")
CHAT = ChatSettings(chatbots=BOTS, modes=(HARM,), max_turns=2)
EXCHANGE = Exchange(
    mode="red team",
    message="Hi.",
    candidates=(
        ResponseCandidate(position=0, chatbot="tern", text="A."),
        ResponseCandidate(position=1, chatbot="gull", text="B."),
    ),
)
strengths = st.integers(-MAX_STRENGTH, MAX_STRENGTH).filter(bool)
ids = st.text(min_size=1, max_size=20)


def test_every_chatbot_is_drawn_as_often_on_each_side() -> None:
    n = 6_000
    pairs = [draw_chatbots(CHAT, f"talk {i}", f"turn {i}", compared=True) for i in range(n)]
    assert all(a != b for a, b in pairs)
    for side in zip(*pairs, strict=True):
        for count in Counter(side).values():
            # Within six standard errors of a third of them.
            assert abs(count - n / 3) < 6 * (n * 2 / 9) ** 0.5


@given(talk=ids, turns=st.lists(ids, min_size=2, max_size=6))
def test_a_conversation_keeps_its_chatbots_and_not_their_sides(talk: str, turns: list[str]) -> None:
    pairs = [draw_chatbots(CHAT, talk, turn, compared=True) for turn in turns]
    assert len({frozenset(pair) for pair in pairs}) == 1
    assert draw_chatbots(CHAT, talk, turns[0], compared=False)[0] in pairs[0]
    same_bot = draw_chatbots(replace(CHAT, pairing="same"), talk, turns[0], compared=True)
    assert same_bot[0] == same_bot[1]
    one_bot = draw_chatbots(replace(CHAT, chatbots=BOTS[:1]), talk, turns[0], compared=True)
    assert one_bot == ("tern", "tern")


@given(turn=ids)
def test_two_responses_have_two_seeds_that_every_server_accepts(turn: str) -> None:
    seeds = {derive_seed(turn, position) for position in (0, 1)}
    assert len(seeds) == 2
    assert all(0 <= seed < 2**31 for seed in seeds)


@given(strength=strengths, turn=ids)
def test_the_mode_chooses_the_response_that_continues(strength: int, turn: str) -> None:
    pick = ResponsePick(strength=strength)
    expected = 1 if strength > 0 else 0
    assert choose_continuation(HARM, pick, turn) == expected
    assert choose_continuation(replace(HARM, continue_with="other"), pick, turn) == 1 - expected
    by_chance = choose_continuation(replace(HARM, continue_with="random"), pick, turn)
    assert by_chance == choose_continuation(HARM, ResponsePick(strength=0), turn)


def test_a_random_continuation_is_either_response() -> None:
    mode = replace(HARM, continue_with="random")
    assert 400 < sum(choose_continuation(mode, ResponsePick(strength=1), f"turn {i}") for i in range(1_000)) < 600


@given(strength=strengths)
def test_the_better_response_does_not_depend_on_how_it_was_asked(strength: int) -> None:
    pick, opposite = ResponsePick(strength=strength), ResponsePick(strength=-strength)
    less_harmful = replace(HARM, criterion="less harmful")
    assert choose_better_response(HARM, pick) == choose_better_response(less_harmful, opposite)
    assert choose_better_response(replace(HARM, criterion="more helpful"), pick) == pick.position
    assert choose_better_response(HARM, ResponsePick(strength=0)) is None


def test_the_next_step_follows_from_the_last_exchange() -> None:
    waiting = replace(EXCHANGE, candidates=(ResponseCandidate(position=0, chatbot="tern"), EXCHANGE.candidates[1]))
    settled = replace(EXCHANGE, pick=ResponsePick(strength=2), continues=1)
    assert choose_next_step(CHAT, []) == "say"
    assert choose_next_step(CHAT, [waiting]) == "answering"
    assert choose_next_step(CHAT, [EXCHANGE]) == "pick"
    failed = replace(EXCHANGE, candidates=(replace(waiting.candidates[0], failure="failed"), EXCHANGE.candidates[1]))
    assert choose_next_step(CHAT, [failed]) == "failed"
    assert failed.only_response == EXCHANGE.candidates[1]
    assert waiting.only_response is EXCHANGE.only_response is None
    assert choose_next_step(CHAT, [settled]) == "say"
    assert choose_next_step(CHAT, [settled, settled]) == "end"


def test_a_conversation_holds_the_responses_that_continued_it() -> None:
    plain = replace(EXCHANGE, pick=ResponsePick(strength=2), continues=1)
    edited = replace(EXCHANGE, pick=ResponsePick(strength=2, edit="B, better."), continues=1)
    first_continues = replace(edited, continues=0)
    texts = [turn.text for turn in build_conversation([plain, edited, first_continues], "And?").turns]
    assert texts == ["Hi.", "B.", "Hi.", "B, better.", "Hi.", "A.", "And?"]


def test_a_message_without_response_is_left_out_once_another_follows() -> None:
    refused = replace(EXCHANGE, message="Refused.", candidates=())
    settled = replace(EXCHANGE, pick=ResponsePick(strength=2), continues=1)
    assert [turn.text for turn in build_conversation([refused, settled]).turns] == ["Hi.", "B."]
    assert [turn.text for turn in build_conversation([settled, refused]).turns] == ["Hi.", "B.", "Refused."]
    assert [turn.text for turn in build_conversation([settled, refused], "And?").turns] == ["Hi.", "B.", "And?"]


@pytest.mark.parametrize(
    ("mode", "pick", "message"),
    [
        ({"criterion": None}, ResponsePick(strength=1), "There is one response"),
        ({}, ResponsePick(strength=0), "from -3 to 3 except 0"),
        ({}, ResponsePick(strength=-4), r"The strength is -4\. Give one from -3 to 3 except 0"),
        ({}, ResponsePick(strength=1, edit="Worse."), "cannot be edited here"),
        ({"criterion": "more helpful", "allow_edits": True}, ResponsePick(strength=1, edit=" "), "nothing to send"),
        (
            {"criterion": "more helpful", "allow_edits": True},
            ResponsePick(strength=1, edit="x" * (MAX_MESSAGE_LENGTH + 1)),
            "It has 20,001 characters, and 20,000 can be sent at once",
        ),
    ],
)
def test_an_impossible_pick_is_refused(mode: dict[str, Any], pick: ResponsePick, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_pick(CHAT, replace(HARM, **mode), pick)


def test_a_tie_is_allowed_where_the_campaign_allows_it_and_is_not_edited() -> None:
    chat, mode = replace(CHAT, allow_ties=True), replace(HARM, criterion="more helpful", allow_edits=True)
    check_pick(chat, mode, ResponsePick(strength=0))
    check_pick(chat, mode, ResponsePick(strength=MAX_STRENGTH, edit="x" * MAX_MESSAGE_LENGTH))
    with pytest.raises(InvalidInput, match="The response cannot be edited here"):
        check_pick(chat, mode, ResponsePick(strength=0, edit="Better."))
    with pytest.raises(InvalidInput, match=r"The strength is 4\. Give one from -3 to 3\."):
        check_pick(chat, mode, ResponsePick(strength=4))


@given(message=st.text(max_size=30), other=st.text(max_size=30))
def test_a_digest_depends_on_mode_and_message_alone(message: str, other: str) -> None:
    first, second = replace(EXCHANGE, message=message), replace(EXCHANGE, message=other)
    assert (digest_message(first) == digest_message(second)) == (message == other)
    assert digest_message(first) == digest_message(replace(first, continues=1))
    assert digest_message(first) != digest_message(replace(first, mode="other"))


def test_a_digest_of_a_pick_depends_on_strength_edit_and_continuation() -> None:
    settled = replace(EXCHANGE, pick=ResponsePick(strength=1), continues=1)
    changed = [
        replace(settled, continues=0),
        replace(settled, pick=ResponsePick(strength=2)),
        replace(settled, pick=ResponsePick(strength=1, edit="B, better.")),
        replace(settled, pick=None),
    ]
    assert len({digest_pick(exchange) for exchange in (settled, *changed)}) == 5
    assert digest_pick(settled) == digest_pick(replace(settled, message="Hello."))


def test_a_digest_of_an_ended_conversation_depends_on_everything() -> None:
    settled = replace(EXCHANGE, pick=ResponsePick(strength=1), continues=1)
    first, second = settled.candidates
    candidates: list[dict[str, Any]] = [
        {"chatbot": "auk"},
        {"text": "C."},
        {"failure": "failed"},
        {"ranked_by": "ours 2"},
    ]
    others = [
        [settled, settled],
        [replace(settled, message="Hello.")],
        [replace(settled, mode="other")],
        [replace(settled, pick=ResponsePick(strength=2))],
        *([replace(settled, candidates=(replace(first, **change), second))] for change in candidates),
    ]
    digests = [digest_ended_chat(exchanges, success=None, comment=None) for exchanges in ([settled], *others)]
    digests += [digest_ended_chat([settled], success=success, comment="Fine.") for success in (0, 1, None)]
    assert len(set(digests)) == len(digests) == 12
