"""Notices of raters: requests for help and reports of illegal content."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, ForeignKey, Select, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.assignments import AssignmentTable
from dissensus.store.core.orm import ID, Base, RaterData, check_in, find_row, list_rows, new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable


class NoticeTable(RaterData, Base):
    """A request for help, or a report of illegal content."""

    __tablename__ = "notice"
    __table_args__ = (check_in("kind", "help", "illegal"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    assignment_id: Mapped[str | None] = mapped_column(ForeignKey("assignment.id"))
    kind: Mapped[str]
    text: Mapped[str]
    reporter: Mapped[str | None] = mapped_column(
        doc="Digest of the network address and the item, for open reports of raters who came by an open link."
    )
    at: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    settled_by: Mapped[str | None] = mapped_column(ForeignKey("staff.id"))
    shown_again: Mapped[bool | None] = mapped_column(doc="Decision about the reported item; null without one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow:
    """An open notice of a rater."""

    id: str
    kind: Literal["help", "illegal"]
    text: str
    item: str | None  # Name of the item, if the notice is about one
    position: int | None  # Zero-based, of the item
    withheld: bool | None  # True if the item is withheld from everybody, None without an item
    at: datetime


def list_notices(tx: Connection, campaign_id: str, *, start: int = 0, most: int) -> tuple[NoticeRow, ...]:
    """Return open notices of a campaign, the latest first."""
    query = _select_open(campaign_id).order_by(NoticeTable.id.desc()).offset(start).limit(most)
    return list_rows(tx, query, NoticeRow)


def list_notices_after(tx: Connection, campaign_id: str, *, after: str, most: int) -> tuple[NoticeRow, ...]:
    """Return the open notices of a campaign, the earliest first, after an id."""
    query = _select_open(campaign_id).where(NoticeTable.id > after).order_by(NoticeTable.id).limit(most)
    return list_rows(tx, query, NoticeRow)


def count_open_notices(tx: Connection, campaign_id: str) -> int:
    """Count the open notices of a campaign."""
    in_campaign = RaterTable.campaign_id == campaign_id
    query = select(func.count(NoticeTable.id)).join(RaterTable, RaterTable.id == NoticeTable.rater_id)
    return tx.scalar(query.where(in_campaign, NoticeTable.settled_at.is_(None))) or 0


def _select_open(campaign_id: str) -> Select[*tuple[Any, ...]]:
    return (
        select(NoticeTable.id, NoticeTable.kind, NoticeTable.text, NoticeTable.at)
        .add_columns(ItemTable.name.label("item"), ItemTable.position, ItemTable.withheld)
        .join(RaterTable, RaterTable.id == NoticeTable.rater_id)
        .outerjoin(AssignmentTable, AssignmentTable.id == NoticeTable.assignment_id)
        .outerjoin(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .where(RaterTable.campaign_id == campaign_id, NoticeTable.settled_at.is_(None))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSubject:
    """The subject of a notice, and its settlement."""

    kind: Literal["help", "illegal"]
    item_id: str | None  # None if the notice is about no item
    erased: bool  # True if the text of the item was erased
    settled: bool
    shown_again: bool | None  # Decision about the item; None without one


def find_notice_subject(tx: Connection, campaign_id: str, notice_id: str) -> NoticeSubject | None:
    """Return the subject of a notice of a campaign, or None."""
    query = (
        select(NoticeTable.kind, NoticeTable.shown_again, AssignmentTable.item_id)
        .add_columns(NoticeTable.settled_at.is_not(None).label("settled"))
        .add_columns((ItemTable.id.is_not(None) & ItemTable.salt.is_(None)).label("erased"))
        .join(RaterTable, RaterTable.id == NoticeTable.rater_id)
        .outerjoin(AssignmentTable, AssignmentTable.id == NoticeTable.assignment_id)
        .outerjoin(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .where(NoticeTable.id == notice_id, RaterTable.campaign_id == campaign_id)
    )
    return find_row(tx, query, NoticeSubject)


def settle_notices(
    tx: Connection, notice_ids: Sequence[str], *, shown_again: bool | None, staff_id: str, now: datetime
) -> None:
    """Mark notices as settled, and store the decision about a reported item."""
    values = {"settled_at": now, "settled_by": staff_id, "shown_again": shown_again, "reporter": None}
    tx.execute(update(NoticeTable).where(NoticeTable.id.in_(notice_ids)).values(**values))
    if shown_again is not None:
        # A withdrawal erases the reports of the rater, and the decision is to stay.
        reported = select_illegal_reports(AssignmentTable.item_id).where(NoticeTable.id.in_(notice_ids))
        tx.execute(update(ItemTable).where(ItemTable.id.in_(reported)).values(shown_by_decision=shown_again))


def select_illegal_reports(*columns: Any) -> Select[Any]:
    """Return the query of reports of illegal items, without rehearsals."""
    return (
        select(*columns)
        .select_from(NoticeTable)
        .join(AssignmentTable, AssignmentTable.id == NoticeTable.assignment_id)
        .join(RaterTable, RaterTable.id == NoticeTable.rater_id)
        .where(NoticeTable.kind == "illegal", ~RaterTable.rehearsal)
    )


def _select_item_reports(item_id: str, *columns: Any) -> Select[Any]:
    return select_illegal_reports(*columns).where(AssignmentTable.item_id == item_id)


def list_open_reports(tx: Connection, item_id: str) -> list[str]:
    """Return the ids of the open reports of an item."""
    return list(tx.scalars(_select_item_reports(item_id, NoticeTable.id).where(NoticeTable.settled_at.is_(None))))


def count_reporters(tx: Connection, item_id: str) -> int:
    """Count the reporters of an item in open reports; raters by an open link from one address are one reporter."""
    reporter = func.coalesce(NoticeTable.reporter, NoticeTable.rater_id)
    query = _select_item_reports(item_id, func.count(reporter.distinct()))
    return tx.scalar(query.where(NoticeTable.settled_at.is_(None))) or 0


def list_reported_items(tx: Connection, rater_id: str) -> frozenset[str]:
    """Return the items that a rater reported as illegal, at any showing."""
    reports = (NoticeTable.rater_id == rater_id) & (NoticeTable.kind == "illegal")
    query = select(AssignmentTable.item_id).join(NoticeTable, NoticeTable.assignment_id == AssignmentTable.id)
    return frozenset(tx.scalars(query.where(reports)))


def find_report_decision(tx: Connection, item_id: str) -> bool | None:
    """Return whether the last decision about a report of an item was to show it; None without one."""
    return tx.scalar(select(ItemTable.shown_by_decision).where(ItemTable.id == item_id))


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
    reporter: str | None = None,
    now: datetime,
) -> None:
    """Insert a notice of a rater."""
    row = {
        "id": new_id(now),
        "rater_id": rater_id,
        "assignment_id": assignment_id,
        "kind": kind,
        "text": text,
        "reporter": reporter,
        "at": now,
    }
    tx.execute(insert(NoticeTable).values(**row))
