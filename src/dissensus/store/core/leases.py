"""Leases: named locks that one process holds until a time."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base


class LeaseTable(Base):
    """A lease and its holder."""

    __tablename__ = "lease"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    expires_at: Mapped[datetime]


def acquire_lease(tx: Connection, name: str, holder: str, *, until: datetime, now: datetime) -> bool:
    """Acquire or renew a lease until a time, and return whether this holder has it."""
    free = or_(LeaseTable.holder == holder, LeaseTable.expires_at <= now)
    available = (LeaseTable.name == name) & free
    if tx.execute(update(LeaseTable).where(available).values(holder=holder, expires_at=until)).rowcount:
        return True
    if tx.scalar(select(LeaseTable.name).where(LeaseTable.name == name)) is not None:
        return False
    try:
        with tx.begin_nested():
            tx.execute(insert(LeaseTable).values(name=name, holder=holder, expires_at=until))
    except IntegrityError:
        # Another process was first.
        return False
    return True


def is_lease_held(tx: Connection, name: str, holder: str) -> bool:
    """Return whether no other holder has acquired a lease since this one did."""
    return tx.scalar(select(LeaseTable.holder).where(LeaseTable.name == name)) == holder


def release_lease(tx: Connection, name: str, holder: str) -> None:
    """Release a lease."""
    tx.execute(delete(LeaseTable).where(LeaseTable.name == name, LeaseTable.holder == holder))
