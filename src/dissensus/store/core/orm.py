"""Declarative base, column types and constraint names of all tables."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, DateTime, Integer, MetaData, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

# SQLite autoincrements INTEGER columns only, which are as wide.
Number = BigInteger().with_variant(Integer(), "sqlite")


Document = JSON().with_variant(JSONB(), "postgresql")


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


NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


# Ids are UUIDs of version 7 as text; keys that give access are stored as hexadecimal SHA-256.
ID, HASH = String(36), String(64)


class Base(DeclarativeBase):
    """Declarative base with constraint names that migrations can rely on."""

    metadata = MetaData(naming_convention=NAMING_CONVENTION)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: Document}  # noqa: RUF012 - SQLAlchemy's own name


class RaterData:
    """Marker of tables whose rows are deleted when their rater withdraws; see `dissensus.store.erasure`."""


def one_of(column: str, *values: str) -> CheckConstraint:
    """Return the constraint that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
