"""Sessions of staff and of raters."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import CheckConstraint, ColumnElement, Connection, ForeignKey, delete, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import HASH, Base, RaterData, find_row, hash_key, list_rows
from dissensus.store.identity.sign_in_links import SignInLinkTable
from dissensus.store.staff import STAFF_COLUMNS, StaffRow, StaffTable


class SessionTable(RaterData, Base):
    """A session of a rater or of staff."""

    __tablename__ = "session"
    __table_args__ = (CheckConstraint("(rater_id IS NULL) <> (staff_id IS NULL)", name="of_one"),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    rater_id: Mapped[str | None] = mapped_column(ForeignKey("rater.id"), index=True)
    staff_id: Mapped[str | None] = mapped_column(ForeignKey("staff.id"), index=True)
    seen_at: Mapped[datetime | None] = mapped_column(doc="Last use by staff, to the minute; null for raters.")
    confirmed_at: Mapped[datetime | None] = mapped_column(doc="Last time when staff proved their identity.")
    pending: Mapped[bool] = mapped_column(default=False, doc="True while the second factor of staff is missing.")
    expires_at: Mapped[datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffSession:
    """A session of a staff account."""

    id: str  # Hash of its key
    seen_at: datetime  # Last use, to the minute
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedInStaff:
    """The account of a valid session."""

    staff: StaffRow
    seen_at: datetime
    confirmed_at: datetime | None


def add_staff_session(
    tx: Connection, staff_id: str, key: str, *, pending: bool = False, now: datetime, expires_at: datetime
) -> None:
    """Insert a session, by the hash of its key; a pending one admits nobody until the second factor."""
    row = {"key_hash": hash_key(key), "staff_id": staff_id, "pending": pending}
    times = {"seen_at": now, "confirmed_at": now, "expires_at": expires_at}
    tx.execute(insert(SessionTable).values(**row, **times))


def find_pending_staff(tx: Connection, key: str, *, now: datetime) -> StaffRow | None:
    """Return the account of a session whose second factor is missing, or None."""
    query = (
        select(*STAFF_COLUMNS)
        .join(SessionTable, SessionTable.staff_id == StaffTable.id)
        .where(SessionTable.key_hash == hash_key(key), SessionTable.expires_at > now, SessionTable.pending)
        .where(StaffTable.disabled_at.is_(None))
    )
    return find_row(tx, query, StaffRow)


def find_signed_in_staff(tx: Connection, key: str, *, now: datetime, idle: timedelta) -> SignedInStaff | None:
    """Return the account of a session that is valid and was used recently, or None."""
    query = (
        select(*STAFF_COLUMNS, SessionTable.seen_at, SessionTable.confirmed_at)
        .join(SessionTable, SessionTable.staff_id == StaffTable.id)
        # A session that begins while the account is disabled is not deleted with the others.
        .where(SessionTable.key_hash == hash_key(key), _is_active(now, idle), StaffTable.disabled_at.is_(None))
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    *columns, seen_at, confirmed_at = row
    staff = StaffRow(**dict(zip(StaffRow.__dataclass_fields__, columns, strict=True)))
    return SignedInStaff(staff=staff, seen_at=seen_at, confirmed_at=confirmed_at)


def _is_active(now: datetime, idle: timedelta) -> ColumnElement[bool]:
    return (SessionTable.expires_at > now) & (SessionTable.seen_at > now - idle) & ~SessionTable.pending


def record_session_use(tx: Connection, key: str, *, now: datetime) -> None:
    """Set the time of the last use of a session."""
    tx.execute(update(SessionTable).where(SessionTable.key_hash == hash_key(key)).values(seen_at=now))


def record_session_confirmation(tx: Connection, key: str, *, now: datetime) -> None:
    """Set the time when the person of a session proved their identity again."""
    tx.execute(update(SessionTable).where(SessionTable.key_hash == hash_key(key)).values(confirmed_at=now))


def list_sessions(tx: Connection, staff_id: str, *, now: datetime, idle: timedelta) -> tuple[StaffSession, ...]:
    """Return the valid sessions of an account, the latest first."""
    query = (
        select(SessionTable.key_hash.label("id"), SessionTable.seen_at, SessionTable.expires_at)
        .where(SessionTable.staff_id == staff_id, _is_active(now, idle))
        .order_by(SessionTable.expires_at.desc(), SessionTable.key_hash)
    )
    return list_rows(tx, query, StaffSession)


def end_session(tx: Connection, staff_id: str, session_id: str) -> bool:
    """Delete a session, if it is of this account, and return whether it was."""
    owned = (SessionTable.key_hash == session_id) & (SessionTable.staff_id == staff_id)
    return tx.execute(delete(SessionTable).where(owned)).rowcount > 0


def end_session_by_key(tx: Connection, key: str) -> None:
    """Delete a session of staff by its key."""
    tx.execute(delete(SessionTable).where(SessionTable.key_hash == hash_key(key), SessionTable.staff_id.is_not(None)))


def end_all_sessions(tx: Connection, staff_id: str) -> int:
    """Delete all sessions and sign-in links of an account, and return the number of sessions."""
    tx.execute(delete(SignInLinkTable).where(SignInLinkTable.staff_id == staff_id))
    return tx.execute(delete(SessionTable).where(SessionTable.staff_id == staff_id)).rowcount


def end_other_sessions(tx: Connection, staff_id: str, key: str) -> None:
    """Delete all sessions but one, and all sign-in links, of an account."""
    tx.execute(delete(SignInLinkTable).where(SignInLinkTable.staff_id == staff_id))
    tx.execute(delete(SessionTable).where(SessionTable.staff_id == staff_id, SessionTable.key_hash != hash_key(key)))


def delete_expired_sessions(tx: Connection, *, now: datetime) -> None:
    """Delete expired sessions, of raters too, and sign-in links."""
    tx.execute(delete(SignInLinkTable).where(SignInLinkTable.expires_at <= now))
    tx.execute(delete(SessionTable).where(SessionTable.expires_at <= now))
