"""Outbox of mails: messages to people about their accounts and campaigns, and links."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, ForeignKey, delete, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base, Number, list_columns, list_rows
from dissensus.store.staff import StaffTable, find_email


class MailTable(Base):
    """A message that waits to be mailed; deleted once it was sent or given up."""

    __tablename__ = "mail"

    number: Mapped[int] = mapped_column(Number, primary_key=True, doc="In the order of arrival.")
    staff_id: Mapped[str | None] = mapped_column(
        ForeignKey("staff.id"), index=True, doc="Null for somebody who is invited."
    )
    address: Mapped[str] = mapped_column(doc="Address of the person at the time of the event.")
    kind: Mapped[str]
    at: Mapped[datetime]
    network: Mapped[str | None]
    content: Mapped[dict[str, Any]]
    due_at: Mapped[datetime] = mapped_column(index=True)
    n_failures: Mapped[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRow:
    """A message that waits to be mailed."""

    number: int
    person: str | None  # Name; None for somebody who is invited
    address: str
    kind: str
    at: datetime
    network: str | None
    content: dict[str, Any]
    n_failures: int


def add_mail(
    tx: Connection, staff_id: str, kind: str, now: datetime, content: Mapping[str, Any], *, network: str | None = None
) -> None:
    """Insert a mail to a member of staff, if the account has an address."""
    address = find_email(tx, staff_id)
    if address is not None:
        add_mail_to(tx, address, kind, now, content, staff_id=staff_id, network=network)


def add_mail_to(
    tx: Connection,
    address: str,
    kind: str,
    now: datetime,
    content: Mapping[str, Any],
    *,
    staff_id: str | None = None,
    network: str | None = None,
) -> None:
    """Insert a mail to an address."""
    message = {"kind": kind, "at": now, "network": network, "content": dict(content)}
    tx.execute(insert(MailTable).values(staff_id=staff_id, address=address, due_at=now, n_failures=0, **message))


def is_mail_waiting(tx: Connection, staff_id: str, kind: str, content: Mapping[str, Any]) -> bool:
    """Return whether the same mail to a member of staff waits already."""
    query = select(MailTable.content).where(MailTable.staff_id == staff_id, MailTable.kind == kind)
    return dict(content) in list(tx.scalars(query))


def list_due_mails(tx: Connection, *, now: datetime, limit: int) -> tuple[MailRow, ...]:
    """Return mails that are due, the earliest first."""
    table = MailTable
    columns = list_columns(table, MailRow, joined={"person"})
    query = (
        select(*columns, StaffTable.name.label("person"))
        .outerjoin(StaffTable, StaffTable.id == table.staff_id)
        .where(table.due_at <= now)
        .order_by(table.number)
        .limit(limit)
    )
    return list_rows(tx, query, MailRow)


def postpone_mails(tx: Connection, numbers: Collection[int], *, due_at: datetime) -> None:
    """Record a failure, and set the time of the next attempt."""
    changes = {"due_at": due_at, "n_failures": MailTable.n_failures + 1}
    tx.execute(update(MailTable).where(MailTable.number.in_(numbers)).values(**changes))


def delete_mails(tx: Connection, numbers: Collection[int]) -> None:
    """Delete mails."""
    tx.execute(delete(MailTable).where(MailTable.number.in_(numbers)))


def has_mails(tx: Connection) -> bool:
    """Return whether there are mails."""
    return tx.scalar(select(MailTable.number).limit(1)) is not None


def delete_all_mails(tx: Connection) -> None:
    """Delete all mails."""
    tx.execute(delete(MailTable))
