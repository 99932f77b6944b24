"""Requests of programs that made something, by the keys that programs chose, so that the same again makes no more."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from dissensus.store import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What was answered, as it is kept."""

    digest: str
    status: int | None  # Of the answer; None while there is none
    salt: str  # The answer, which nobody reads without the keys of the request
    sealed: str


def begin(tx: Connection, token_id: str, key: str, *, digest: str, now: datetime) -> bool:
    """Keep that a request is under way, and tell whether its key is new; of two at once one alone is."""
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    row = {"token_hash": token_id, "key": key, "digest": digest, "salt": "", "sealed": "", "created_at": now}
    one = insert(t.Idempotency).values(**row, status=None)
    new = one.on_conflict_do_nothing(index_elements=["token_hash", "key"]).returning(t.Idempotency.key)
    return tx.scalar(new) is not None


def answered(tx: Connection, token_id: str, key: str) -> Answered | None:
    """Return what was answered to a request."""
    columns = (t.Idempotency.digest, t.Idempotency.status, t.Idempotency.salt, t.Idempotency.sealed)
    row = tx.execute(select(*columns).where(_one(token_id, key))).one_or_none()
    return None if row is None else Answered(**row._mapping)


def keep(tx: Connection, token_id: str, key: str, *, status: int, salt: str, sealed: str) -> None:
    """Keep what was answered."""
    values = {"status": status, "salt": salt, "sealed": sealed}
    tx.execute(update(t.Idempotency).where(_one(token_id, key)).values(**values))


def forget(tx: Connection, token_id: str, key: str) -> None:
    """Forget a request that made nothing."""
    tx.execute(delete(t.Idempotency).where(_one(token_id, key)))


def has_before(tx: Connection, when: datetime) -> bool:
    """Tell whether there are requests from before a time."""
    return tx.scalar(select(t.Idempotency.key).where(t.Idempotency.created_at < when).limit(1)) is not None


def forget_before(tx: Connection, when: datetime) -> int:
    """Forget requests from before a time, and return how many there were."""
    return tx.execute(delete(t.Idempotency).where(t.Idempotency.created_at < when)).rowcount


def _one(token_id: str, key: str) -> ColumnElement[bool]:
    return (t.Idempotency.token_hash == token_id) & (t.Idempotency.key == key)
