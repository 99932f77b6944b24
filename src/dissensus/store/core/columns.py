"""Types of columns that read and write alike in both databases."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Integer
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

# SQLite counts up by itself in its own kind of integer alone, which is as wide.
Number = BigInteger().with_variant(Integer(), "sqlite")
Document = JSON().with_variant(JSONB(), "postgresql")


class Moment(TypeDecorator[datetime]):
    """A time in UTC; SQLite keeps it without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return a time as the database takes it; one without a zone is a mistake of ours."""
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
        known: datetime = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return known
