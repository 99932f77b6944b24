"""Common behaviour of SQLite and PostgreSQL databases."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, select, text
from sqlalchemy.exc import OperationalError
from tests.databases import sqlite_only
from tests.support.plan_statistics import count_planned_rows

from dissensus.errors import Conflict, InvalidInput, NoDatabase, Unavailable
from dissensus.store.core import database as database_module
from dissensus.store.core import leases, schema
from dissensus.store.core.database import Database, connect
from dissensus.store.core.orm import hash_key, new_id, new_key
from dissensus.store.identity.sign_in_links import SignInLinkTable
from dissensus.store.staff import StaffTable

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
ADD_OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("INSERT INTO staff (id, name, created_at) VALUES ('o', 'other', '2026-03-04 05:06:07.000000')")
connection.commit()
connection.close()
"""


def add_staff(database: Database, name: str) -> None:
    with database.writing() as tx:
        tx.execute(insert(StaffTable).values(id=new_id(NOW), name=name, created_at=NOW))


def load_names(database: Database) -> list[str]:
    with database.reading() as tx:
        return list(tx.scalars(select(StaffTable.name).order_by(StaffTable.name)))


def test_a_database_of_a_later_version_is_refused(database: Database) -> None:
    with database.writing() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for action in (schema.check_revision, schema.upgrade):
        with pytest.raises(Conflict, match=r"9999, which a later version made. Upgrade Dissensus"):
            action(database)


def test_a_failed_transaction_is_rolled_back(database: Database) -> None:
    def fail(database: Database) -> None:
        with database.writing() as tx:
            tx.execute(insert(StaffTable).values(id=new_id(NOW), name="half", created_at=NOW))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(database)
    assert load_names(database) == []


def test_a_reading_transaction_sees_one_state(database: Database) -> None:
    add_staff(database, "before")
    with database.reading() as tx:
        first = list(tx.scalars(select(StaffTable.name)))
        add_staff(database, "meanwhile")
        assert list(tx.scalars(select(StaffTable.name))) == first == ["before"]
    assert load_names(database) == ["before", "meanwhile"]


def test_a_reading_transaction_stores_nothing(database: Database) -> None:
    # PostgreSQL refuses the statement, SQLite rolls it back.
    with suppress(NoDatabase), database.reading() as tx:
        tx.execute(insert(StaffTable).values(id=new_id(NOW), name="nobody", created_at=NOW))
    assert load_names(database) == []


@pytest.fixture(params=["UTC", "JST-9"])
def _zone_of_the_machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone_of_the_machine")
def test_times_come_back_in_utc_to_the_microsecond(database: Database) -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=9)))
    with database.writing() as tx:
        tx.execute(insert(StaffTable).values(id=new_id(NOW), name="somebody", created_at=elsewhere))
    with database.reading() as tx:
        (created_at,) = tx.scalars(select(StaffTable.created_at))
    assert created_at == NOW
    assert created_at.tzinfo is UTC
    with pytest.raises(Exception, match="has no time zone"), database.writing() as tx:
        tx.execute(insert(StaffTable).values(id="x", name="naive", created_at=NOW.replace(tzinfo=None)))


def test_concurrent_writes_are_all_stored(database: Database) -> None:
    def write(worker: int) -> None:
        for n in range(20):
            add_staff(database, f"{worker}-{n:02}")

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_names(database)) == 160


def test_dispose_waits_for_open_transactions(database: Database) -> None:
    begun = threading.Event()

    def write() -> None:
        with database.writing() as tx:
            begun.set()
            time.sleep(0.3)
            tx.execute(insert(StaffTable).values(id=new_id(NOW), name="ada", created_at=NOW))

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(30)
    database.dispose()
    assert load_names(database) == ["ada"]
    thread.join()


def test_foreign_keys_hold(database: Database) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"), database.writing() as tx:
        tx.execute(insert(SignInLinkTable).values(key_hash=hash_key("k"), staff_id="nobody", expires_at=NOW))


def test_an_unreachable_database_is_reported(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/no/such/folder.db", f"postgresql://nobody@localhost/x?host={tmp_path}"):
        database = connect(url)
        with (
            pytest.raises(Unavailable, match=r"The database does not answer: .* Nothing was saved"),
            database.reading(),
        ):
            pass


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://root@localhost/x", "mysql is not a database that Dissensus supports"),
        ("nonsense", "cannot be read"),
        ("", "cannot be read"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
    ],
)
def test_invalid_addresses_are_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        connect(url)


def test_ids_sort_by_time_and_keys_are_all_different() -> None:
    ids = [new_id(datetime.fromtimestamp(second, UTC)) for second in range(0, 10**9, 10**7)]
    assert ids == sorted(ids)
    assert all(one[14] == "7" and one[19] in "89ab" for one in ids)
    assert len({new_key() for _ in range(1000)}) == 1000
    assert len(hash_key("a\udc80")) == 64


