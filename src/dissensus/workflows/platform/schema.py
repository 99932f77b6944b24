"""The tables of a database: made, brought up to date and checked."""

from dataclasses import dataclass
from pathlib import Path

from dissensus.errors import NotFound
from dissensus.store.core import schema
from dissensus.store.core.database import connect, parse_url


@dataclass(frozen=True, slots=True)
class SchemaUpgrade:
    """What an upgrade did."""

    before: str | None  # Revisions of the tables; None for a blank database
    after: str


def upgrade_schema(url: str) -> SchemaUpgrade:
    """Bring the tables of a database up to date; all or nothing."""
    database = connect(url, pool_size=1)
    try:
        return SchemaUpgrade(schema.upgrade(database), schema.latest())
    finally:
        database.dispose()


def check_schema(url: str) -> str:
    """Return the revision of a database that this version can work with, and refuse any other."""
    path = parse_url(url).database
    if _is_sqlite(url) and path is not None and not Path(path).exists():
        raise NotFound(f"There is no database {path}. Go to its folder or name it in the settings, as database_url.")
    database = connect(url, pool_size=1)
    try:
        schema.check(database)
        return schema.latest()
    finally:
        database.dispose()


def prepare_schema(url: str) -> None:
    """Check a database before it is served; the tables of a blank SQLite file are made.

    A blank PostgreSQL database is refused, since several machines may start at once.
    """
    database = connect(url, pool_size=1)
    try:
        if _is_sqlite(url):
            with database.reading() as tx:
                blank = schema.revision(tx) is None
            if blank:
                schema.upgrade(database)
        schema.check(database)
    finally:
        database.dispose()


def _is_sqlite(url: str) -> bool:
    return parse_url(url).get_backend_name() == "sqlite"
