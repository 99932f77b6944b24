"""The migrated schema equals the metadata, on both databases."""

import os
from collections.abc import Iterator

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, make_url, text
from tests.databases import Databases

from dissensus.errors import Conflict
from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect
from dissensus.store.core.metadata import METADATA
from dissensus.store.items import SEARCH_INDEX


@pytest.fixture
def blank(blank_url: str) -> Iterator[Database]:
    database = connect(blank_url)
    yield database
    database.dispose()


def reflect_schema(database: Database) -> MetaData:
    metadata = MetaData()
    with database.reading() as tx:
        metadata.reflect(tx)
    return metadata


def test_there_is_one_revision() -> None:
    config = Config()
    config.set_main_option("script_location", schema.MIGRATIONS)
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert revisions == [schema.find_latest_revision()] == ["0001"]


def test_an_upgrade_from_nothing_gives_the_metadata(blank: Database) -> None:
    with pytest.raises(Conflict, match=r"The database is blank\. Run: dissensus db upgrade"):
        schema.check_revision(blank)
    assert schema.upgrade(blank) is None
    assert schema.find_differences(blank) == []
    schema.check_revision(blank)
    assert schema.upgrade(blank) == schema.find_latest_revision()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("ALTER TABLE payment ADD COLUMN colour VARCHAR", "colour"),
        ("CREATE TABLE extra (id INTEGER)", "extra"),
        ("DROP INDEX ix_flag_decision_rater_id", "ix_flag_decision_rater_id"),
    ],
    ids=["column", "table", "index"],
)
def test_differences_from_the_metadata_are_named(database: Database, change: str, name: str) -> None:
    with database.writing() as tx:
        tx.execute(text(change))
    (difference,) = schema.find_differences(database)
    assert name in difference


def test_constraints_and_indexes_are_those_of_the_metadata(database: Database) -> None:
    reflected = reflect_schema(database)
    reflected.remove(reflected.tables["alembic_version"])
    assert set(reflected.tables) == set(METADATA.tables)
    for name, table in METADATA.tables.items():
        other = reflected.tables[name]
        indexes = {index.name for index in other.indexes} - {SEARCH_INDEX}
        assert {index.name for index in table.indexes} == indexes
        assert [column.name for column in table.primary_key] == [column.name for column in other.primary_key]
        assert {key.target_fullname: key.ondelete for key in table.foreign_keys} == {
            key.target_fullname: key.ondelete for key in other.foreign_keys
        }


def test_checks_are_those_of_the_metadata(database: Database) -> None:
    names = {str(one.name) for table in METADATA.tables.values() for one in table.constraints}
    names = {name for name in names if name.startswith("ck_")}
    with database.reading() as tx:
        if tx.dialect.name == "sqlite":
            # The SQL is searched because names of nested conditions are not reflected.
            statements = " ".join(tx.scalars(text("SELECT sql FROM sqlite_master WHERE type = 'table'")))
            assert {name for name in names if name not in statements} == set()
        else:
            assert names <= {*tx.scalars(text("SELECT conname FROM pg_constraint WHERE contype = 'c'"))}


def test_an_upgrade_that_fails_changes_nothing(blank: Database) -> None:
    with blank.writing() as tx:
        tx.exec_driver_sql("CREATE TABLE item (id INTEGER)")
    with pytest.raises(Exception, match="already exists"):
        schema.upgrade(blank)
    with blank.reading() as tx:
        assert schema.find_revision(tx) is None
    assert set(reflect_schema(blank).tables) == {"item"}


@pytest.mark.slow
def test_searches_need_no_extension(server: Databases) -> None:
    """A user who may create tables alone gets all of them, without the index of trigrams."""
    url = server.blank()
    database = connect(url)
    name = make_url(url).database
    # Roles belong to the server, which several test processes may share.
    role = f"tables_alone_{os.getpid()}"
    try:
        with database.writing() as tx:
            tx.execute(text(f"CREATE ROLE {role}"))
            tx.execute(text(f"GRANT ALL ON SCHEMA public TO {role}"))
            tx.execute(text(f'ALTER DATABASE "{name}" SET role = {role}'))
        database.dispose()
        schema.upgrade(database)
        assert schema.find_differences(database) == []
        assert SEARCH_INDEX not in {index.name for index in reflect_schema(database).tables["item"].indexes}
    finally:
        database.dispose()
        server.drop(url)
        others = connect(server.template)
        with others.writing() as tx:
            tx.execute(text(f"DROP ROLE IF EXISTS {role}"))
        others.dispose()
