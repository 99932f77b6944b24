"""Counts of failed sign-ins, shared by all workers, for rate limiting."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, select, true, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import HASH, Base, dialect_insert


class SignInFailureTable(Base):
    """Number of failed sign-ins by a name or from an address."""

    __tablename__ = "sign_in_failure"

    fingerprint: Mapped[str] = mapped_column(
        HASH, primary_key=True, doc="HMAC of the name or the address under the secret key."
    )
    n_failures: Mapped[int]
    last_at: Mapped[datetime]


def load_failures(tx: Connection, fingerprints: Sequence[str]) -> dict[str, tuple[int, datetime]]:
    """Return number and last time of failures by fingerprint."""
    query = select(SignInFailureTable.fingerprint, SignInFailureTable.n_failures, SignInFailureTable.last_at).where(
        SignInFailureTable.fingerprint.in_(fingerprints)
    )
    return {fingerprint: (n, last_at) for fingerprint, n, last_at in tx.execute(query)}


def count_sign_in_failure(tx: Connection, fingerprint: str, *, now: datetime) -> int:
    """Increment the failures of a fingerprint, and return their number; its row stays locked."""
    first = dialect_insert(tx, SignInFailureTable).values(fingerprint=fingerprint, n_failures=1, last_at=now)
    increment = first.on_conflict_do_update(
        index_elements=["fingerprint"], set_={"n_failures": SignInFailureTable.n_failures + 1, "last_at": now}
    )
    return tx.execute(increment.returning(SignInFailureTable.n_failures)).scalar_one()


def forgive_sign_in_failure(tx: Connection, fingerprint: str) -> None:
    """Decrement the failures of a fingerprint: an attempt that was counted beforehand succeeded."""
    one_less = {"n_failures": SignInFailureTable.n_failures - 1}
    tx.execute(update(SignInFailureTable).where(SignInFailureTable.fingerprint == fingerprint).values(**one_less))


def clear_failures(tx: Connection, fingerprints: Sequence[str]) -> None:
    """Delete the failures of some fingerprints."""
    tx.execute(delete(SignInFailureTable).where(SignInFailureTable.fingerprint.in_(fingerprints)))


def delete_failures_before(tx: Connection, when: datetime, *, fingerprint: str | None = None) -> None:
    """Delete failures whose last one is before a time, of all fingerprints or of one."""
    table = SignInFailureTable
    has_fingerprint = true() if fingerprint is None else table.fingerprint == fingerprint
    tx.execute(delete(table).where(table.last_at < when, has_fingerprint))
