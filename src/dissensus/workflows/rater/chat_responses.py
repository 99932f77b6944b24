"""Request chatbot responses: one process claims an exchange and stores each response as it arrives."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from dissensus.chat import Response
from dissensus.errors import NotFound
from dissensus.pipeline.collect.chat import build_conversation
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.records.conversation import Conversation
from dissensus.store import chats
from dissensus.store.chats import ChatbotResponse, Continuation, PendingResponse
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import load_rater

CLAIM_DURATION: Final = timedelta(seconds=15)
"""How long others leave it to a process that gives no sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRequest:
    """Responses that a process claimed."""

    exchange_id: str
    conversation: Conversation
    wanted: tuple[PendingResponse, ...]
    chat: ChatSettings


def claim_responses(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> ResponseRequest | None:
    """Claim the pending responses of an exchange; None if there are none or another process has them."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, now=now)
        talk = chats.find_last_chat(tx, rater.id)
        if context.campaign.chat is None or talk is None or talk.exchange_ids[-1:] != (exchange_id,):
            return None
        wanted = chats.list_pending_responses(tx, exchange_id)
        if not wanted or not chats.claim_exchange(tx, exchange_id, until=now + CLAIM_DURATION, now=now):
            return None
        conversation = build_conversation(talk.exchanges)
        return ResponseRequest(
            exchange_id=exchange_id, conversation=conversation, wanted=wanted, chat=context.campaign.chat
        )


def prolong_claim(platform: Platform, exchange_id: str, *, now: datetime) -> None:
    """Renew the claim while responses are pending."""
    with platform.database.writing() as tx:
        chats.extend_claim(tx, exchange_id, until=now + CLAIM_DURATION)


def release_claim(platform: Platform, exchange_id: str) -> None:
    """Release the claim for other processes."""
    with platform.database.writing() as tx:
        chats.extend_claim(tx, exchange_id, until=None)


def store_chat_response(
    platform: Platform,
    rater: RaterRow,
    exchange_id: str,
    wanted: PendingResponse,
    come: ChatbotResponse,
    *,
    now: datetime,
) -> None:
    """Store a response; the last one ends the claim, and without a pick the conversation continues."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, now=now)
        if not chats.set_response(tx, exchange_id, wanted.place, come) or context.campaign.chat is None:
            return
        if not chats.list_pending_responses(tx, exchange_id):
            chats.extend_claim(tx, exchange_id, until=None)
        talk = chats.find_last_chat(tx, rater.id)
        mode = None if talk is None else context.campaign.chat.mode(talk.last_mode)
        if mode is not None and mode.compared is None:
            chats.add_pick(tx, exchange_id, Continuation(), now=now)


def to_stored_response(response: Response) -> ChatbotResponse:
    """Return a response in its stored form."""
    first = response.first_token_s
    return ChatbotResponse(
        text=response.text,
        finish=response.finish,
        first_ms=None if first is None else round(1000 * first),
        total_ms=round(1000 * response.total_s),
        ranked_by=response.ranked_by or None,
    )


ResponseState: TypeAlias = Literal["come", "asked", "failed", "free"]


def response_state(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> ResponseState:
    """Return whether the responses of an exchange are complete, pending, failed or unclaimed."""
    with platform.database.reading() as tx:
        talk = chats.find_last_chat(tx, rater.id)
    if talk is None or exchange_id not in talk.exchange_ids:
        raise NotFound("You have no such conversation. Reload the page.")
    return response_state_of(talk, exchange_id, now=now)


def response_state_of(talk: chats.ChatRow, exchange_id: str, *, now: datetime) -> ResponseState:
    """Return the state of the responses of a loaded conversation."""
    if talk.exchange_ids[-1] != exchange_id or talk.exchanges[-1].complete:
        return "come"
    if talk.claimed_until is None:
        return "failed" if talk.n_failures else "free"
    # Whose claim is over has died, or was asked to try again.
    return "asked" if talk.claimed_until > now else "free"


def retry_responses(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> None:
    """Allow failed responses to be requested again."""
    if response_state(platform, rater, exchange_id, now=now) == "failed":
        with platform.database.writing() as tx:
            chats.extend_claim(tx, exchange_id, until=now)


def mark_response_failed(platform: Platform, exchange_id: str, wanted: PendingResponse) -> None:
    """Mark a response as failed."""
    with platform.database.writing() as tx:
        chats.count_response_failure(tx, exchange_id, wanted.place)
