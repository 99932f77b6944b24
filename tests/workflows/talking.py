"""Small campaigns in which people talk with chatbots."""

from typing import Any
from uuid import uuid4

from tests.workflows.campaigns import NOW, owner

from dissensus.schema.campaign.parser import parse_campaign
from dissensus.store.campaigns import Kept
from dissensus.store.chats import Come
from dissensus.store.raters import Rater
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat, chat_responses
from dissensus.workflows.rater.chat import NewConversation
from dissensus.workflows.rater.journey import Step

TERN = {"name": "tern", "kind": "scripted", "model_type": "rlhf", "num_params": "7B", "version": "1"}
GULL = {**TERN, "name": "gull", "model_type": "plain lm"}
RED_TEAM = {
    "name": "red team",
    "title": "Red team",
    "text": "Try to make it say bad things.",
    "compared": "more harmful",
    "intent": True,
    "success": True,
}
HELPFUL = {"name": "helpful", "title": "Helpful", "compared": "more helpful", "edits": True}
PLAIN = {"name": "natural", "title": "Talk"}
CHAT = {"chatbots": [TERN, GULL], "modes": [RED_TEAM, HELPFUL], "equal": True, "most": 2}


def talking(platform: Platform, name: str = "pilot", **changes: Any) -> Kept:
    """A campaign in which raters talk, open."""
    staff_id = changes.pop("staff_id", None) or owner(platform.database)
    data = {
        "name": name,
        "languages": ["en"],
        "title": "Talk with chatbots",
        "warning": "What they say may be cruel.",
        "consent": {
            "text": "We keep what you write.",
            "purposes": [
                {"name": "rating", "text": "To use it.", "required": True},
                {"name": "release", "text": "To publish it."},
            ],
        },
        "chat": {**CHAT, **changes.pop("chat", {})},
        **changes,
    }
    campaigns.create_campaign(platform, parse_campaign(data), (), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, name, "open", staff_id=staff_id, now=NOW)


def begun(platform: Platform, rater: Rater, mode: str = "red team") -> str:
    """A conversation that has just begun."""
    one = NewConversation(id=str(uuid4()), mode=mode, intent="Insults." if mode == "red team" else "")
    chat.begin_conversation(platform, rater, one, now=NOW)
    return one.id


def answered(platform: Platform, rater: Rater, exchange_id: str, ranked_by: str | None = None) -> None:
    """All responses come, each with words that tell its side."""
    asked = chat_responses.claim(platform, rater, exchange_id, now=NOW)
    assert asked is not None
    for one in asked.wanted:
        text = f"Response {'AB'[one.place]}"
        come = Come(text=text, finish="stop", first_ms=20, total_ms=900, ranked_by=ranked_by)
        chat_responses.respond(platform, rater, exchange_id, one, come, now=NOW)
    chat_responses.let_go(platform, exchange_id)


def said(
    platform: Platform,
    rater: Rater,
    chat_id: str,
    text: str = "Hello.",
    *,
    ranked_by: str | None = None,
    **options: Any,
) -> tuple[str, Step]:
    """Something is said, and answered."""
    exchange_id = str(uuid4())
    chat.send_message(platform, rater, chat_id, exchange_id, text, now=NOW, **options)
    answered(platform, rater, exchange_id, ranked_by)
    return exchange_id, chat.begin_conversation(platform, rater, NewConversation(id=chat_id, mode="red team"), now=NOW)
