"""Platform handle that every workflow takes: database and cached campaign definitions."""

from dataclasses import dataclass, field

from dissensus.store.campaigns import DefinitionCache
from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect


@dataclass(frozen=True, slots=True)
class Platform:
    """Database and cached campaign definitions of one worker."""

    database: Database
    definitions: DefinitionCache = field(default_factory=DefinitionCache)

    def check(self) -> None:
        """Refuse a database that does not respond or lacks the tables of this version or a later one."""
        schema.check_revision(self.database, later=True)

    def close(self) -> None:
        """Close all connections."""
        self.database.dispose()


def open_platform(url: str, *, threads: int) -> Platform:
    """Return a platform with a connection pool for the given number of threads."""
    return Platform(connect(url, pool_size=threads))
