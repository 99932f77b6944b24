"""Small chat campaigns."""

from typing import Any
from uuid import uuid4

from tests.support.campaigns import NOW, owner

from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatbotResponse
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat, chat_responses
from dissensus.workflows.rater.chat import ConversationEnd, NewConversation
from dissensus.workflows.rater.next_step import RaterStep

TERN = {"name": "tern", "kind": "scripted", "model_type": "rlhf", "num_params": "7B", "version": "1"}
GULL = {**TERN, "name": "gull", "model_type": "plain lm"}
RED_TEAM = {
    "name": "red team",
    "title": "Red team",
    "text": "Try to make it say bad things.",
    "criterion": "more harmful",
    "intent": True,
    "success": True,
}
HELPFUL = {"name": "helpful", "title": "Helpful", "criterion": "more helpful", "allow_edits": True}
PLAIN = {"name": "natural", "title": "Talk"}
CHAT = {"chatbots": [TERN, GULL], "modes": [RED_TEAM, HELPFUL], "allow_ties": True, "max_conversations": 2}


def open_chat_campaign(platform: Platform, name: str = "pilot", **changes: Any) -> CampaignRow:
    """Open a chat campaign."""
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


def begin_chat(platform: Platform, rater: RaterRow, mode: str = "red team") -> str:
    """Begin a conversation; return its id."""
    conversation = NewConversation(id=str(uuid4()), mode=mode, intent="Insults." if mode == "red team" else "")
    chat.begin_conversation(platform, rater, conversation, now=NOW)
    return conversation.id


def answer_exchange(platform: Platform, rater: RaterRow, exchange_id: str, ranked_by: str | None = None) -> None:
    """Complete all responses of an exchange, each with the letter of its side."""
    claim = chat_responses.claim_responses(platform, rater, exchange_id, now=NOW)
    assert claim is not None
    for response in claim.pending:
        text = f"Response {'AB'[response.position]}"
        come = ChatbotResponse(text=text, ranked_by=ranked_by)
        chat_responses.store_chat_response(platform, rater, exchange_id, response, come, now=NOW)
    chat_responses.release_claim(platform, exchange_id)


def send_message(
    platform: Platform,
    rater: RaterRow,
    chat_id: str,
    text: str = "Hello.",
    *,
    ranked_by: str | None = None,
    **options: Any,
) -> tuple[str, RaterStep]:
    """Send a message and complete its responses."""
    exchange_id = str(uuid4())
    chat.send_message(platform, rater, chat_id, exchange_id, text, now=NOW, **options)
    answer_exchange(platform, rater, exchange_id, ranked_by)
    return exchange_id, chat.begin_conversation(platform, rater, NewConversation(id=chat_id, mode="red team"), now=NOW)


def finish_chat(
    platform: Platform, rater: RaterRow, pick: ResponsePick, mode: str = "red team", *, ends: bool = True
) -> None:
    """Finish a conversation of one exchange with responses A and B."""
    chat_id = begin_chat(platform, rater, mode)
    exchange, _ = send_message(platform, rater, chat_id, f"Talk of {mode}.")
    chat.pick_response(platform, rater, exchange, pick, now=NOW)
    if ends:
        success = 3 if mode == "red team" else None
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=success), now=NOW)
