"""What every workflow needs."""

from dataclasses import dataclass, field

from dissensus.store.campaigns import Definitions
from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect


@dataclass(frozen=True, slots=True)
class Platform:
    """One worker's way to the database."""

    database: Database  # Where everything is kept
    definitions: Definitions = field(default_factory=Definitions)  # Definitions of campaigns at hand

    def check(self) -> None:
        """Refuse a database that does not answer, or lacks the tables of this version or a later one."""
        schema.check(self.database, later=True)

    def close(self) -> None:
        """Close all connections."""
        self.database.dispose()


def open_platform(url: str, *, threads: int) -> Platform:
    """Return the way to a database, for so many threads."""
    return Platform(connect(url, pool_size=threads))
