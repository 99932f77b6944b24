"""Notices of raters: requests for help and reports of illegal content."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, ForeignKey, Select, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.assignments import AssignmentTable
from dissensus.store.core.orm import ID, Base, RaterData, new_id, one_of
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable


class NoticeTable(RaterData, Base):
    """A request for help, or a report of illegal content."""

    __tablename__ = "notice"
    __table_args__ = (one_of("kind", "help", "illegal"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    assignment_id: Mapped[str | None] = mapped_column(ForeignKey("assignment.id"))
    kind: Mapped[str]
    text: Mapped[str]
    at: Mapped[datetime]
    settled_at: Mapped[datetime | None]


MAX_NOTICES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow:
    """An open notice of a rater."""

    id: str
    kind: Literal["help", "illegal"]
    text: str
    item: str | None  # Name of the item, if the notice is about one
    at: datetime


def list_notices(tx: Connection, campaign_id: str) -> tuple[NoticeRow, ...]:
    """Return the open notices of a campaign, the latest first."""
    query = _select_open(campaign_id).order_by(NoticeTable.id.desc()).limit(MAX_NOTICES)
    return tuple(NoticeRow(**row._mapping) for row in tx.execute(query))


def list_notices_after(tx: Connection, campaign_id: str, *, after: str, most: int) -> tuple[NoticeRow, ...]:
    """Return the open notices of a campaign, the earliest first, after an id."""
    query = _select_open(campaign_id).where(NoticeTable.id > after).order_by(NoticeTable.id).limit(most)
    return tuple(NoticeRow(**row._mapping) for row in tx.execute(query))


def _select_open(campaign_id: str) -> Select[*tuple[Any, ...]]:
    return (
        select(NoticeTable.id, NoticeTable.kind, NoticeTable.text, NoticeTable.at, ItemTable.name.label("item"))
        .join(RaterTable, RaterTable.id == NoticeTable.rater_id)
        .outerjoin(AssignmentTable, AssignmentTable.id == NoticeTable.assignment_id)
        .outerjoin(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .where(RaterTable.campaign_id == campaign_id, NoticeTable.settled_at.is_(None))
    )


def settle_notice(tx: Connection, campaign_id: str, notice_id: str, *, show_again: bool, now: datetime) -> bool:
    """Mark a notice as settled, and return whether the campaign has it.

    A reported item stays withheld unless `show_again`.
    """
    raters = select(RaterTable.id).where(RaterTable.campaign_id == campaign_id)
    is_notice = (NoticeTable.id == notice_id) & NoticeTable.rater_id.in_(raters)
    n = tx.execute(update(NoticeTable).where(is_notice).values(settled_at=now)).rowcount
    if show_again:
        item = (
            select(AssignmentTable.item_id)
            .join(NoticeTable, NoticeTable.assignment_id == AssignmentTable.id)
            .where(is_notice)
        )
        tx.execute(update(ItemTable).where(ItemTable.id.in_(item)).values(withheld=False))
    return bool(n)


def has_open_notice(tx: Connection, rater_id: str, kind: str, text: str, *, assignment_id: str | None) -> bool:
    """Return whether the same notice of a rater is open."""
    same = (NoticeTable.rater_id == rater_id) & (NoticeTable.kind == kind) & (NoticeTable.text == text)
    same &= NoticeTable.assignment_id.is_not_distinct_from(assignment_id)
    return bool(tx.scalar(select(func.count()).where(same, NoticeTable.settled_at.is_(None))))


def count_notices_since(tx: Connection, rater_id: str, kind: str, *, since: datetime) -> int:
    """Count the notices of a rater after a time."""
    recent = (NoticeTable.rater_id == rater_id) & (NoticeTable.kind == kind) & (NoticeTable.at > since)
    return tx.scalar(select(func.count()).where(recent)) or 0


def add_notice(
    tx: Connection,
    rater_id: str,
    kind: Literal["help", "illegal"],
    text: str,
    *,
    assignment_id: str | None,
    now: datetime,
) -> None:
    """Insert a notice of a rater."""
    row = {
        "id": new_id(now),
        "rater_id": rater_id,
        "assignment_id": assignment_id,
        "kind": kind,
        "text": text,
        "at": now,
    }
    tx.execute(insert(NoticeTable).values(**row))
