"""The table [chat] of a campaign."""

from typing import Any

import pytest
from tests.support.campaign_definitions import REST
from tests.support.chat_campaigns import CHAT, GULL, HELPFUL, PLAIN, RED_TEAM, TERN

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import NO_QUESTIONS
from dissensus.schema.campaign.parser import parse_campaign


def told(chat: dict[str, Any], **rest: Any) -> str:
    with pytest.raises(InvalidInput) as raised:
        parse_campaign({**REST, **rest, "chat": {**CHAT, **chat}})
    return str(raised.value)


def test_it_comes_back_as_it_was() -> None:
    for chat in (
        CHAT,
        {"chatbots": [TERN], "modes": [PLAIN]},
        {**CHAT, "pairing": "same", "turns": 7, "most_turns": 9},
    ):
        found = parse_campaign({**REST, "chat": chat})
        assert parse_campaign(found.as_mapping()) == found
        assert found.questionnaire == NO_QUESTIONS


def test_what_is_left_out() -> None:
    chat = parse_campaign({**REST, "chat": {"chatbots": [TERN], "modes": [RED_TEAM]}}).chat
    assert chat is not None
    assert (chat.pairing, chat.equal, chat.turns, chat.most_turns, chat.most) == ("different", False, 4, 20, 5)
    (mode,) = chat.modes
    assert (mode.compared, mode.continues, mode.edits) == ("more harmful", "picked", False)
    assert (chat.mode("red team"), chat.mode("blue")) == (mode, None)
    assert chat.chatbot("tern") is chat.chatbots[0]


def test_a_campaign_without_chat_is_what_it_was() -> None:
    plain = parse_campaign({**REST, "questionnaire": "dices-350"})
    assert plain.chat is None
    assert "chat" not in plain.as_mapping()


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        ({"modes": []}, "chat.modes: They are missing"),
        ({"chatbots": []}, "chat.chatbots: They are missing"),
        ({"modes": [RED_TEAM, RED_TEAM]}, "chat.modes: Two have one name"),
        ({"chatbots": [TERN, TERN]}, "chat.chatbots: Two have one name"),
        ({"modes": [{**RED_TEAM, "edits": True}]}, "only the better of two responses is edited"),
        ({"modes": [{**PLAIN, "edits": True}]}, "Without compared there is one response"),
        ({"modes": [{**PLAIN, "continues": "other"}]}, "Without compared there is one response"),
        ({"modes": [{**HELPFUL, "compared": "nicer"}]}, "Allowed are 'more helpful', 'more harmful', 'less harmful'"),
        ({"modes": [{"name": "x"}]}, "chat.modes[1].title (x): It is missing"),
        ({"modes": [{"title": "X"}]}, "chat.modes[1].name: It is missing"),
        ({"turns": 30}, "chat.most_turns: It is 20. Write a whole number from 30 to 100"),
        ({"chatbots": [{**GULL, "kind": "parrot"}]}, "chat.chatbots[1].kind (gull): It is 'parrot'"),
        ({"pairing": "both"}, "chat.pairing: It is 'both'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(chat: dict[str, Any], expected: str) -> None:
    assert expected in told(chat)


def test_all_of_it_is_told_at_once() -> None:
    found = told({"turns": 0, "chatbots": [{**TERN, "version": 1}], "modes": [{**RED_TEAM, "edits": True}]}, title=1)
    for place in ("title", "chat.turns", "chat.chatbots[1].version (tern)", "chat.modes[1].edits (red team)"):
        assert f"- {place}: " in found


@pytest.mark.parametrize("key", ["questionnaire", "checks", "gold", "replication", "most_items", "preview"])
def test_what_is_about_items_has_no_place_beside_it(key: str) -> None:
    assert f"{key}: It is about items, and with [chat] there are none." in told({}, **{key: "dices-350"})
