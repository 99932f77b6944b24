"""What one process alone does at a time."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from dissensus.store import tables as t


def hold(tx: Connection, name: str, holder: str, *, until: datetime, now: datetime) -> bool:
    """Take or keep a lease until a time, and tell whether it is ours; one that has ended is anybody's."""
    free = or_(t.Lease.holder == holder, t.Lease.expires_at <= now)
    mine = (t.Lease.name == name) & free
    if tx.execute(update(t.Lease).where(mine).values(holder=holder, expires_at=until)).rowcount:
        return True
    if tx.scalar(select(t.Lease.name).where(t.Lease.name == name)) is not None:
        return False
    try:
        with tx.begin_nested():
            tx.execute(insert(t.Lease).values(name=name, holder=holder, expires_at=until))
    except IntegrityError:
        # Another process was first.
        return False
    return True


def let_go(tx: Connection, name: str, holder: str) -> None:
    """Give a lease back."""
    tx.execute(delete(t.Lease).where(t.Lease.name == name, t.Lease.holder == holder))
