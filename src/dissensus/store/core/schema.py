"""Schema revisions of a database: upgrade, check and comparison with the metadata."""

from functools import cache

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, column, inspect, select, table

from dissensus.errors import Conflict
from dissensus.store.core.database import Database
from dissensus.store.core.metadata import METADATA
from dissensus.store.items import SEARCH_INDEX

MIGRATIONS = "dissensus.store:migrations"
_VERSION = table("alembic_version", column("version_num"))


def find_latest_revision() -> str:
    """Return the revision of this version."""
    return _list_revisions()[0]


def find_revision(tx: Connection) -> str | None:
    """Return the revision of a database, None if it is blank."""
    # A migration context would make a new table each time, which takes the place of statements in the compiled cache.
    return tx.scalar(select(_VERSION.c.version_num)) if inspect(tx).has_table(_VERSION.name) else None


def upgrade(database: Database) -> str | None:
    """Upgrade the tables, all or nothing, and return the revision before; Conflict if it is of a later version."""
    with database.writing() as tx:
        before = find_revision(tx)
        _check_revision_known(before)
        config = _config()
        config.attributes["connection"] = tx
        command.upgrade(config, "head")
    return before


def check_revision(database: Database, *, later: bool = False) -> None:
    """Refuse a database of another revision; with `later`, one of a later version passes."""
    with database.reading() as tx:
        revision, latest = find_revision(tx), find_latest_revision()
        if later and revision is not None and not _is_known(revision):
            return
        _check_revision_known(revision)
        if revision != latest:
            state = "is blank" if revision is None else f"is at revision {revision}, and {latest} is needed"
            raise Conflict(f"The database {state}. Run: dissensus db upgrade")


def find_differences(database: Database) -> list[str]:
    """Return the differences of the tables from the metadata."""
    with database.reading() as tx:
        options = {"compare_type": True, "include_object": _is_compared}
        context = MigrationContext.configure(tx, opts=options)
        return [str(difference) for difference in compare_metadata(context, METADATA)]


def _is_compared(_item: object, name: str | None, *_: object) -> bool:
    """Return whether an object is in the metadata; the index of searches depends on the server."""
    return name != SEARCH_INDEX


def _is_known(revision: str) -> bool:
    return revision in _list_revisions()


@cache
def _list_revisions() -> tuple[str, ...]:
    """Return the revisions of this version, the latest first; Alembic keeps what it opens until the process ends."""
    return tuple(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


def _check_revision_known(revision: str | None) -> None:
    if revision is not None and not _is_known(revision):
        raise Conflict(
            f"The database is at revision {revision}, which a later version made. Upgrade Dissensus to use it."
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    return config
