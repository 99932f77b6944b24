"""How the responses of chatbots come into a conversation: one process asks, and each is kept as it comes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from dissensus.chat import Response
from dissensus.errors import NotFound
from dissensus.pipeline.collect.chat import conversation_of
from dissensus.schema.campaign.chat import Chat
from dissensus.schema.records.conversation import Conversation
from dissensus.store import chats
from dissensus.store.chats import Come, Going, Wanted
from dissensus.store.raters import Rater
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.journey import present

CLAIMED: Final = timedelta(seconds=15)
"""How long others leave it to a process that gives no sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Responses that a process is to ask for."""

    exchange_id: str
    conversation: Conversation  # All that was said so far
    wanted: tuple[Wanted, ...]
    chat: Chat


def claim(platform: Platform, rater: Rater, exchange_id: str, *, now: datetime) -> Asked | None:
    """Return what is to be asked for, None where nothing is or another process does."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        talk = chats.last_of(tx, rater.id)
        if here.campaign.chat is None or talk is None or talk.exchange_ids[-1:] != (exchange_id,):
            return None
        wanted = chats.wanted_of(tx, exchange_id)
        if not wanted or not chats.claim(tx, exchange_id, until=now + CLAIMED, now=now):
            return None
        conversation = conversation_of(talk.exchanges)
        return Asked(exchange_id=exchange_id, conversation=conversation, wanted=wanted, chat=here.campaign.chat)


def prolong(platform: Platform, exchange_id: str, *, now: datetime) -> None:
    """Give a sign that responses are still asked for."""
    with platform.database.writing() as tx:
        chats.prolong(tx, exchange_id, until=now + CLAIMED)


def let_go(platform: Platform, exchange_id: str) -> None:
    """Let others ask."""
    with platform.database.writing() as tx:
        chats.prolong(tx, exchange_id, until=None)


def respond(platform: Platform, rater: Rater, exchange_id: str, wanted: Wanted, come: Come, *, now: datetime) -> None:
    """Keep a response; the last one ends the claim, and where nothing is to be picked the conversation goes on."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        if not chats.respond(tx, exchange_id, wanted.place, come) or here.campaign.chat is None:
            return
        if not chats.wanted_of(tx, exchange_id):
            chats.prolong(tx, exchange_id, until=None)
        talk = chats.last_of(tx, rater.id)
        mode = None if talk is None else here.campaign.chat.mode(talk.last_mode)
        if mode is not None and mode.compared is None:
            chats.go_on(tx, exchange_id, Going(), now=now)


def come_from(response: Response) -> Come:
    """Return a response as it is kept."""
    first = response.first_token_s
    return Come(
        text=response.text,
        finish=response.finish,
        first_ms=None if first is None else round(1000 * first),
        total_ms=round(1000 * response.total_s),
        ranked_by=response.ranked_by or None,
    )


Standing: TypeAlias = Literal["come", "asked", "failed", "free"]


def standing(platform: Platform, rater: Rater, exchange_id: str, *, now: datetime) -> Standing:
    """Return whether the responses to an exchange have come, are asked for, did not come, or may be asked for."""
    with platform.database.reading() as tx:
        talk = chats.last_of(tx, rater.id)
    if talk is None or exchange_id not in talk.exchange_ids:
        raise NotFound("You have no such conversation. Reload the page.")
    return standing_of(talk, exchange_id, now=now)


def standing_of(talk: chats.Chat, exchange_id: str, *, now: datetime) -> Standing:
    """Return the same of a conversation."""
    if talk.exchange_ids[-1] != exchange_id or talk.exchanges[-1].complete:
        return "come"
    if talk.claimed_until is None:
        return "failed" if talk.n_failures else "free"
    # Whose claim is over has died, or was asked to try again.
    return "asked" if talk.claimed_until > now else "free"


def again(platform: Platform, rater: Rater, exchange_id: str, *, now: datetime) -> None:
    """Let responses that did not come be asked for once more."""
    if standing(platform, rater, exchange_id, now=now) == "failed":
        with platform.database.writing() as tx:
            chats.prolong(tx, exchange_id, until=now)


def fail(platform: Platform, exchange_id: str, wanted: Wanted) -> None:
    """Keep that a response did not come."""
    with platform.database.writing() as tx:
        chats.fail(tx, exchange_id, wanted.place)
