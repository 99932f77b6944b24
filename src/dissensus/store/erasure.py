"""Erasure of the data of a rater who withdraws, and of the items of a draft.

Tables of rater data are marked by `RaterData`; their rows are selected by the foreign keys that lead to `rater`.
"""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, Table, delete, or_, select, update

from dissensus.store import events
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import IS_FIRST, LOAD_STATES, AssignmentTable, change_loads, count_rated_items
from dissensus.store.chats import count_chats
from dissensus.store.core.metadata import METADATA
from dissensus.store.core.orm import Base, RaterData
from dissensus.store.items import ItemTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import InvitationTable, RaterRow, RaterTable


def erase_rater(tx: Connection, rater: RaterRow) -> int:
    """Erase all rater data of a rater, and return the number of their rated items and conversations.

    The row of the rater stays, with the data that is needed to pay them.
    """
    n = count_rated_items(tx, rater.id) + count_chats(tx, rater.id)[0]
    loaded = (AssignmentTable.rater_id == rater.id) & AssignmentTable.state.in_(LOAD_STATES) & IS_FIRST
    item_ids = list(tx.scalars(select(AssignmentTable.item_id).where(loaded)))
    for table in rater_data_tables():
        tx.execute(delete(table).where(_belongs_to(table, rater.id)))
    if not rater.rehearsal:
        change_loads(tx, item_ids, -1)
    events.erase_rater_events(tx, rater.id)
    is_rater = RaterTable.id == rater.id
    invitation = tx.scalar(select(RaterTable.invitation_hash).where(is_rater))
    blank = dict.fromkeys(("subject_id", "invitation_hash", "cell", "excluded_topics"))
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


def _belongs_to(table: Table, rater_id: str) -> ColumnElement[bool]:
    """Return the condition that a row belongs to a rater, directly or through the rows that it refers to."""
    if "rater_id" in table.c:
        condition: ColumnElement[bool] = table.c.rater_id == rater_id
        return condition
    owners = []
    for key in table.foreign_keys:
        owned = select(key.column).where(_belongs_to(key.column.table, rater_id))
        owners.append(key.parent.in_(owned))
    return or_(*owners)


def remove_items(tx: Connection, campaign_id: str) -> int:
    """Delete all items of a draft with the assignments of previews and dry runs, and return the number of items."""
    items = select(ItemTable.id).where(ItemTable.campaign_id == campaign_id)
    owned = select(AssignmentTable.id).where(AssignmentTable.item_id.in_(items))
    tx.execute(delete(SaveTable).where(SaveTable.assignment_id.in_(owned)))
    tx.execute(update(NoticeTable).where(NoticeTable.assignment_id.in_(owned)).values(assignment_id=None))
    tx.execute(delete(AssignmentTable).where(AssignmentTable.item_id.in_(items)))
    return tx.execute(delete(ItemTable).where(ItemTable.campaign_id == campaign_id)).rowcount
