"""Second factors of staff: time-based one-time passwords (TOTP) and recovery codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, ForeignKey, delete, func, insert, select, union, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import HASH, Base, Number, find_row, hash_key, list_columns
from dissensus.store.identity.passkeys import PasskeyTable, delete_passkeys, has_passkey


class TotpTable(Base):
    """TOTP secret (RFC 6238) of a staff account."""

    __tablename__ = "totp"

    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True)
    secret: Mapped[str] = mapped_column(doc="Encrypted under the secret key of the site, in base64.")
    confirmed_at: Mapped[datetime | None] = mapped_column(doc="Null until the first code was entered.")
    last_step: Mapped[int | None] = mapped_column(Number, doc="Time step of the last accepted code.")


class RecoveryCodeTable(Base):
    """Unused recovery code, which replaces a code of the second factor once."""

    __tablename__ = "recovery_code"

    code_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TotpRow:
    """TOTP secret of a staff account."""

    secret: str  # Encrypted
    confirmed_at: datetime | None


def find_totp(tx: Connection, staff_id: str) -> TotpRow | None:
    """Return the TOTP secret of an account, confirmed or not, or None."""
    query = select(*list_columns(TotpTable, TotpRow)).where(TotpTable.staff_id == staff_id)
    return find_row(tx, query, TotpRow)


def has_second_factor(tx: Connection, staff_id: str) -> bool:
    """Return whether an account has a confirmed TOTP secret or a passkey."""
    query = select(TotpTable.staff_id).where(TotpTable.staff_id == staff_id, TotpTable.confirmed_at.is_not(None))
    return tx.scalar(query) is not None or has_passkey(tx, staff_id)


def list_second_factor_owners(tx: Connection) -> frozenset[str]:
    """Return the accounts with a confirmed TOTP secret or a passkey."""
    confirmed = select(TotpTable.staff_id).where(TotpTable.confirmed_at.is_not(None))
    return frozenset(tx.scalars(union(confirmed, select(PasskeyTable.staff_id))))


def replace_totp(tx: Connection, staff_id: str, secret: str) -> None:
    """Insert an unconfirmed secret in place of an earlier one."""
    tx.execute(delete(TotpTable).where(TotpTable.staff_id == staff_id))
    tx.execute(insert(TotpTable).values(staff_id=staff_id, secret=secret))


def confirm_totp(tx: Connection, staff_id: str, *, now: datetime) -> bool:
    """Confirm the secret of an account, and return whether it was unconfirmed before."""
    unconfirmed = (TotpTable.staff_id == staff_id) & TotpTable.confirmed_at.is_(None)
    return tx.execute(update(TotpTable).where(unconfirmed).values(confirmed_at=now)).rowcount == 1


def use_totp_step(tx: Connection, staff_id: str, step: int) -> bool:
    """Record the time step of an accepted code; False if this step or a later one was used before."""
    unused = TotpTable.last_step.is_(None) | (TotpTable.last_step < step)
    record = update(TotpTable).where(TotpTable.staff_id == staff_id, unused).values(last_step=step)
    return tx.execute(record).rowcount == 1


def delete_totp(tx: Connection, staff_id: str) -> bool:
    """Delete the secret of an account, and return whether it was confirmed."""
    confirmed_at = tx.scalar(delete(TotpTable).where(TotpTable.staff_id == staff_id).returning(TotpTable.confirmed_at))
    return confirmed_at is not None


def delete_second_factors(tx: Connection, staff_id: str) -> bool:
    """Delete secret, passkeys and recovery codes of an account, and return whether there was a second factor."""
    had_totp, n_passkeys = delete_totp(tx, staff_id), delete_passkeys(tx, staff_id)
    delete_recovery_codes(tx, staff_id)
    return had_totp or n_passkeys > 0


def delete_recovery_codes(tx: Connection, staff_id: str) -> None:
    """Delete the recovery codes of an account."""
    tx.execute(delete(RecoveryCodeTable).where(RecoveryCodeTable.staff_id == staff_id))


def replace_recovery_codes(tx: Connection, staff_id: str, codes: Sequence[str]) -> None:
    """Store new recovery codes by their hashes, in place of the earlier ones."""
    delete_recovery_codes(tx, staff_id)
    tx.execute(insert(RecoveryCodeTable), [{"code_hash": hash_key(code), "staff_id": staff_id} for code in codes])


def use_recovery_code(tx: Connection, staff_id: str, code: str) -> bool:
    """Delete a recovery code, and return whether it was valid; of two concurrent uses only one succeeds."""
    is_code = (RecoveryCodeTable.code_hash == hash_key(code)) & (RecoveryCodeTable.staff_id == staff_id)
    return tx.execute(delete(RecoveryCodeTable).where(is_code)).rowcount == 1


def count_recovery_codes(tx: Connection, staff_id: str) -> int:
    """Count the unused recovery codes of an account."""
    query = select(func.count()).select_from(RecoveryCodeTable).where(RecoveryCodeTable.staff_id == staff_id)
    return tx.scalar(query) or 0
