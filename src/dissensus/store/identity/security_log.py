"""Security log: sign-ins, credentials and roles of staff. It holds nothing of raters."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from sqlalchemy import Connection, ForeignKey, delete, func, insert, select, true
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base, Number, check_in, list_rows
from dissensus.store.identity.mails import add_mail
from dissensus.store.staff import StaffTable

SecurityEventKind = Literal[
    "signed_in",
    "sign_in_failed",
    "second_factor_failed",
    "identity_confirmed",
    "session_ended",
    "password_changed",
    "second_factor_added",
    "second_factor_removed",
    "passkey_added",
    "passkey_removed",
    "recovery_codes_created",
    "recovery_code_used",
    "token_created",
    "token_first_used",
    "token_revoked",
    "invitation_created",
    "sign_in_link_created",
    "sign_in_link_mailed",
    "email_changed",
    "role_given",
    "role_changed",
    "role_lost",
    "account_disabled",
    "account_enabled",
    "operator_added",
    "operator_removed",
]
SECURITY_EVENT_KINDS: Final[tuple[SecurityEventKind, ...]] = get_args(SecurityEventKind)
UNMAILED_KINDS: Final[frozenset[SecurityEventKind]] = frozenset(
    {
        "signed_in",
        "sign_in_failed",
        "second_factor_failed",
        "identity_confirmed",
        "session_ended",
        "token_first_used",
        "sign_in_link_mailed",
    }
)
"""Kinds that change no credentials or roles, or that are a mail already."""
MAILED_KINDS: Final = frozenset(SECURITY_EVENT_KINDS) - UNMAILED_KINDS


class SecurityEventTable(Base):
    """An event of the security log."""

    __tablename__ = "security_event"
    __table_args__ = (check_in("kind", *SECURITY_EVENT_KINDS),)

    number: Mapped[int] = mapped_column(Number, primary_key=True, doc="In the order of arrival.")
    at: Mapped[datetime] = mapped_column(index=True)
    kind: Mapped[str]
    staff_id: Mapped[str | None] = mapped_column(
        ForeignKey("staff.id"), index=True, doc="Account concerned; null after a sign-in with an unknown name."
    )
    network: Mapped[str | None] = mapped_column(doc="Network of the client, where it is known.")
    content: Mapped[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityEvent:
    """An event of the security log."""

    at: datetime
    kind: SecurityEventKind
    person: str | None  # Name; None after a sign-in with an unknown name
    network: str | None
    content: dict[str, Any]


def log_security_event(
    tx: Connection,
    kind: SecurityEventKind,
    staff_id: str | None,
    now: datetime,
    content: Mapping[str, Any],
    *,
    network: str | None = None,
) -> None:
    """Append an event, and queue a mail about it to the person concerned."""
    row = {"at": now, "kind": kind, "staff_id": staff_id, "network": network, "content": dict(content)}
    tx.execute(insert(SecurityEventTable).values(**row))
    if staff_id is not None and kind in MAILED_KINDS:
        add_mail(tx, staff_id, kind, now, content, network=network)


def list_security_events(tx: Connection, *, since: datetime, staff_id: str | None = None) -> tuple[SecurityEvent, ...]:
    """Return the events from a time on, of all accounts or of one, the earliest first."""
    table = SecurityEventTable
    query = (
        select(table.at, table.kind, StaffTable.name.label("person"), table.network, table.content)
        .outerjoin(StaffTable, StaffTable.id == table.staff_id)
        .where(table.at >= since, true() if staff_id is None else table.staff_id == staff_id)
        .order_by(table.number)
    )
    return list_rows(tx, query, SecurityEvent)


def load_last_sign_ins(tx: Connection) -> dict[str, datetime]:
    """Return the time of the last sign-in of each account that the log has one of."""
    table = SecurityEventTable
    query = select(table.staff_id, func.max(table.at)).where(table.kind == "signed_in").group_by(table.staff_id)
    return {staff_id: at for staff_id, at in tx.execute(query) if staff_id is not None}


def has_security_events_before(tx: Connection, when: datetime) -> bool:
    """Return whether there are events from before a time."""
    return tx.scalar(select(SecurityEventTable.number).where(SecurityEventTable.at < when).limit(1)) is not None


def delete_security_events_before(tx: Connection, when: datetime) -> None:
    """Delete events from before a time."""
    tx.execute(delete(SecurityEventTable).where(SecurityEventTable.at < when))
