"""Conversations of raters with chatbots: begin, send, pick and end, all idempotent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.collect.chat import (
    PLACES,
    Exchange,
    Moment,
    ResponsePick,
    check_message,
    check_pick,
    choose_next_step,
    continue_conversation,
    derive_seed,
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
from dissensus.workflows.rater.journey import RaterState, finish_rater, next_state, planned_state

MAX_WORK_MS: Final = 2**31 - 1
KEY_TAKEN: Final = "Something else was kept under this key, and nothing of this. Reload the page."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation:
    """A conversation to begin."""

    id: str  # chosen by the page; the idempotency key
    mode: str
    intent: str = ""  # goal of the attempt, if the mode asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEnd:
    """Closing answers of a conversation."""

    success: int | None = None  # how well it went, if the mode asks for it
    comment: str = ""


def begin_conversation(platform: Platform, rater: RaterRow, beginning: NewConversation, *, now: datetime) -> RaterState:
    """Begin a conversation."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        known = chats.find_chat(tx, beginning.id)
        if known is not None and known.rater_id == context.rater.id:
            return
        if known is not None:
            raise Conflict(KEY_TAKEN)
        mode, last = _find_mode(chat, beginning.mode), chats.find_last_chat(tx, context.rater.id)
        if last is not None and not last.done:
            raise Conflict("Your last conversation has not ended. End it first.")
        number = 0 if last is None else last.number + 1
        if number >= chat.most:
            raise Conflict(f"You have had {number} conversations, which are all that there are.")
        intent = _validate_intent(mode, beginning.intent)
        chats.add_chat(tx, beginning.id, context.rater.id, number, mode.name, intent=intent, now=now)
        log_rater_event(tx, context.rater, "conversation_begun", now, chat=beginning.id, mode=mode.name)

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
) -> RaterState:
    """Send a message, in another mode if one is named."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        talk = _own_chat(tx, context.rater, chat_id)
        if exchange_id in talk.exchange_ids:
            return
        if chats.has_exchange(tx, exchange_id):
            raise Conflict(KEY_TAKEN)
        _check_moment(chat, talk, "say")
        check_message(text)
        under = _find_mode(chat, mode or talk.last_mode)
        whom, drawn = (f"{context.campaign.seed} {one}" for one in (chat_id, exchange_id))
        names = draw_chatbots(chat, whom, drawn, compared=under.compared is not None)
        sides = zip(PLACES, names, strict=False)
        wanted = [PendingResponse(place=place, chatbot=name, seed=derive_seed(drawn, place)) for place, name in sides]
        said = Exchange(mode=under.name, said=text, candidates=())
        chats.add_exchange(tx, talk, exchange_id, said, wanted, worked_ms=_bound_work_ms(worked_ms), now=now)
        log_rater_event(tx, context.rater, "message_sent", now, exchange=exchange_id, digest=digest_message(said))

    return _change_chat(platform, rater, change, now)


def pick_response(
    platform: Platform, rater: RaterRow, exchange_id: str, found: ResponsePick, *, worked_ms: int = 0, now: datetime
) -> RaterState:
    """Store the preferred response; the conversation continues with it."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        talk = chats.find_last_chat(tx, context.rater.id)
        known = {} if talk is None else dict(zip(talk.exchange_ids, talk.exchanges, strict=True))
        exchange = known.get(exchange_id)
        if talk is None or exchange is None:
            raise NotFound("There is nothing to pick from. Reload the page.")
        if exchange.pick == found:
            return
        if exchange.pick is not None:
            raise Conflict("You have picked already, and the conversation went on.")
        _check_moment(chat, talk, "pick")
        mode = _find_mode(chat, exchange.mode)
        check_pick(chat, mode, found)
        place = continue_conversation(mode, found, f"{context.campaign.seed} {exchange_id}")
        going_on = Continuation(
            compared=mode.compared, pick=found, continues=place, worked_ms=_bound_work_ms(worked_ms)
        )
        chats.add_pick(tx, exchange_id, going_on, now=now)
        digest = digest_pick(replace(exchange, pick=found, continues=place))
        log_rater_event(tx, context.rater, "response_picked", now, exchange=exchange_id, digest=digest)

    return _change_chat(platform, rater, change, now)


