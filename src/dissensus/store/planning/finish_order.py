"""Raters in the order in which they finished, and the items with the fewest assignments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, select

from dissensus.store.core.orm import list_rows
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable, is_participant


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRater:
    """A rater with the time when they first finished."""

    id: str
    at: datetime


def list_finished_raters(tx: Connection, campaign_id: str) -> tuple[FinishedRater, ...]:
    """Return the raters in the order in which they first finished, with those who rate more items since."""
    time = RaterTable.finished_at
    query = select(RaterTable.id, time.label("at")).where(is_participant(campaign_id), time.is_not(None))
    return list_rows(tx, query.order_by(time, RaterTable.number), FinishedRater)


def find_extreme_loads(tx: Connection, campaign_id: str) -> tuple[int, int] | None:
    """Return the fewest and the most assignments of an item that is not withheld, None without items."""
    query = select(func.count(), func.min(ItemTable.load), func.max(ItemTable.load)).select_from(ItemTable)
    n, least, most = tx.execute(query.where(*_list_conditions(campaign_id))).one()
    return (least, most) if n else None


def list_items_of_load(tx: Connection, campaign_id: str, load: int, *, most: int) -> tuple[int, Sequence[str]]:
    """Return the number of items with a load, and the names of the first ones."""
    conditions = (*_list_conditions(campaign_id), ItemTable.load == load)
    names = select(ItemTable.name).where(*conditions).order_by(ItemTable.position).limit(most)
    n = tx.scalar(select(func.count()).select_from(ItemTable).where(*conditions)) or 0
    return n, tx.scalars(names).all()


def _list_conditions(campaign_id: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that an item is of a campaign, and not withheld."""
    return ItemTable.campaign_id == campaign_id, ~ItemTable.withheld
