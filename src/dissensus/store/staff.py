"""Staff accounts with sign-in links, sessions and passwords."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    delete,
    false,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.errors import Conflict
from dissensus.schema.hints import format_value
from dissensus.store.core.orm import HASH, ID, Base, RaterData, find_row, hash_key, list_columns, list_rows, new_id


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


class StaffTable(Base):
    """A staff account."""

    __tablename__ = "staff"
    __table_args__ = (Index("uq_staff_email", "email", unique=True), Index("uq_staff_subject", "subject", unique=True))

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str | None] = mapped_column(doc="Argon2id with its salt; null without a password.")
    email: Mapped[str | None] = mapped_column(
        doc="Gets mails, and identifies the person at the first sign-in by a provider."
    )
    subject: Mapped[str | None] = mapped_column(doc="OpenID Connect subject, once they signed in by the provider.")
    created_at: Mapped[datetime]
    operator: Mapped[bool] = mapped_column(
        default=False, server_default=false(), doc="True for a person who may see and disable all accounts."
    )
    disabled_at: Mapped[datetime | None] = mapped_column(doc="Time since which the account is not admitted.")


class SignInLinkTable(Base):
    """A one-time sign-in link."""

    __tablename__ = "sign_in_link"

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffRow:
    """A staff account."""

    id: str
    name: str
    created_at: datetime
    operator: bool = False  # True for a person who may see and disable all accounts


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


_COLUMNS = list_columns(StaffTable, StaffRow)


def add_staff(tx: Connection, name: str, *, now: datetime) -> StaffRow:
    """Insert a staff account; Conflict if the name is taken."""
    staff = StaffRow(id=new_id(now), name=name, created_at=now)
    try:
        tx.execute(insert(StaffTable).values(id=staff.id, name=name, created_at=now))
    except IntegrityError:
        raise Conflict(f"Somebody is called {format_value(name)} already. Choose another name.") from None
    return staff


def list_staff(tx: Connection) -> tuple[StaffRow, ...]:
    """Return all staff accounts, by name."""
    return list_rows(tx, select(*_COLUMNS).order_by(StaffTable.name), StaffRow)


def find_staff_by_name(tx: Connection, name: str) -> StaffRow | None:
    """Return a staff account by its name, or None."""
    return find_row(tx, select(*_COLUMNS).where(StaffTable.name == name), StaffRow)


def load_disabled_accounts(tx: Connection) -> dict[str, datetime]:
    """Return the times since which accounts are disabled, by id."""
    disabled = select(StaffTable.id, StaffTable.disabled_at).where(StaffTable.disabled_at.is_not(None))
    return {staff_id: at for staff_id, at in tx.execute(disabled) if at is not None}


def is_disabled(tx: Connection, staff_id: str) -> bool:
    """Return whether an account is disabled."""
    return tx.scalar(select(StaffTable.disabled_at).where(StaffTable.id == staff_id)) is not None


def set_disabled(tx: Connection, staff_id: str, *, at: datetime | None) -> None:
    """Disable an account, or enable it with None."""
    tx.execute(update(StaffTable).where(StaffTable.id == staff_id).values(disabled_at=at))


def set_operator(tx: Connection, staff_id: str, *, operator: bool) -> None:
    """Set whether a person may see and disable all accounts."""
    tx.execute(update(StaffTable).where(StaffTable.id == staff_id).values(operator=operator))


def load_staff_names(tx: Connection, staff_ids: Collection[str]) -> dict[str, str]:
    """Return the names of accounts by id."""
    rows = tx.execute(select(StaffTable.id, StaffTable.name).where(StaffTable.id.in_(staff_ids)))
    return {row.id: row.name for row in rows}


def find_staff_name(tx: Connection, staff_id: str) -> str | None:
    """Return the name of an account, or None."""
    name: str | None = tx.scalar(select(StaffTable.name).where(StaffTable.id == staff_id))
    return name


def add_sign_in_link(tx: Connection, staff_id: str, key: str, *, expires_at: datetime) -> None:
    """Insert a sign-in link, by the hash of its key."""
    tx.execute(insert(SignInLinkTable).values(key_hash=hash_key(key), staff_id=staff_id, expires_at=expires_at))


def is_sign_in_link_valid(tx: Connection, key: str, *, now: datetime) -> bool:
    """Return whether a sign-in link is valid, without using it up."""
    return tx.scalar(select(SignInLinkTable.staff_id).where(_is_valid(key, now))) is not None


def use_sign_in_link(tx: Connection, key: str, *, now: datetime) -> str | None:
    """Use up a sign-in link, and return the id of its account; None if it is not valid.

    Of two concurrent uses only one succeeds, since a single statement checks and updates.
    """
    use = update(SignInLinkTable).where(_is_valid(key, now)).values(used_at=now).returning(SignInLinkTable.staff_id)
    return tx.scalar(use)


def _is_valid(key: str, now: datetime) -> ColumnElement[bool]:
    return (
        (SignInLinkTable.key_hash == hash_key(key))
        & SignInLinkTable.used_at.is_(None)
        & (SignInLinkTable.expires_at > now)
    )


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
        select(*_COLUMNS)
        .join(SessionTable, SessionTable.staff_id == StaffTable.id)
        .where(SessionTable.key_hash == hash_key(key), SessionTable.expires_at > now, SessionTable.pending)
        .where(StaffTable.disabled_at.is_(None))
    )
    return find_row(tx, query, StaffRow)


def find_signed_in_staff(tx: Connection, key: str, *, now: datetime, idle: timedelta) -> SignedInStaff | None:
    """Return the account of a session that is valid and was used recently, or None."""
    query = (
        select(*_COLUMNS, SessionTable.seen_at, SessionTable.confirmed_at)
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


def end_session_by_key(tx: Connection, key: str) -> None:
    """Delete a session."""
    tx.execute(delete(SessionTable).where(SessionTable.key_hash == hash_key(key), SessionTable.staff_id.is_not(None)))


def end_all_sessions(tx: Connection, staff_id: str) -> int:
    """Delete all sessions and sign-in links of an account, and return the number of sessions."""
    tx.execute(delete(SignInLinkTable).where(SignInLinkTable.staff_id == staff_id))
    return tx.execute(delete(SessionTable).where(SessionTable.staff_id == staff_id)).rowcount


def end_other_sessions(tx: Connection, staff_id: str, key: str) -> None:
    """Delete all sessions but one, and all sign-in links, of an account."""
    tx.execute(delete(SignInLinkTable).where(SignInLinkTable.staff_id == staff_id))
    tx.execute(delete(SessionTable).where(SessionTable.staff_id == staff_id, SessionTable.key_hash != hash_key(key)))


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
    chosen = (SessionTable.key_hash == session_id) & (SessionTable.staff_id == staff_id)
    return tx.execute(delete(SessionTable).where(chosen)).rowcount > 0


def find_password_hash(tx: Connection, staff_id: str) -> str | None:
    """Return the password hash of an account, or None."""
    return tx.scalar(select(StaffTable.password_hash).where(StaffTable.id == staff_id))


def list_password_hashes(tx: Connection) -> tuple[str, ...]:
    """Return the password hashes of all accounts."""
    hashes = tx.scalars(select(StaffTable.password_hash).where(StaffTable.password_hash.is_not(None)))
    return tuple(str(password_hash) for password_hash in hashes)


def find_staff_by_subject(tx: Connection, *, subject: str) -> StaffRow | None:
    """Return the account of an OpenID Connect subject, or None."""
    return find_row(tx, select(*_COLUMNS).where(StaffTable.subject == subject), StaffRow)


def claim_subject(tx: Connection, email: str, subject: str) -> StaffRow | None:
    """Link a subject to the account with this email and no subject; return it, or None."""
    unlinked = (StaffTable.email == email) & StaffTable.subject.is_(None)
    return find_row(tx, update(StaffTable).where(unlinked).values(subject=subject).returning(*_COLUMNS), StaffRow)


def find_staff_by_email(tx: Connection, email: str) -> StaffRow | None:
    """Return the account with an email, or None."""
    return find_row(tx, select(*_COLUMNS).where(StaffTable.email == email), StaffRow)


def find_email(tx: Connection, staff_id: str) -> str | None:
    """Return the email of an account, or None."""
    return tx.scalar(select(StaffTable.email).where(StaffTable.id == staff_id))


def set_email(tx: Connection, staff_id: str, email: str | None) -> None:
    """Set the email of an account and unlink its subject; Conflict if another account has it."""
    try:
        tx.execute(update(StaffTable).where(StaffTable.id == staff_id).values(email=email, subject=None))
    except IntegrityError:
        raise Conflict(f"Somebody else has the address {format_value(email)}. Take it from them first.") from None


def set_password_hash(tx: Connection, staff_id: str, password_hash: str) -> None:
    """Set the password hash of an account."""
    tx.execute(update(StaffTable).where(StaffTable.id == staff_id).values(password_hash=password_hash))


def delete_expired_sessions(tx: Connection, *, now: datetime) -> None:
    """Delete expired sessions, of raters too, and sign-in links."""
    tx.execute(delete(SignInLinkTable).where(SignInLinkTable.expires_at <= now))
    tx.execute(delete(SessionTable).where(SessionTable.expires_at <= now))