def end_conversation(
    platform: Platform, rater: RaterRow, chat_id: str, ending: ConversationEnd, *, now: datetime
) -> RaterState:
    """End a conversation."""

    def change(tx: Connection, context: RaterContext, chat: ChatSettings) -> None:
        talk = _own_chat(tx, context.rater, chat_id)
        if talk.done:
            return
        if not any(one.continues is not None for one in talk.exchanges):
            raise Conflict("Nothing was answered in this conversation. Say something first, or stop for good.")
        asked = any(_find_mode(chat, one.mode).success for one in talk.exchanges)
        if ending.success is not None and (ending.success not in SUCCESS_SCALE or not asked):
            raise InvalidInput(
                f"It is {ending.success}. Say how well it went from {SUCCESS_SCALE[0]} to {SUCCESS_SCALE[-1]}."
            )
        comment = ending.comment.strip()[:MAX_INTENT_LENGTH] or None
        chats.end_chat(tx, chat_id, success=ending.success, comment=comment, now=now)
        log_rater_event(tx, context.rater, "conversation_ended", now, chat=chat_id, exchanges=len(talk.exchanges))

    return _change_chat(platform, rater, change, now)


def load_response(platform: Platform, rater: RaterRow, exchange_id: str, place: int) -> str | None:
    """Return a response of the last exchange; None while it is pending."""
    with platform.database.reading() as tx:
        talk = chats.find_last_chat(tx, rater.id)
    if talk is None or talk.exchange_ids[-1:] != (exchange_id,):
        return None
    return next((one.text for one in talk.exchanges[-1].candidates if one.place == place), None)


def finish_chatting(platform: Platform, rater: RaterRow, *, now: datetime) -> RaterState:
    """Finish the work of a rater who had a conversation and wants no more."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, plans=True, now=now)
        check_not_withdrawn(context.rater)
        last = chats.find_last_chat(tx, context.rater.id)
        if last is None or not last.done:
            raise Conflict("End your conversation first." if last else "You have had no conversation yet.")
        if context.rater.state == "rating":
            return finish_rater(tx, context, now)
    return next_state(platform, rater, now=now)


ChatChange: TypeAlias = Callable[[Connection, RaterContext, ChatSettings], None]


def _change_chat(platform: Platform, rater: RaterRow, change: ChatChange, now: datetime) -> RaterState:
    """Apply a change for a rater who chats and return the rater's state."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, now=now)
        check_not_withdrawn(context.rater)
        if context.campaign.chat is None:
            raise Conflict("In this campaign nobody talks with chatbots.")
        change(tx, context, context.campaign.chat)
        found = planned_state(tx, context, now=now)
    return found or next_state(platform, rater, now=now)


def _own_chat(tx: Connection, rater: RaterRow, chat_id: str) -> chats.ChatRow:
    found = chats.find_chat(tx, chat_id)
    if found is None or found.rater_id != rater.id:
        raise NotFound("You have no such conversation. Reload the page.")
    return found


_MOMENT_HINTS: Final[Mapping[Moment, str]] = {
    "say": "Say something first.",
    "answering": "The response is still coming. Wait for it.",
    "pick": "Pick one of the responses first.",
    "end": "The conversation is as long as it can be. End it.",
}


def _check_moment(chat: ChatSettings, talk: chats.ChatRow, wanted: Moment) -> None:
    if talk.done:
        raise Conflict("This conversation has ended.")
    found = choose_next_step(chat, talk.exchanges)
    if found != wanted:
        raise Conflict(_MOMENT_HINTS[found])


def _find_mode(chat: ChatSettings, name: str) -> ChatMode:
    found = chat.mode(name)
    if found is None:
        known = [mode.name for mode in chat.modes]
        raise InvalidInput(
            f"There is no mode {format_value(name)}.{suggest(name, known)} There are {format_list(known)}."
        )
    return found


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
