"""The tables of a database: made, brought up to date, and compared with what this version needs."""

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from dissensus.errors import Conflict
from dissensus.store.core.database import Database
from dissensus.store.tables import Base

PLACE = "dissensus.store:migrations"


def latest() -> str:
    """Return the revision that this version works with."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def revision(tx: Connection) -> str | None:
    """Return the revision of a database, None where it is blank."""
    return MigrationContext.configure(tx).get_current_revision()


def upgrade(database: Database) -> str | None:
    """Bring the tables up to date, and return the revision that they had; all or nothing."""
    with database.writing() as tx:
        before = revision(tx)
        _known(before)
        config = _config()
        config.attributes["connection"] = tx
        command.upgrade(config, "head")
    return before


def check(database: Database, *, later: bool = False) -> None:
    """Refuse a database whose tables are not those that this version needs."""
    with database.reading() as tx:
        found = revision(tx)
        if later and found is not None and not _is_known(found):
            return
        _known(found)
        if found != latest():
            what = "is blank" if found is None else f"is at revision {found}, and {latest()} is needed"
            raise Conflict(f"The database {what}. Run: dissensus db upgrade")


def differences(database: Database) -> list[str]:
    """Return how the tables differ from those of this version, none where they are as the migrations make them."""
    with database.reading() as tx:
        context = MigrationContext.configure(tx, opts={"compare_type": True})
        return [str(one) for one in compare_metadata(context, Base.metadata)]


def _is_known(found: str) -> bool:
    return found in {one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()}


def _known(found: str | None) -> None:
    if found is not None and not _is_known(found):
        raise Conflict(f"The database is at revision {found}, which a later version made. Upgrade Dissensus to use it.")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", PLACE)
    return config
