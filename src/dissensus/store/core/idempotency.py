"""Idempotency keys of API requests, with the responses to replay."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, ForeignKey, delete, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import HASH, Base, dialect_insert, find_row, list_columns


class IdempotencyTable(Base):
    """An API request by its idempotency key, with its response, for a day."""

    __tablename__ = "idempotency"

    token_hash: Mapped[str] = mapped_column(ForeignKey("api_token.key_hash", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True, doc="Chosen by the client.")
    digest: Mapped[str] = mapped_column(HASH, doc="Digest of the whole request.")
    status: Mapped[int | None] = mapped_column(doc="Null while there is no response.")
    encrypted_body: Mapped[str] = mapped_column(doc="Base64; the key is derived from the API token.")
    created_at: Mapped[datetime] = mapped_column(index=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentResponse:
    """A stored response, encrypted."""

    digest: str
    status: int | None  # None while there is no response
    encrypted_body: str


def begin_request(tx: Connection, token_id: str, key: str, *, digest: str, now: datetime) -> bool:
    """Insert a request in progress, and return whether its key is new; of two concurrent ones only one is."""
    row = {"token_hash": token_id, "key": key, "digest": digest, "encrypted_body": "", "created_at": now}
    statement = dialect_insert(tx, IdempotencyTable).values(**row, status=None)
    statement = statement.on_conflict_do_nothing(index_elements=["token_hash", "key"])
    return tx.scalar(statement.returning(IdempotencyTable.key)) is not None


def find_response(tx: Connection, token_id: str, key: str) -> IdempotentResponse | None:
    """Return the stored response to a request."""
    columns = list_columns(IdempotencyTable, IdempotentResponse)
    return find_row(tx, select(*columns).where(_has_key(token_id, key)), IdempotentResponse)


def store_response(tx: Connection, token_id: str, key: str, *, status: int, encrypted_body: str) -> None:
    """Store a response."""
    values = {"status": status, "encrypted_body": encrypted_body}
    tx.execute(update(IdempotencyTable).where(_has_key(token_id, key)).values(**values))


def delete_request(tx: Connection, token_id: str, key: str) -> None:
    """Delete a request that changed nothing."""
    tx.execute(delete(IdempotencyTable).where(_has_key(token_id, key)))


def has_requests_before(tx: Connection, when: datetime) -> bool:
    """Return whether there are requests from before a time."""
    return tx.scalar(select(IdempotencyTable.key).where(IdempotencyTable.created_at < when).limit(1)) is not None


def delete_requests_before(tx: Connection, when: datetime) -> int:
    """Delete requests from before a time, and return their number."""
    return tx.execute(delete(IdempotencyTable).where(IdempotencyTable.created_at < when)).rowcount


def _has_key(token_id: str, key: str) -> ColumnElement[bool]:
    return (IdempotencyTable.token_hash == token_id) & (IdempotencyTable.key == key)
