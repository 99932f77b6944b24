"""Export finished conversations as items for other campaigns, and erase those items on withdrawal."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_item
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.item import Item
from dissensus.store import assignments, chats, export, items
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.consent_scope import required_purposes
from dissensus.workflows.export.ratings import ExportOptions, log_export
from dissensus.workflows.platform.platform import Platform


def list_conversation_items(platform: Platform, name: str, *, staff_id: str, now: datetime) -> tuple[Item, ...]:
    """Return the finished conversations of raters who gave the required consent, as items."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, campaign_row)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items, and have no conversations.")
        result = tuple(_completed_items(tx, campaign_row.id, campaign, campaign.chat))
    if not result:
        raise NotFound(f"{name} has no finished conversation of a rater who agreed to its use.")
    log_export(platform, name, staff_id, ExportOptions(with_text=True), now)
    return result


def _completed_items(tx: Connection, campaign_id: str, campaign: Campaign, chat: ChatSettings) -> Iterator[Item]:
    for ended in export.iterate_ended_chats(tx, campaign_id, required_purposes(campaign, ())):
        item = to_item(_to_completed_chat(ended.chat), chat)
        if item is not None:
            yield item


def _to_completed_chat(row: chats.ChatRow) -> CompletedChat:
    return CompletedChat(id=row.id, rater_id=row.rater_id, member=0, exchanges=row.exchanges, intent=row.intent)


def erase_conversation_items(tx: Connection, rater_id: str, chat: ChatSettings, *, now: datetime) -> int:
    """Erase and withhold copies of a rater's conversations in other campaigns; return their number."""
    copies = list(find_item_copies(tx, chats.list_rater_chats(tx, rater_id), chat))
    for copy in copies:
        assignments.withhold_item(tx, copy.id, now=now)
        items.erase_item(tx, copy.id)
    return len(copies)


def find_item_copies(tx: Connection, rows: Iterable[chats.ChatRow], chat: ChatSettings) -> Iterator[items.ItemCopy]:
    """Yield the items of other campaigns that were made from the given conversations."""
    originals = {row.id: to_item(_to_completed_chat(row), chat) for row in rows}
    for copy in items.iterate_item_copies(tx, list(originals)):
        item = originals[copy.item.item_id]
        if item is not None and copy.item.conversation == item.conversation:
            yield copy
