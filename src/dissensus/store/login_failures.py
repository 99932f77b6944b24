"""How often signing in failed, so that guessing takes long on all workers together."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from dissensus.store import tables as t


def failures_of(tx: Connection, traces: Sequence[str]) -> dict[str, tuple[int, datetime]]:
    """Return how often each of these failed, and when last."""
    query = select(t.Failure.trace, t.Failure.n, t.Failure.last_at).where(t.Failure.trace.in_(traces))
    return {trace: (n, last_at) for trace, n, last_at in tx.execute(query)}


def count_failure(tx: Connection, trace: str, *, now: datetime) -> int:
    """Count one more failure, and return how many there are; the row stays locked until the transaction ends."""
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    one = insert(t.Failure).values(trace=trace, n=1, last_at=now)
    more = one.on_conflict_do_update(index_elements=["trace"], set_={"n": t.Failure.n + 1, "last_at": now})
    return tx.execute(more.returning(t.Failure.n)).scalar_one()


def clear(tx: Connection, traces: Sequence[str]) -> None:
    """Forget the failures of these."""
    tx.execute(delete(t.Failure).where(t.Failure.trace.in_(traces)))


def forget_before(tx: Connection, when: datetime) -> None:
    """Forget failures whose last one lies before a time."""
    tx.execute(delete(t.Failure).where(t.Failure.last_at < when))
