"""Passkeys of staff (WebAuthn credentials), and the challenges that authenticators sign."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, ForeignKey, delete, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import (
    HASH,
    ID,
    Base,
    Number,
    dialect_insert,
    find_row,
    hash_key,
    list_columns,
    list_rows,
    new_id,
)


class PasskeyTable(Base):
    """Public key of a passkey."""

    __tablename__ = "passkey"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True)
    credential_id: Mapped[str] = mapped_column(unique=True, doc="As the authenticator made it, in base64url.")
    public_key: Mapped[str] = mapped_column(doc="COSE key, in base64url.")
    sign_count: Mapped[int] = mapped_column(Number, doc="Uses that the authenticator counted; 0 if it does not count.")
    name: Mapped[str]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class PasskeyChallengeTable(Base):
    """Challenge of a session or a sign-in form; it is deleted when it is answered."""

    __tablename__ = "passkey_challenge"

    session_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    purpose: Mapped[str]
    challenge: Mapped[str] = mapped_column(doc="In hexadecimal.")
    expires_at: Mapped[datetime] = mapped_column(index=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyRow:
    """A passkey of a staff account."""

    id: str
    staff_id: str
    credential_id: str
    public_key: str
    sign_count: int
    name: str
    created_at: datetime
    used_at: datetime | None


_COLUMNS = list_columns(PasskeyTable, PasskeyRow)


def list_passkeys(tx: Connection, staff_id: str) -> tuple[PasskeyRow, ...]:
    """Return the passkeys of an account, the earliest first."""
    query = (
        select(*_COLUMNS).where(PasskeyTable.staff_id == staff_id).order_by(PasskeyTable.created_at, PasskeyTable.id)
    )
    return list_rows(tx, query, PasskeyRow)


def has_passkey(tx: Connection, staff_id: str) -> bool:
    """Return whether an account has a passkey."""
    return tx.scalar(select(PasskeyTable.id).where(PasskeyTable.staff_id == staff_id).limit(1)) is not None


def find_passkey(tx: Connection, credential_id: str) -> PasskeyRow | None:
    """Return a passkey by the id of its credential, or None."""
    return find_row(tx, select(*_COLUMNS).where(PasskeyTable.credential_id == credential_id), PasskeyRow)


def add_passkey(
    tx: Connection, staff_id: str, *, credential_id: str, public_key: str, sign_count: int, name: str, now: datetime
) -> bool:
    """Insert a passkey, and return whether its credential was new."""
    row = {"credential_id": credential_id, "public_key": public_key, "sign_count": sign_count, "name": name}
    new = dialect_insert(tx, PasskeyTable).values(id=new_id(now), staff_id=staff_id, created_at=now, **row)
    once = new.on_conflict_do_nothing(index_elements=["credential_id"]).returning(PasskeyTable.id)
    return tx.scalar(once) is not None


def record_passkey_use(tx: Connection, passkey: PasskeyRow, sign_count: int, *, now: datetime) -> bool:
    """Set sign count and time of use; False if the passkey was used or removed meanwhile."""
    unchanged = (PasskeyTable.id == passkey.id) & (PasskeyTable.sign_count == passkey.sign_count)
    return tx.execute(update(PasskeyTable).where(unchanged).values(sign_count=sign_count, used_at=now)).rowcount == 1


def delete_passkey(tx: Connection, staff_id: str, passkey_id: str) -> str | None:
    """Delete a passkey, if it is of this account, and return its name, or None."""
    owned = (PasskeyTable.id == passkey_id) & (PasskeyTable.staff_id == staff_id)
    return tx.scalar(delete(PasskeyTable).where(owned).returning(PasskeyTable.name))


def delete_passkeys(tx: Connection, staff_id: str) -> int:
    """Delete all passkeys of an account, and return their number."""
    return tx.execute(delete(PasskeyTable).where(PasskeyTable.staff_id == staff_id)).rowcount


def replace_challenge(tx: Connection, session: str, purpose: str, challenge: str, *, expires_at: datetime) -> None:
    """Insert a challenge in place of an earlier one of the session."""
    row = {"purpose": purpose, "challenge": challenge, "expires_at": expires_at}
    first = dialect_insert(tx, PasskeyChallengeTable).values(session_hash=hash_key(session), **row)
    tx.execute(first.on_conflict_do_update(index_elements=["session_hash"], set_=row))


def take_challenge(tx: Connection, session: str, purpose: str, *, now: datetime) -> str | None:
    """Delete the challenge of a session and return it; None if there is none for this purpose.

    Of two concurrent calls only one gets it, since a single statement finds and deletes.
    """
    table = PasskeyChallengeTable
    is_valid = (table.session_hash == hash_key(session)) & (table.purpose == purpose) & (table.expires_at > now)
    return tx.scalar(delete(table).where(is_valid).returning(table.challenge))


def delete_expired_challenges(tx: Connection, *, now: datetime) -> None:
    """Delete expired challenges."""
    tx.execute(delete(PasskeyChallengeTable).where(PasskeyChallengeTable.expires_at <= now))
