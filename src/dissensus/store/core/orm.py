"""What all tables are declared with."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, MetaData, String
from sqlalchemy.orm import DeclarativeBase

from dissensus.store.core.columns import Document, Moment

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
# Ids are UUIDs of version 7 as text; keys that give access are kept as SHA-256, in hexadecimal.
ID, HASH = String(36), String(64)


class Base(DeclarativeBase):
    """All tables, with names for their constraints that migrations can rely on."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {datetime: Moment, dict[str, Any]: Document}  # noqa: RUF012 - SQLAlchemy's own name


def among(column: str, *values: str) -> CheckConstraint:
    """Return the constraint that a column has one of these values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
