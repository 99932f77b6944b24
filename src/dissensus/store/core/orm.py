"""Declarative base, ids, column types and constraint names of all tables; rows of queries."""

import hashlib
import secrets
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Connection,
    DateTime,
    Executable,
    Integer,
    MetaData,
    String,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

KEY_BYTES = 24
# SQLite autoincrements INTEGER columns only, which are as wide.
Number = BigInteger().with_variant(Integer(), "sqlite")
Document = JSON().with_variant(JSONB(), "postgresql")
NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
# Ids are UUIDs of version 7 as text; keys that give access are stored as hexadecimal SHA-256.
ID, HASH = String(36), String(64)

Row = TypeVar("Row")


def new_id(now: datetime) -> str:
    """Return a UUID of version 7 (RFC 9562, section 5.7): milliseconds, then random bits."""
    milliseconds = int(now.timestamp() * 1000)
    value = (milliseconds << 80) | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    return str(UUID(int=value & ~(0x3 << 62) | (0x2 << 62)))


def new_key() -> str:
    """Return a random key of 192 bits for a link or a cookie."""
    return secrets.token_urlsafe(KEY_BYTES)


def hash_key(key: str) -> str:
    """Return the stored hash of a key; a key of 192 bits needs no salt."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite stores it without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return a time in the form of the database; a naive time is a programming error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature of SQLAlchemy
        """Return a time with its zone."""
        if value is None:
            return None
        utc: datetime = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return utc


class Base(DeclarativeBase):
    """Declarative base with constraint names that migrations can rely on."""

    metadata = MetaData(naming_convention=NAMING_CONVENTION)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: Document}  # noqa: RUF012 - SQLAlchemy's own name


class RaterData:
    """Marker of tables whose rows are deleted when their rater withdraws; see `dissensus.store.erasure`."""


def dialect_insert(tx: Connection, table: type[Base]) -> sqlite.Insert | postgresql.Insert:
    """Return the INSERT of a dialect, which supports ON CONFLICT."""
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)


def list_columns(table: type[Base], row: type[Any], *, joined: Collection[str] = ()) -> list[Any]:
    """Return the columns of a table by the fields of a row class, without the fields that come from other tables."""
    return [getattr(table, name) for name in row.__dataclass_fields__ if name not in joined]


def find_row(
    tx: Connection, query: Executable, row: type[Row], *, parameters: Mapping[str, Any] | None = None
) -> Row | None:
    """Return the only row of a query, whose columns are the fields of a row class; None without one."""
    values = tx.execute(query, parameters).one_or_none()
    return None if values is None else row(**values._mapping)


def list_rows(tx: Connection, query: Executable, row: type[Row]) -> tuple[Row, ...]:
    """Return the rows of a query, whose columns are the fields of a row class."""
    return tuple(row(**values._mapping) for values in tx.execute(query))


def check_in(column: str, *values: str) -> CheckConstraint:
    """Return a CHECK constraint that restricts a column to these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
