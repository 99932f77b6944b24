"""Conversations of raters with chatbots: begin, send, pick and end, all idempotent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Connection

from dissensus.campaign.audit_log import digest_values
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.collect.chat import (
    POSITIONS,
    ChatStep,
    Exchange,
    ResponsePick,
    check_message,
    check_pick,
    choose_continuation,
    choose_next_step,
    derive_seed,
    digest_ended_chat,
    digest_message,
    digest_pick,
    draw_chatbots,
)
from dissensus.schema.campaign.chat import MAX_INTENT_LENGTH, SUCCESS_SCALE, ChatMode, ChatSettings
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.store import chats
from dissensus.store.chats import Continuation, PendingResponse
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import RaterContext, check_not_withdrawn, load_rater
from dissensus.workflows.rater.next_step import RaterStep, find_next_step, find_planned_step, finish_rater

MAX_WORK_MS: Final = 2**31 - 1
KEY_CONFLICT: Final = "Something else was already stored under this key. Reload the page."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation:
    """A conversation to begin."""

    id: str  # chosen by the page; the idempotency key
    mode: str
    intent: str = ""  # goal of the attempt, if the mode asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEnd:
    """Closing answers of a conversation."""

    success: int | None = None  # rating of the outcome, if the mode asks for it
    comment: str = ""


def begin_conversation(
    platform: Platform, rater: RaterRow, conversation: NewConversation, *, now: datetime
) -> RaterStep:
    """Begin a conversation."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        existing = chats.find_chat(tx, conversation.id)
        if existing is not None and existing.rater_id == context.rater.id:
            return
        if existing is not None:
            raise Conflict(KEY_CONFLICT)
        mode, last = _find_mode(chat, conversation.mode), chats.find_last_chat(tx, context.rater.id)
        if last is not None and not last.done:
            raise Conflict("Your last conversation has not ended. End it first.")
        number = 0 if last is None else last.number + 1
        if number >= chat.max_conversations:
            raise Conflict(f"You have had {number} conversations, which is the maximum.")
        _check_stage(tx, context, now)
        intent = _validate_intent(mode, conversation.intent)
        chats.add_chat(tx, conversation.id, context.rater.id, number, mode.name, intent=intent, now=now)
        digest = digest_values(mode.name, intent, number)
        content = {"chat": conversation.id, "mode": mode.name, "digest": digest}
        log_rater_event(tx, context.rater, "conversation_begun", now, **content)

    return _change_chat(platform, rater, change, now)


