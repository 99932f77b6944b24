"""What a rater does who talks with chatbots: begin, say, pick, end; each keeps what they gave, twice sent is once."""

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
    Pick,
    chatbots_for,
    check_pick,
    check_said,
    continued,
    moment,
    picked_digest,
    said_digest,
    seed_for,
)
from dissensus.schema.campaign.chat import LONGEST_INTENT, SUCCESS, Chat, Mode
from dissensus.schema.hints import suggest, format_list, format_value
from dissensus.store import chats
from dissensus.store.chats import Going, Wanted
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.journey import Present, Step, check_here, ended, present, step, step_planned

LONGEST_WORK_MS: Final = 2**31 - 1
TAKEN: Final = "Something else was kept under this key, and nothing of this. Reload the page."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation:
    """A conversation that somebody begins."""

    id: str  # Chosen by the page: the same beginning twice is one
    mode: str  # How they will talk
    intent: str = ""  # What they will try, where the mode asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEnd:
    """What somebody says of a conversation in the end."""

    success: int | None = None  # How well it went, where the mode asks for it; None where they leave that out
    comment: str = ""


def begin_conversation(platform: Platform, rater: Rater, beginning: NewConversation, *, now: datetime) -> Step:
    """Begin a conversation."""

    def change(tx: Connection, here: Present, chat: Chat) -> None:
        known = chats.chat_of(tx, beginning.id)
        if known is not None and known.rater_id == here.rater.id:
            return
        if known is not None:
            raise Conflict(TAKEN)
        mode, last = _mode(chat, beginning.mode), chats.last_of(tx, here.rater.id)
        if last is not None and not last.done:
            raise Conflict("Your last conversation has not ended. End it first.")
        number = 0 if last is None else last.number + 1
        if number >= chat.most:
            raise Conflict(f"You have had {number} conversations, which are all that there are.")
        intent = _intent(mode, beginning.intent)
        chats.start(tx, beginning.id, here.rater.id, number, mode.name, intent=intent, now=now)
        log_rater_event(tx, here.rater, "begin", now, chat=beginning.id, mode=mode.name)

    return _change(platform, rater, change, now)


def send_message(
    platform: Platform,
    rater: Rater,
    chat_id: str,
    exchange_id: str,
    text: str,
    *,
    mode: str | None = None,
    worked_ms: int = 0,
    now: datetime,
) -> Step:
    """Say something, under another mode where one is named."""

    def change(tx: Connection, here: Present, chat: Chat) -> None:
        talk = _mine(tx, here.rater, chat_id)
        if exchange_id in talk.exchange_ids:
            return
        if chats.has_exchange(tx, exchange_id):
            raise Conflict(TAKEN)
        _check_moment(chat, talk, "say")
        check_said(text)
        under = _mode(chat, mode or talk.last_mode)
        whom, drawn = (f"{here.campaign.seed} {one}" for one in (chat_id, exchange_id))
        names = chatbots_for(chat, whom, drawn, compared=under.compared is not None)
        sides = zip(PLACES, names, strict=False)
        wanted = [Wanted(place=place, chatbot=name, seed=seed_for(drawn, place)) for place, name in sides]
        said = Exchange(mode=under.name, said=text, candidates=())
        chats.say(tx, talk, exchange_id, said, wanted, worked_ms=_bounded(worked_ms), now=now)
        log_rater_event(tx, here.rater, "say", now, exchange=exchange_id, digest=said_digest(said))

    return _change(platform, rater, change, now)


def pick_response(platform: Platform, rater: Rater, exchange_id: str, found: Pick, *, worked_ms: int = 0, now: datetime) -> Step:
    """Keep what somebody prefers of two responses, and settle with which one the conversation goes on."""

    def change(tx: Connection, here: Present, chat: Chat) -> None:
        talk = chats.last_of(tx, here.rater.id)
        known = {} if talk is None else dict(zip(talk.exchange_ids, talk.exchanges, strict=True))
        exchange = known.get(exchange_id)
        if talk is None or exchange is None:
            raise NotFound("There is nothing to pick from. Reload the page.")
        if exchange.pick == found:
            return
        if exchange.pick is not None:
            raise Conflict("You have picked already, and the conversation went on.")
        _check_moment(chat, talk, "pick")
        mode = _mode(chat, exchange.mode)
        check_pick(chat, mode, found)
        place = continued(mode, found, f"{here.campaign.seed} {exchange_id}")
        going_on = Going(compared=mode.compared, pick=found, continues=place, worked_ms=_bounded(worked_ms))
        chats.go_on(tx, exchange_id, going_on, now=now)
        digest = picked_digest(replace(exchange, pick=found, continues=place))
        log_rater_event(tx, here.rater, "pick", now, exchange=exchange_id, digest=digest)

    return _change(platform, rater, change, now)


