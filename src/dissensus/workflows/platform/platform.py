"""Platform handle that every workflow takes; creation, upgrade and check of the database schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Final

from dissensus.campaign.rate_limits import RaterLimits
from dissensus.errors import NotFound
from dissensus.store.campaigns import DefinitionCache
from dissensus.store.core import leases, schema
from dissensus.store.core.database import Database, connect, parse_url

PROBE_LEASE: Final = "write probe"
PROBE_INTERVAL_S: Final = 10.0
SESSION_IDLE: Final = timedelta(hours=1)
"""Time without a request after which a session of staff ends, unless the settings have another."""


@dataclass(slots=True)
class WriteProbe:
    """Test that a database takes writes, at most every few seconds."""

    _due: float = 0.0

    def check(self, database: Database, *, now: datetime) -> None:
        """Write a row; raise `NoDatabase` if the database does not take it."""
        if monotonic() < self._due:
            return
        with database.writing() as tx:
            leases.acquire_lease(tx, PROBE_LEASE, PROBE_LEASE, until=now, now=now)
        self._due = monotonic() + PROBE_INTERVAL_S


@dataclass(frozen=True, slots=True)
class Platform:
    """Database, cached campaign definitions and limits of one worker."""

    database: Database
    definitions: DefinitionCache = field(default_factory=DefinitionCache)
    rater_limits: RaterLimits = field(default_factory=RaterLimits)
    session_idle: timedelta = SESSION_IDLE
    write_probe: WriteProbe = field(default_factory=WriteProbe)

    def readiness_checks(self, *, now: datetime) -> Mapping[str, Callable[[], None]]:
        """Return checks by name; each raises `Unavailable` or `Conflict`."""
        return {
            "tables": lambda: schema.check_revision(self.database, later=True),
            "disk": self.database.check_space,
            "writes": lambda: self.write_probe.check(self.database, now=now),
        }

    def close(self) -> None:
        """Close all connections."""
        self.database.dispose()


def open_platform(
    url: str, *, threads: int, rater_limits: RaterLimits | None = None, session_idle: timedelta = SESSION_IDLE
) -> Platform:
    """Return a platform with a connection pool for the given number of threads."""
    limits = rater_limits or RaterLimits()
    return Platform(connect(url, pool_size=threads), rater_limits=limits, session_idle=session_idle)


@dataclass(frozen=True, slots=True)
class SchemaUpgrade:
    """Revisions before and after an upgrade."""

    before: str | None  # None for a blank database
    after: str


def upgrade_schema(url: str) -> SchemaUpgrade:
    """Upgrade the tables of a database, all or nothing."""
    database = connect(url, pool_size=1)
    try:
        return SchemaUpgrade(schema.upgrade(database), schema.find_latest_revision())
    finally:
        database.dispose()


def check_schema(url: str) -> str:
    """Return the revision of a database that this version supports and refuse any other."""
    path = parse_url(url).database
    if _is_sqlite(url) and path is not None and not Path(path).exists():
        raise NotFound(f"There is no database {path}. Go to its folder or name it in the settings, as database_url.")
    database = connect(url, pool_size=1)
    try:
        schema.check_revision(database)
        return schema.find_latest_revision()
    finally:
        database.dispose()


def prepare_schema(url: str) -> None:
    """Check a database before serving, creating the tables of a blank SQLite file.

    A blank PostgreSQL database is refused, since several machines may start at once.
    """
    database = connect(url, pool_size=1)
    try:
        if _is_sqlite(url):
            with database.reading() as tx:
                blank = schema.find_revision(tx) is None
            if blank:
                schema.upgrade(database)
        schema.check_revision(database)
    finally:
        database.dispose()


def list_durability_risks(url: str) -> list[str]:
    """Return what could lose acknowledged data in a crash, each with the remedy."""
    database = connect(url, pool_size=1)
    try:
        return database.list_durability_risks()
    finally:
        database.dispose()


def _is_sqlite(url: str) -> bool:
    return parse_url(url).get_backend_name() == "sqlite"