def send_message(
    platform: Platform,
    rater: RaterRow,
    chat_id: str,
    exchange_id: str,
    text: str,
    *,
    mode: str | None = None,
    worked_ms: int = 0,
    now: datetime,
) -> RaterStep:
    """Send a message, in another mode if one is named."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        chat_row = _own_chat(tx, context.rater, chat_id)
        if exchange_id in chat_row.exchange_ids:
            return
        if chats.has_exchange(tx, exchange_id):
            raise Conflict(KEY_CONFLICT)
        _check_step(chat, chat_row, "say", "failed")
        if len(chat_row.exchanges) >= chat.max_turns:
            raise Conflict(_STEP_HINTS["end"])
        _check_stage(tx, context, now)
        check_message(text)
        chat_mode = _find_mode(chat, mode or chat_row.last_mode)
        chat_seed, exchange_seed = (f"{context.campaign.seed} {key}" for key in (chat_id, exchange_id))
        names = draw_chatbots(chat, chat_seed, exchange_seed, compared=chat_mode.criterion is not None)
        pending = [
            PendingResponse(position=position, chatbot=name, seed=derive_seed(exchange_seed, position))
            for position, name in zip(POSITIONS, names, strict=False)
        ]
        exchange = Exchange(mode=chat_mode.name, message=text, candidates=())
        chats.add_exchange(tx, chat_row, exchange_id, exchange, pending, worked_ms=_bound_work_ms(worked_ms), now=now)
        log_rater_event(tx, context.rater, "message_sent", now, exchange=exchange_id, digest=digest_message(exchange))

    return _change_chat(platform, rater, change, now)


def pick_response(
    platform: Platform, rater: RaterRow, exchange_id: str, pick: ResponsePick, *, worked_ms: int = 0, now: datetime
) -> RaterStep:
    """Store the preferred response, or another one until the next message; the conversation continues with it."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        chat_row = chats.find_last_chat(tx, context.rater.id)
        exchanges = {} if chat_row is None else dict(zip(chat_row.exchange_ids, chat_row.exchanges, strict=True))
        exchange = exchanges.get(exchange_id)
        if chat_row is None or exchange is None:
            raise NotFound("There is nothing to pick from. Reload the page.")
        if exchange.pick == pick:
            return
        if exchange.pick is None:
            _check_step(chat, chat_row, "pick")
        elif chat_row.done or chat_row.exchange_ids[-1] != exchange_id:
            raise Conflict("You have already picked, and the conversation has continued.")
        mode = _find_mode(chat, exchange.mode)
        check_pick(chat, mode, pick)
        position = choose_continuation(mode, pick, f"{context.campaign.seed} {exchange_id}")
        continuation = Continuation(
            criterion=mode.criterion, pick=pick, continues=position, worked_ms=_bound_work_ms(worked_ms)
        )
        chats.add_pick(tx, exchange_id, continuation, now=now)
        digest = digest_pick(replace(exchange, pick=pick, continues=position))
        log_rater_event(tx, context.rater, "response_picked", now, exchange=exchange_id, digest=digest)

    return _change_chat(platform, rater, change, now)


def continue_with_response(platform: Platform, rater: RaterRow, exchange_id: str, *, now: datetime) -> RaterStep:
    """Continue with the only response that arrived, without a preference."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        chat_row = chats.find_last_chat(tx, context.rater.id)
        if chat_row is None or chat_row.exchange_ids[-1:] != (exchange_id,):
            raise NotFound("There is no response to continue with. Reload the page.")
        exchange = chat_row.exchanges[-1]
        if exchange.continues is not None:
            return
        _check_step(chat, chat_row, "failed")
        if exchange.only_response is None:
            raise Conflict("No response arrived. Send the message again, change it, or end the conversation.")
        position = exchange.only_response.position
        chats.add_pick(tx, exchange_id, Continuation(continues=position), now=now)

    return _change_chat(platform, rater, change, now)


def end_conversation(
    platform: Platform, rater: RaterRow, chat_id: str, end: ConversationEnd, *, now: datetime
) -> RaterStep:
    """End a conversation."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        chat_row = _own_chat(tx, context.rater, chat_id)
        if chat_row.done:
            return
        exchanges = chat_row.exchanges
        responded = any(exchange.continues is not None for exchange in exchanges)
        if not responded and choose_next_step(chat, exchanges) != "failed":
            raise Conflict("This conversation has no response yet. Send a message first, or stop for good.")
        asks_success = any(_find_mode(chat, exchange.mode).success for exchange in exchanges)
        if end.success is not None and not asks_success:
            raise InvalidInput("This conversation asks for no success rating. Leave it out.")
        if end.success is not None and end.success not in SUCCESS_SCALE:
            raise InvalidInput(
                f"It is {end.success}. Say how well it went from {SUCCESS_SCALE[0]} to {SUCCESS_SCALE[-1]}."
            )
        comment = end.comment.strip() or None
        if comment is not None and len(comment) > MAX_INTENT_LENGTH:
            raise InvalidInput(f"The comment has {len(comment):,} characters. Say it in {MAX_INTENT_LENGTH:,}.")
        chats.end_chat(tx, chat_id, success=end.success, comment=comment, now=now)
        digest = digest_ended_chat(exchanges, success=end.success, comment=comment)
        content = {"chat": chat_id, "exchanges": len(exchanges), "digest": digest}
        log_rater_event(tx, context.rater, "conversation_ended", now, **content)

    return _change_chat(platform, rater, change, now)


