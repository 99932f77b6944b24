"""API tokens of staff, by the hashes of their keys."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, ForeignKey, UniqueConstraint, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.errors import Conflict
from dissensus.schema.hints import format_value
from dissensus.store.core.orm import HASH, Base, hash_key
from dissensus.store.staff import StaffRow, StaffTable


class ApiTokenTable(Base):
    """An API token, which grants a program some permissions of its owner."""

    __tablename__ = "api_token"
    __table_args__ = (UniqueConstraint("staff_id", "name"),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    name: Mapped[str]
    scopes: Mapped[str] = mapped_column(doc="Actions, separated by spaces.")
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None] = mapped_column(doc="Time of the last use, to the minute.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiTokenRow:
    """A token, without its key."""

    id: str  # Hash of its key
    name: str
    scopes: frozenset[str]  # Actions that it allows
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None  # Time of the last use, to the minute


_COLUMNS = (
    ApiTokenTable.key_hash,
    ApiTokenTable.name,
    ApiTokenTable.scopes,
    ApiTokenTable.created_at,
    ApiTokenTable.expires_at,
    ApiTokenTable.used_at,
)


def add_api_token(tx: Connection, staff_id: str, key: str, token: ApiTokenRow) -> None:
    """Store a new token, by the hash of its key."""
    row = {
        "key_hash": hash_key(key),
        "staff_id": staff_id,
        "name": token.name,
        "scopes": " ".join(sorted(token.scopes)),
    }
    times = {"created_at": token.created_at, "expires_at": token.expires_at}
    try:
        tx.execute(insert(ApiTokenTable).values(**row, **times))
    except IntegrityError:
        raise Conflict(
            f"You have a token called {format_value(token.name)}. Revoke it, or choose another name."
        ) from None


def list_api_tokens(tx: Connection, staff_id: str, *, now: datetime) -> tuple[ApiTokenRow, ...]:
    """Return the valid tokens of a staff member, by name."""
    query = (
        select(*_COLUMNS)
        .where(ApiTokenTable.staff_id == staff_id, ApiTokenTable.expires_at > now)
        .order_by(ApiTokenTable.name)
    )
    return tuple(_to_row(*row) for row in tx.execute(query))


def find_api_token(tx: Connection, key: str, *, now: datetime) -> tuple[StaffRow, ApiTokenRow] | None:
    """Return a valid token by its key, with its owner, or None."""
    query = (
        select(StaffTable.id, StaffTable.name, StaffTable.created_at, *_COLUMNS)
        .join(StaffTable, StaffTable.id == ApiTokenTable.staff_id)
        .where(ApiTokenTable.key_hash == hash_key(key), ApiTokenTable.expires_at > now)
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    return StaffRow(id=row[0], name=row[1], created_at=row[2]), _to_row(*row[3:])


def record_token_use(tx: Connection, token_id: str, *, now: datetime) -> None:
    """Set the time of the last use of a token."""
    tx.execute(update(ApiTokenTable).where(ApiTokenTable.key_hash == token_id).values(used_at=now))


def revoke_api_token(tx: Connection, staff_id: str, token_id: str) -> None:
    """Delete a token, if it is of this staff member."""
    tx.execute(delete(ApiTokenTable).where(ApiTokenTable.key_hash == token_id, ApiTokenTable.staff_id == staff_id))


def _to_row(
    key_hash: str, name: str, scopes: str, created_at: datetime, expires_at: datetime, used_at: datetime | None
) -> ApiTokenRow:
    times = {"created_at": created_at, "expires_at": expires_at, "used_at": used_at}
    return ApiTokenRow(id=key_hash, name=name, scopes=frozenset(scopes.split()), **times)  # type: ignore[arg-type]


def delete_expired_tokens(tx: Connection, *, now: datetime) -> None:
    """Delete expired tokens."""
    tx.execute(delete(ApiTokenTable).where(ApiTokenTable.expires_at <= now))
