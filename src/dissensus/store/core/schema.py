"""Schema revisions of a database: upgrade, check and comparison with the metadata."""

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from dissensus.errors import Conflict
from dissensus.store.core.database import Database
from dissensus.store.core.metadata import METADATA

MIGRATIONS = "dissensus.store:migrations"


def find_latest_revision() -> str:
    """Return the revision of this version."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def find_revision(tx: Connection) -> str | None:
    """Return the revision of a database, None if it is blank."""
    return MigrationContext.configure(tx).get_current_revision()


def upgrade(database: Database) -> str | None:
    """Upgrade the tables, all or nothing, and return the revision before; Conflict if it is of a later version."""
    with database.writing() as tx:
        before = find_revision(tx)
        _check_known(before)
        config = _config()
        config.attributes["connection"] = tx
        command.upgrade(config, "head")
    return before


def check_revision(database: Database, *, later: bool = False) -> None:
    """Refuse a database of another revision; with `later`, one of a later version passes."""
    with database.reading() as tx:
        result = find_revision(tx)
        if later and result is not None and not _is_known(result):
            return
        _check_known(result)
        if result != find_latest_revision():
            what = "is blank" if result is None else f"is at revision {result}, and {find_latest_revision()} is needed"
            raise Conflict(f"The database {what}. Run: dissensus db upgrade")


def find_differences(database: Database) -> list[str]:
    """Return the differences of the tables from the metadata."""
    with database.reading() as tx:
        context = MigrationContext.configure(tx, opts={"compare_type": True})
        return [str(one) for one in compare_metadata(context, METADATA)]


def _is_known(found: str) -> bool:
    return found in {one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()}


def _check_known(found: str | None) -> None:
    if found is not None and not _is_known(found):
        raise Conflict(f"The database is at revision {found}, which a later version made. Upgrade Dissensus to use it.")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    return config
