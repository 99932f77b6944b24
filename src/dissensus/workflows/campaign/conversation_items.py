"""Conversations as items to be rated in other campaigns, and what becomes of them once their rater withdraws."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.collect.completed_chats import Talked, item_of
from dissensus.schema.campaign.chat import Chat
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.item import Item
from dissensus.store import assignments, chat_export, chats
from dissensus.store import campaigns as store
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.ratings import ExportOptions, log_export, required_purposes
from dissensus.workflows.platform.platform import Platform


def list_conversation_items(platform: Platform, name: str, *, staff_id: str, now: datetime) -> tuple[Item, ...]:
    """Return the conversations of a campaign that have ended, of raters who agreed to all that is required.

    Each is an item under the id of the conversation, which was drawn at random. That somebody took them is an event.
    """
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items, and have no conversations.")
        found = tuple(_completed_items(tx, kept.id, campaign, campaign.chat))
    if not found:
        raise NotFound(f"{name} has no conversation that has ended, of a rater who agreed to it.")
    log_export(platform, name, staff_id, ExportOptions(with_text=True), now)
    return found


def _completed_items(tx: Connection, campaign_id: str, campaign: Campaign, chat: Chat) -> Iterator[Item]:
    for one in chat_export.ended(tx, campaign_id, required_purposes(campaign, ())):
        item = item_of(_to_completed_chat(one.chat), chat)
        if item is not None:
            yield item


def _to_completed_chat(one: chats.Chat) -> Talked:
    return Talked(id=one.id, rater_id=one.rater_id, member=0, exchanges=one.exchanges, intent=one.intent)


def erase_conversation_items(tx: Connection, rater_id: str, chat: Chat, *, now: datetime) -> int:
    """Erase what other campaigns have of a rater's conversations, show it to nobody any more, and return how many."""
    found = list(find_item_copies(tx, chats.of_rater(tx, rater_id), chat))
    for copy in found:
        assignments.withhold(tx, copy.id, now=now)
        store.erase_item(tx, copy.id)
    return len(found)


def find_item_copies(tx: Connection, talked: Iterable[chats.Chat], chat: Chat) -> Iterator[store.Copy]:
    """Yield the items of other campaigns that are some conversations.

    Ids are chosen by pages: what is the same has the text of the conversation too, and not its id alone.
    """
    mine = {one.id: item_of(_to_completed_chat(one), chat) for one in talked}
    for copy in store.items_named(tx, list(mine)):
        item = mine[copy.item.item_id]
        if item is not None and copy.item.conversation == item.conversation:
            yield copy
