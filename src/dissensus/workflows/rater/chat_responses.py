"""Request chatbot responses: one process claims an exchange and stores each response as it arrives."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from dissensus.chat import Response
from dissensus.errors import NotFound
from dissensus.pipeline.collect.chat import ResponseFailure, build_conversation
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.definition import ResponseFormat
from dissensus.schema.records.conversation import Conversation
from dissensus.store import campaigns, chats
from dissensus.store.chats import ChatbotResponse, Continuation, PendingResponse
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import check_not_withdrawn, load_rater

CLAIM_DURATION: Final = timedelta(seconds=15)
"""Time after which another process may claim the responses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRequest:
    """Responses that a process claimed."""

    exchange_id: str
    conversation: Conversation
    pending: tuple[PendingResponse, ...]
    chat: ChatSettings


def claim_responses(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> ResponseRequest | None:
    """Claim the pending responses of an exchange; None if there are none or another process has them."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, n_writes=0, now=now)
        chat_row = chats.find_last_chat(tx, rater.id)
        if context.campaign.chat is None or chat_row is None or chat_row.exchange_ids[-1:] != (exchange_id,):
            return None
        pending = chats.list_pending_responses(tx, exchange_id)
        if not pending or not chats.claim_exchange(tx, exchange_id, until=now + CLAIM_DURATION, now=now):
            return None
        conversation = build_conversation(chat_row.exchanges)
        return ResponseRequest(
            exchange_id=exchange_id, conversation=conversation, pending=pending, chat=context.campaign.chat
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
    pending: PendingResponse,
    response: ChatbotResponse,
    *,
    now: datetime,
) -> None:
    """Store a response; the last one ends the claim, and without a pick the conversation continues."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, n_writes=0, now=now)
        if not chats.set_response(tx, exchange_id, pending.position, response) or context.campaign.chat is None:
            return
        if not chats.list_pending_responses(tx, exchange_id):
            chats.extend_claim(tx, exchange_id, until=None)
        chat_row = chats.find_last_chat(tx, rater.id)
        mode = None if chat_row is None else context.campaign.chat.mode(chat_row.last_mode)
        if mode is not None and mode.criterion is None:
            chats.add_pick(tx, exchange_id, Continuation(), now=now)


def to_stored_response(response: Response) -> ChatbotResponse:
    """Return a response in its stored form."""
    return ChatbotResponse(text=response.text, ranked_by=response.ranked_by or None)


ResponseState: TypeAlias = Literal["complete", "pending", "failed", "unclaimed"]


def response_state(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> ResponseState:
    """Return whether the responses of an exchange are complete, pending, failed or unclaimed."""
    with platform.database.reading() as tx:
        chat_row = chats.find_last_chat(tx, rater.id)
    if chat_row is None or exchange_id not in chat_row.exchange_ids:
        raise NotFound("This conversation does not exist. Reload the page.")
    return response_state_of(chat_row, exchange_id, now=now)


def response_state_of(chat_row: chats.ChatRow, exchange_id: str, *, now: datetime) -> ResponseState:
    """Return the state of the responses of a loaded conversation."""
    if chat_row.exchange_ids[-1] != exchange_id or chat_row.exchanges[-1].complete:
        return "complete"
    if not chat_row.exchanges[-1].pending:
        return "failed"
    # An expired claim is from a process that died.
    return "pending" if chat_row.claimed_until is not None and chat_row.claimed_until > now else "unclaimed"


def load_response_format(platform: Platform, rater: RaterRow) -> ResponseFormat:
    """Return the format in which the campaign of a rater shows responses."""
    with platform.database.reading() as tx:
        campaign_row = campaigns.get_campaign(tx, rater.campaign_id)
        return platform.definitions.load(tx, campaign_row).response_format


def retry_responses(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> None:
    """Allow failed responses to be requested again."""
    with platform.database.writing() as tx:
        check_not_withdrawn(load_rater(tx, platform, rater, now=now).rater)
        chat_row = chats.find_last_chat(tx, rater.id)
        if chat_row is None or exchange_id not in chat_row.exchange_ids:
            raise NotFound("This conversation does not exist. Reload the page.")
        # Once the conversation has gone on or ended, the failure is the recorded outcome.
        settled = chat_row.done or chat_row.exchanges[-1].continues is not None
        if not settled and response_state_of(chat_row, exchange_id, now=now) == "failed":
            chats.clear_failures(tx, exchange_id)


def mark_response_failed(
    platform: Platform, exchange_id: str, pending: PendingResponse, failure: ResponseFailure
) -> None:
    """Store the failure of a response; the last response ends the claim."""
    with platform.database.writing() as tx:
        chats.set_failure(tx, exchange_id, pending.position, failure)
        if not chats.list_pending_responses(tx, exchange_id):
            chats.extend_claim(tx, exchange_id, until=None)