def end_conversation(platform: Platform, rater: Rater, chat_id: str, ending: ConversationEnd, *, now: datetime) -> Step:
    """End a conversation."""

    def change(tx: Connection, here: Present, chat: Chat) -> None:
        talk = _mine(tx, here.rater, chat_id)
        if talk.done:
            return
        if not any(one.continues is not None for one in talk.exchanges):
            raise Conflict("Nothing was answered in this conversation. Say something first, or stop for good.")
        asked = any(_mode(chat, one.mode).success for one in talk.exchanges)
        if ending.success is not None and (ending.success not in SUCCESS or not asked):
            raise InvalidInput(f"It is {ending.success}. Say how well it went from {SUCCESS[0]} to {SUCCESS[-1]}.")
        comment = ending.comment.strip()[:LONGEST_INTENT] or None
        chats.end(tx, chat_id, success=ending.success, comment=comment, now=now)
        log_rater_event(tx, here.rater, "end", now, chat=chat_id, exchanges=len(talk.exchanges))

    return _change(platform, rater, change, now)


def load_response(platform: Platform, rater: Rater, exchange_id: str, place: int) -> str | None:
    """Return one of the last responses that a rater got, None where it has not come."""
    with platform.database.reading() as tx:
        talk = chats.last_of(tx, rater.id)
    if talk is None or talk.exchange_ids[-1:] != (exchange_id,):
        return None
    return next((one.text for one in talk.exchanges[-1].candidates if one.place == place), None)


def finish(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """End the work of a rater who had a conversation and wants no more."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        last = chats.last_of(tx, here.rater.id)
        if last is None or not last.done:
            raise Conflict("End your conversation first." if last else "You have had no conversation yet.")
        if here.rater.state == "rating":
            return ended(tx, here, now)
    return step(platform, rater, now=now)


Change: TypeAlias = Callable[[Connection, Present, Chat], None]


def _change(platform: Platform, rater: Rater, change: Change, now: datetime) -> Step:
    """Change something of a rater who talks, and return where they are then."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        check_here(here.rater)
        if here.campaign.chat is None:
            raise Conflict("In this campaign nobody talks with chatbots.")
        change(tx, here, here.campaign.chat)
        found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def _mine(tx: Connection, rater: Rater, chat_id: str) -> chats.Chat:
    found = chats.chat_of(tx, chat_id)
    if found is None or found.rater_id != rater.id:
        raise NotFound("You have no such conversation. Reload the page.")
    return found


_FIRST: Final[Mapping[Moment, str]] = {
    "say": "Say something first.",
    "answering": "The response is still coming. Wait for it.",
    "pick": "Pick one of the responses first.",
    "end": "The conversation is as long as it can be. End it.",
}


def _check_moment(chat: Chat, talk: chats.Chat, wanted: Moment) -> None:
    if talk.done:
        raise Conflict("This conversation has ended.")
    found = moment(chat, talk.exchanges)
    if found != wanted:
        raise Conflict(_FIRST[found])


def _mode(chat: Chat, name: str) -> Mode:
    found = chat.mode(name)
    if found is None:
        known = [mode.name for mode in chat.modes]
        raise InvalidInput(f"There is no mode {format_value(name)}.{suggest(name, known)} There are {format_list(known)}.")
    return found


def _intent(mode: Mode, text: str) -> str | None:
    text = text.strip()
    if not mode.intent:
        return None
    if not text:
        raise InvalidInput("Say in a few words what you will try, before you begin.")
    if len(text) > LONGEST_INTENT:
        raise InvalidInput(f"What you will try has {len(text):,} characters. Say it in {LONGEST_INTENT:,}.")
    return text


def _bounded(worked_ms: int) -> int:
    return min(max(worked_ms, 0), LONGEST_WORK_MS)
