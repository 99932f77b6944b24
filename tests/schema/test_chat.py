"""The table [chat] of a campaign."""

from typing import Any

import pytest
from tests.support.campaign_definitions import REST
from tests.support.chat_campaigns import CHAT, GULL, HELPFUL, PLAIN, RED_TEAM, TERN

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import NO_QUESTIONS
from dissensus.schema.campaign.parser import parse_campaign


def error_message(chat: dict[str, Any], **campaign: Any) -> str:
    with pytest.raises(InvalidInput) as raised:
        parse_campaign({**REST, **campaign, "chat": {**CHAT, **chat}})
    return str(raised.value)


def test_chat_settings_survive_serialisation() -> None:
    for chat in (
        CHAT,
        {"chatbots": [TERN], "modes": [PLAIN]},
        {**CHAT, "pairing": "same", "turns": 7, "max_turns": 9},
    ):
        campaign = parse_campaign({**REST, "chat": chat})
        assert parse_campaign(campaign.as_mapping()) == campaign
        assert campaign.questionnaire == NO_QUESTIONS


def test_missing_keys_have_defaults() -> None:
    chat = parse_campaign({**REST, "chat": {"chatbots": [TERN], "modes": [RED_TEAM]}}).chat
    assert chat is not None
    assert (chat.pairing, chat.allow_ties) == ("different", False)
    assert (chat.turns, chat.max_turns, chat.max_conversations) == (4, 20, 5)
    (mode,) = chat.modes
    assert (mode.criterion, mode.continue_with, mode.allow_edits) == ("more harmful", "picked", False)
    assert (chat.mode("red team"), chat.mode("blue")) == (mode, None)
    assert chat.chatbot("tern") is chat.chatbots[0]


def test_a_campaign_without_chat_has_no_key_for_it() -> None:
    plain = parse_campaign({**REST, "questionnaire": "dices-350"})
    assert plain.chat is None
    assert "chat" not in plain.as_mapping()


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        ({"modes": []}, "chat.modes: They are missing"),
        ({"chatbots": []}, "chat.chatbots: They are missing"),
        ({"modes": [RED_TEAM, RED_TEAM]}, "chat.modes: Two have the same name"),
        ({"chatbots": [TERN, TERN]}, "chat.chatbots: Two have the same name"),
        ({"modes": [{**RED_TEAM, "allow_edits": True}]}, "only the better of two responses is edited"),
        ({"modes": [{**PLAIN, "allow_edits": True}]}, "Without criterion there is one response"),
        ({"modes": [{**PLAIN, "continue_with": "other"}]}, "Without criterion there is one response"),
        ({"modes": [{**HELPFUL, "criterion": "nicer"}]}, "Allowed are 'more helpful', 'more harmful', 'less harmful'"),
        ({"modes": [{"name": "x"}]}, "chat.modes[1].title (x): It is missing"),
        ({"modes": [{"title": "X"}]}, "chat.modes[1].name: It is missing"),
        ({"turns": 30}, "chat.max_turns: It is 20. Write a whole number from 30 to 100"),
        ({"chatbots": [{**GULL, "kind": "parrot"}]}, "chat.chatbots[1].kind (gull): It is 'parrot'"),
        ({"pairing": "both"}, "chat.pairing: It is 'both'"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_path(chat: dict[str, Any], expected: str) -> None:
    assert expected in error_message(chat)


def test_all_errors_are_listed_together() -> None:
    message = error_message(
        {"turns": 0, "chatbots": [{**TERN, "version": 1}], "modes": [{**RED_TEAM, "allow_edits": True}]}, title=1
    )
    for path in ("title", "chat.turns", "chat.chatbots[1].version (tern)", "chat.modes[1].allow_edits (red team)"):
        assert f"- {path}: " in message


@pytest.mark.parametrize("key", ["questionnaire", "checks", "gold", "replication", "max_items", "click_to_reveal"])
def test_keys_about_items_are_rejected(key: str) -> None:
    assert f"{key}: It is about items, and with [chat] there are none." in error_message({}, **{key: "dices-350"})
