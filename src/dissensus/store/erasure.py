"""Erasure of the data of a rater who withdraws, of the items of a draft, and of a campaign.

Tables of rater data are marked by `RaterData`; their rows are selected by the foreign keys that lead to `rater`.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, delete, or_, select, update

from dissensus.store import audit_log
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import IS_FIRST, LOAD_STATES, AssignmentTable, change_loads, count_rated_items
from dissensus.store.chats import count_chats
from dissensus.store.core.metadata import METADATA
from dissensus.store.core.orm import Base, RaterData
from dissensus.store.items import ItemTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import InvitationTable, RaterRow, RaterTable

AUDIT_TABLES: Final = frozenset({"event", "event_chain"})


def erase_rater(tx: Connection, rater: RaterRow) -> int:
    """Erase all rater data of a rater, and return the number of their rated items and conversations.

    The row of the rater stays, with the data that is needed to pay them.
    """
    n = count_rated_items(tx, rater.id) + count_chats(tx, rater.id)[0]
    loaded = (AssignmentTable.rater_id == rater.id) & AssignmentTable.state.in_(LOAD_STATES) & IS_FIRST
    item_ids = list(tx.scalars(select(AssignmentTable.item_id).where(loaded)))
    for table in rater_data_tables():
        tx.execute(delete(table).where(_belongs_to(table, "rater", rater.id)))
    if not rater.rehearsal:
        change_loads(tx, item_ids, -1)
    audit_log.erase_rater_events(tx, rater.id)
    is_rater = RaterTable.id == rater.id
    invitation = tx.scalar(select(RaterTable.invitation_hash).where(is_rater))
    blank = dict.fromkeys(("subject_id", "invitation_hash", "cell", "excluded_topics", "finished_at"))
    tx.execute(update(RaterTable).where(is_rater).values(**blank))
    if invitation is not None:
        tx.execute(delete(InvitationTable).where(InvitationTable.key_hash == invitation))
    return n


def delete_rater(tx: Connection, rater: RaterRow) -> None:
    """Erase a rater who was turned away before rating anything, with their row and personal link."""
    erase_rater(tx, rater)
    tx.execute(delete(RaterTable).where(RaterTable.id == rater.id))


def rater_data_tables() -> Iterator[Table]:
    """Yield the tables that are marked as rater data, each before those that it refers to."""
    marked = {mapper.local_table for mapper in Base.registry.mappers if issubclass(mapper.class_, RaterData)}
    yield from (table for table in reversed(METADATA.sorted_tables) if table in marked)


def _belongs_to(table: Table, owner: str, owner_id: str) -> ColumnElement[bool]:
    """Return the condition that a row belongs to a rater or campaign, directly or through rows it refers to."""
    column = f"{owner}_id"
    if column in table.c:
        condition: ColumnElement[bool] = table.c[column] == owner_id
        return condition
    owners = [
        key.parent.in_(select(key.column).where(_belongs_to(key.column.table, owner, owner_id)))
        for key in table.foreign_keys
        if _leads_to(key.column.table, owner)
    ]
    return or_(*owners)


def _leads_to(table: Table, owner: str) -> bool:
    return table.name != owner and any(
        key.column.table.name == owner or _leads_to(key.column.table, owner) for key in table.foreign_keys
    )


def delete_campaign_rows(tx: Connection, campaign_id: str) -> None:
    """Delete all rows of a campaign but its own and the audit log, whose events of raters are erased."""
    for table in campaign_tables():
        tx.execute(delete(table).where(_belongs_to(table, "campaign", campaign_id)))
    audit_log.erase_campaign_rater_events(tx, campaign_id)


def has_campaign_rows(tx: Connection, campaign_id: str) -> bool:
    """Return whether rows of a campaign are left besides its own and the audit log."""
    owned = (select(table).where(_belongs_to(table, "campaign", campaign_id)).limit(1) for table in campaign_tables())
    return any(tx.execute(query).first() is not None for query in owned)


def campaign_tables() -> Iterator[Table]:
    """Yield the tables whose rows belong to campaigns, each before those that it refers to, without the audit log."""
    for table in reversed(METADATA.sorted_tables):
        if table.name not in AUDIT_TABLES and _leads_to(table, "campaign"):
            yield table


def remove_items(tx: Connection, campaign_id: str) -> int:
    """Delete all items of a draft with the assignments of previews and dry runs, and return the number of items."""
    items = select(ItemTable.id).where(ItemTable.campaign_id == campaign_id)
    owned = select(AssignmentTable.id).where(AssignmentTable.item_id.in_(items))
    tx.execute(delete(SaveTable).where(SaveTable.assignment_id.in_(owned)))
    tx.execute(update(NoticeTable).where(NoticeTable.assignment_id.in_(owned)).values(assignment_id=None))
    tx.execute(delete(AssignmentTable).where(AssignmentTable.item_id.in_(items)))
    return tx.execute(delete(ItemTable).where(ItemTable.campaign_id == campaign_id)).rowcount