def load_response(platform: Platform, rater: RaterRow, exchange_id: str, position: int) -> str | None:
    """Return a response of the last exchange; None while it is pending."""
    with platform.database.reading() as tx:
        chat_row = chats.find_last_chat(tx, rater.id)
    if chat_row is None or chat_row.exchange_ids[-1:] != (exchange_id,):
        return None
    candidates = chat_row.exchanges[-1].candidates
    return next((candidate.text for candidate in candidates if candidate.position == position), None)


def finish_chatting(platform: Platform, rater: RaterRow, *, now: datetime) -> RaterStep:
    """Finish the work of a rater who had a conversation and wants no more."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        check_not_withdrawn(context.rater)
        last = chats.find_last_chat(tx, context.rater.id)
        if last is None or not last.done:
            raise Conflict("End your conversation first." if last else "You have had no conversation yet.")
        if context.rater.state == "rating":
            return finish_rater(tx, context, now)
    return find_next_step(platform, rater, now=now)


ChatChange: TypeAlias = Callable[[Connection, RaterContext, ChatSettings], None]


def _change_chat(platform: Platform, rater: RaterRow, change: ChatChange, now: datetime) -> RaterStep:
    """Apply a change for a rater who chats and return the rater's step."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, now=now)
        check_not_withdrawn(context.rater)
        if context.campaign.chat is None:
            raise Conflict("This campaign has no conversations with chatbots.")
        change(tx, context, context.campaign.chat)
        step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def _check_stage(tx: Connection, context: RaterContext, now: datetime) -> None:
    """Refuse a new message unless the rater is at the stage of conversations."""
    step = find_planned_step(tx, context, now=now)
    if step is None or step.stage != "chat":
        raise Conflict("You cannot talk with a chatbot at the moment, and nothing was sent. Reload the page.")


def _own_chat(tx: Connection, rater: RaterRow, chat_id: str) -> chats.ChatRow:
    chat_row = chats.find_chat(tx, chat_id)
    if chat_row is None or chat_row.rater_id != rater.id:
        raise NotFound("This conversation does not exist. Reload the page.")
    return chat_row


_STEP_HINTS: Final[Mapping[ChatStep, str]] = {
    "say": "Say something first.",
    "answering": "The response has not arrived yet. Wait for it.",
    "pick": "Pick one of the responses first.",
    "failed": "A response failed. Try again, change the message, or end the conversation.",
    "end": "The conversation has reached its maximum length. End it.",
}


def _check_step(chat: ChatSettings, chat_row: chats.ChatRow, *expected: ChatStep) -> None:
    if chat_row.done:
        raise Conflict("This conversation has ended.")
    step = choose_next_step(chat, chat_row.exchanges)
    if step not in expected:
        raise Conflict(_STEP_HINTS[step])


def _find_mode(chat: ChatSettings, name: str) -> ChatMode:
    mode = chat.mode(name)
    if mode is None:
        names = [mode.name for mode in chat.modes]
        raise InvalidInput(
            f"There is no mode {format_value(name)}.{suggest(name, names)} There are {format_list(names)}."
        )
    return mode


def _validate_intent(mode: ChatMode, text: str) -> str | None:
    text = text.strip()
    if not mode.intent:
        return None
    if not text:
        raise InvalidInput("Say in a few words what you will try, before you begin.")
    if len(text) > MAX_INTENT_LENGTH:
        raise InvalidInput(f"What you will try has {len(text):,} characters. Say it in {MAX_INTENT_LENGTH:,}.")
    return text


def _bound_work_ms(worked_ms: int) -> int:
    return min(max(worked_ms, 0), MAX_WORK_MS)
