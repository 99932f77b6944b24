"""Staff accounts, with their passwords and e-mail addresses."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    Connection,
    Index,
    false,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.errors import Conflict
from dissensus.schema.hints import format_value
from dissensus.store.core.orm import ID, Base, find_row, list_columns, list_rows, new_id


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffRow:
    """A staff account."""

    id: str
    name: str
    created_at: datetime
    operator: bool = False  # True for a person who may see and disable all accounts


STAFF_COLUMNS = list_columns(StaffTable, StaffRow)


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
    return list_rows(tx, select(*STAFF_COLUMNS).order_by(StaffTable.name), StaffRow)


def find_staff_by_name(tx: Connection, name: str) -> StaffRow | None:
    """Return a staff account by its name, or None."""
    return find_row(tx, select(*STAFF_COLUMNS).where(StaffTable.name == name), StaffRow)


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


def find_password_hash(tx: Connection, staff_id: str) -> str | None:
    """Return the password hash of an account, or None."""
    return tx.scalar(select(StaffTable.password_hash).where(StaffTable.id == staff_id))


def list_password_hashes(tx: Connection) -> tuple[str, ...]:
    """Return the password hashes of all accounts."""
    hashes = tx.scalars(select(StaffTable.password_hash).where(StaffTable.password_hash.is_not(None)))
    return tuple(str(password_hash) for password_hash in hashes)


def find_staff_by_subject(tx: Connection, *, subject: str) -> StaffRow | None:
    """Return the account of an OpenID Connect subject, or None."""
    return find_row(tx, select(*STAFF_COLUMNS).where(StaffTable.subject == subject), StaffRow)


def claim_subject(tx: Connection, email: str, subject: str) -> StaffRow | None:
    """Link a subject to the account with this email and no subject; return it, or None."""
    unlinked = (StaffTable.email == email) & StaffTable.subject.is_(None)
    return find_row(tx, update(StaffTable).where(unlinked).values(subject=subject).returning(*STAFF_COLUMNS), StaffRow)


def find_staff_by_email(tx: Connection, email: str) -> StaffRow | None:
    """Return the account with an email, or None."""
    return find_row(tx, select(*STAFF_COLUMNS).where(StaffTable.email == email), StaffRow)


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