def test_a_new_sqlite_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = connect(f"sqlite:///{tmp_path / 'new.db'}")
        schema.upgrade(database)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    database.dispose()
    assert modes == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), 0o600)


def test_the_mode_of_an_existing_sqlite_file_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    path.touch()
    path.chmod(0o660)
    database = connect(f"sqlite:///{path}")
    schema.upgrade(database)
    database.dispose()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_another_process_does_not_remove_the_write_ahead_log(tmp_path: Path) -> None:
    """Closing the last connection removes the write-ahead log; the other process must detect ours."""
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    database = connect(url)
    schema.upgrade(database)
    with database.reading(), database.reading():
        """Two connections, the second of which is opened while the first has its locks."""
    subprocess.run([sys.executable, "-c", ADD_OTHER, str(tmp_path / "shared.db")], check=True, timeout=60)
    assert (tmp_path / "shared.db-wal").exists()
    add_staff(database, "ours")
    assert load_names(database) == ["other", "ours"]
    database.dispose()


@sqlite_only
def test_erased_rows_are_in_no_file_of_sqlite(database: Database, tmp_path: Path) -> None:
    names = [f"somebody-{number}" for number in range(500)]
    for name in names:
        add_staff(database, name)

    def content() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.glob("dissensus.db*"))

    assert b"somebody-" in content()
    database.update_statistics()
    with database.reading() as tx:
        sizes = tx.scalars(text("SELECT stat FROM sqlite_stat1 WHERE tbl = 'staff'")).all()
    assert sizes
    assert all(size.startswith("500 ") for size in sizes)
    with database.writing() as tx:
        tx.execute(delete(StaffTable))
    with database.reading() as tx:
        tx.scalar(select(StaffTable.name))
        assert not database.empty_log()
    assert b"somebody-" in content()
    assert database.empty_log()
    assert b"somebody-" not in content()


def test_only_loaded_tables_are_sampled(database: Database) -> None:
    add_staff(database, "ada")
    with database.writing() as tx:
        assert leases.acquire_lease(tx, "jobs", "ada", until=NOW, now=NOW)
    before = count_planned_rows(database, "lease")
    database.update_statistics(tables=["staff"])
    assert (count_planned_rows(database, "staff"), count_planned_rows(database, "lease")) == (1, before)
    database.update_statistics(tables=["staff", "lease"])
    assert count_planned_rows(database, "lease") == 1
    # The connection has transactions again.
    with suppress(ZeroDivisionError), database.writing() as tx:
        tx.execute(delete(StaffTable))
        raise ZeroDivisionError
    assert load_names(database) == ["ada"]


def test_a_busy_sqlite_keeps_its_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "WAIT_S", 0)
    database = connect(f"sqlite:///{tmp_path / 'busy.db'}")
    with closing(sqlite3.connect(tmp_path / "busy.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE one (a)")
        other.execute("BEGIN IMMEDIATE")
        database.update_statistics()
        other.execute("ROLLBACK")
        assert not other.execute("SELECT name FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchall()
    database.dispose()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_commits_of_postgresql_are_durable(database: Database, database_url: str) -> None:
    with database.writing() as tx:
        tx.execute(text(f"ALTER DATABASE {tx.engine.url.database} SET synchronous_commit = off"))
    other = connect(database_url)
    with other.writing() as tx:
        assert tx.scalar(text("SHOW synchronous_commit")) == "on"
        tx.execute(text(f"ALTER DATABASE {tx.engine.url.database} SET synchronous_commit = remote_apply"))
    other.dispose()
    third = connect(database_url)
    with third.reading() as tx:
        assert tx.scalar(text("SHOW synchronous_commit")) == "remote_apply"
    third.dispose()
    # Servers of tests do not wait for the disk.
    (risk,) = database.list_durability_risks()
    assert risk.startswith("The setting fsync of PostgreSQL is off")


@pytest.mark.parametrize(
    ("version", "n"),
    [((3, 40, 1), 1), ((3, 44, 5), 1), ((3, 44, 6), 0), ((3, 50, 7), 0), ((3, 51, 2), 1), ((3, 51, 3), 0)],
)
def test_old_versions_of_sqlite_are_named(version: tuple[int, int, int], n: int) -> None:
    risks = database_module._list_sqlite_risks(version)
    assert len(risks) == n
    assert all("Install a newer one" in risk for risk in risks)


def test_a_port_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"The address of the database cannot be read; give sqlite:///FILE"):
        connect("postgresql://user@host:port/name")


def test_an_error_without_a_reason_says_so(database: Database) -> None:
    message = r"The database does not answer: It gave no reason. Nothing was saved."
    with pytest.raises(NoDatabase, match=message), database.reading():
        raise OperationalError("SELECT 1", {}, Exception())
