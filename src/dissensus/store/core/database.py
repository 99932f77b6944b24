"""One database, SQLite or PostgreSQL, and its two kinds of transactions."""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from dissensus.errors import InvalidInput, NoDatabase, Unavailable

WAIT_S = 10
"""Timeout of a transaction that waits for another one."""
WAL_BUG_FIXES = {(3, 44): 6, (3, 50): 7}
"""Patch versions of earlier releases of SQLite with the fix of 3.51.3."""
MIN_FREE_BYTES = 8 << 20
"""Free space that SQLite needs for its write-ahead log and for saves."""
STATISTICS_ROWS = 1000
"""Rows of each index that SQLite samples for its plans."""
LIFETIME_S = 3600
"""Time after which a connection is opened anew: those of SQLite read its statistics when they open."""
LOG_WAIT_MS = 100
"""Timeout for readers of the write-ahead log, while writers wait."""
DISPOSE_TIMEOUT_S, DISPOSE_POLL_S = 2.0, 0.01

_CREATION_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class Database:
    """An engine with read and write transactions."""

    engine: Engine
    # Queues the writing threads of this process. SQLite itself polls its lock, which starves some writers for seconds.
    write_lock: "Lock | None" = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a read-only transaction, on one snapshot of the database."""
        with self._connection(writes=False) as connection, connection.begin() as transaction:
            yield connection
            transaction.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a write transaction; SQLite has one at a time."""
        with self._hold_write_lock(), self._connection(writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def _hold_write_lock(self) -> Iterator[None]:
        if self.write_lock is None:
            yield
            return
        if not self.write_lock.acquire(timeout=WAIT_S):
            raise NoDatabase(f"The database was busy for {WAIT_S} seconds. Nothing was saved.")
        try:
            yield
        finally:
            self.write_lock.release()

    @contextmanager
    def _connection(self, *, writes: bool) -> Iterator[Connection]:
        try:
            with self.engine.connect() as connection:
                yield connection.execution_options(**_select_options(self.engine, writes=writes))
        except DataError as error:
            raise InvalidInput(f"A value cannot be stored: {_first_line(error)}") from error
        except PoolTimeout as error:
            raise NoDatabase("All connections to the database were busy for too long. Nothing was saved.") from error
        except (OperationalError, InternalError) as error:
            raise NoDatabase(f"The database does not answer: {_first_line(error)} Nothing was saved.") from error

    def empty_log(self) -> bool:
        """Empty the write-ahead log of SQLite, which holds erased rows; False if readers prevent it for now.

        Erased rows in the file itself are overwritten at once. PostgreSQL removes both in its own time.
        """
        if self.engine.dialect.name != "sqlite":
            return True
        busy = True
        # Within the lock, so that no other thread of this process writes or empties the log meanwhile.
        with (
            suppress(NoDatabase, PoolTimeout, sqlite3.OperationalError),
            self._hold_write_lock(),
            closing(self.engine.raw_connection()) as connection,
        ):
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {LOG_WAIT_MS}")
            try:
                busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {1000 * WAIT_S}")
        return not busy

    def update_statistics(self, *, tables: Sequence[str] = ()) -> None:
        """Let the database sample its tables, so that its query plans fit their sizes.

        With `tables`, into which many rows were loaded, only those. Without, SQLite samples all, and PostgreSQL none:
        its autovacuum does so, but only a minute after many rows were loaded, and not at all where it is off. A
        database that is busy keeps the statistics that it has.
        """
        statements = [f"ANALYZE {table}" for table in tables]
        if self.engine.dialect.name != "sqlite":
            # Without a transaction, each table is locked only while it is sampled.
            with suppress(NoDatabase), self._connection(writes=True) as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                for statement in statements:
                    connection.exec_driver_sql(statement)
            return
        with (
            suppress(NoDatabase, PoolTimeout, sqlite3.OperationalError),
            self._hold_write_lock(),
            closing(self.engine.raw_connection()) as connection,
        ):
            connection.cursor().execute(f"PRAGMA analysis_limit = {STATISTICS_ROWS}")
            for statement in statements or ["ANALYZE"]:
                connection.cursor().execute(statement)

    def check_space(self) -> None:
        """Raise `Unavailable` if the disk of SQLite is almost full; PostgreSQL may have one elsewhere."""
        if self.engine.dialect.name != "sqlite":
            return
        free = shutil.disk_usage(Path(str(self.engine.url.database)).parent).free
        if free < MIN_FREE_BYTES:
            raise Unavailable(
                f"The disk of the database has {free / 2**20:,.1f} MiB left, and {MIN_FREE_BYTES >> 20} MiB are "
                "required. Make room."
            )

    def list_durability_risks(self) -> list[str]:
        """Return what could lose acknowledged data in a crash, each with the remedy."""
        if self.engine.dialect.name == "sqlite":
            return _list_sqlite_risks(sqlite3.sqlite_version_info)
        with self.reading() as tx:
            values = {name: tx.scalar(text(f"SHOW {name}")) for name in ("fsync", "full_page_writes")}
        return [
            f"The setting {name} of PostgreSQL is off: a crash of the machine can damage the database. Set it to on."
            for name, value in values.items()
            if value == "off"
        ]

    def dispose(self) -> None:
        """Close all connections, after a short wait for those in use."""
        end = monotonic() + DISPOSE_TIMEOUT_S
        # A connection that is returned after disposal would stay open.
        while isinstance(self.engine.pool, QueuePool) and self.engine.pool.checkedout() and monotonic() < end:
            sleep(DISPOSE_POLL_S)
        self.engine.dispose()


def connect(url: str, *, pool_size: int = 10) -> Database:
    """Open a database by its address, such as ``sqlite:///campaigns.db`` or ``postgresql://user@host/name``."""
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        return Database(_make_sqlite_engine(parsed, pool_size), Lock())
    return Database(_make_postgresql_engine(parsed, pool_size))


def parse_url(url: str) -> URL:
    """Return the address of a database with the driver that is used."""
    allowed = "give sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter for a port that is not a number
        raise InvalidInput(f"The address of the database cannot be read; {allowed}.") from None
    kind = parsed.get_backend_name()
    if kind in ("postgres", "postgresql"):
        return parsed.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InvalidInput(f"{kind} is not a database that Dissensus supports; {allowed}.")
    if parsed.database in (None, "", ":memory:"):
        raise InvalidInput("The database must be a file, so that all workers see the same; give sqlite:///FILE.")
    return parsed.set(drivername="sqlite+pysqlite")


def _select_options(engine: Engine, *, writes: bool) -> dict[str, Any]:
    if engine.dialect.name == "sqlite":
        return {"dissensus_writes": writes}
    return {} if writes else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _make_sqlite_engine(url: URL, pool_size: int) -> Engine:
    # The driver opens no transaction by itself: `_begin_transaction` does.
    arguments = {"timeout": WAIT_S, "isolation_level": None, "check_same_thread": False}
    pool = {"pool_size": pool_size, "max_overflow": 0, "pool_recycle": LIFETIME_S}
    engine = create_engine(url, connect_args=arguments, hide_parameters=True, **pool)
    event.listen(engine, "do_connect", _make_private)
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin_transaction)
    return engine


def _make_private(_dialect: Any, _record: Any, arguments: list[Any], _options: dict[str, Any]) -> None:
    """Create a missing file with access for its owner only; SQLite copies the mode to its other files.

    An existing file must not be opened here: closing it would release all locks of this process on it, and another
    process could then delete the write-ahead log.
    """
    path = str(arguments[0])
    if path.startswith("file:"):
        return
    # SQLite reports the error if the file cannot be created.
    with _CREATION_LOCK, suppress(OSError):
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _set_pragmas(connection: Any, _record: PoolProxiedConnection) -> None:
    cursor = connection.cursor()
    # FULL: acknowledged transactions survive a loss of power. secure_delete: erased rows are overwritten.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _list_sqlite_risks(version: tuple[int, int, int]) -> list[str]:
    """Return the risks of a version of SQLite."""
    major, minor, patch = version
    if version >= (3, 51, 3) or patch >= WAL_BUG_FIXES.get((major, minor), patch + 1):
        return []
    return [
        f"SQLite {major}.{minor}.{patch} has a rare bug, mended in 3.51.3, 3.50.7 and 3.44.6: two processes that write "
        "at the same time can damage the database (https://sqlite.org/wal.html#walresetbug). Install a newer one, "
        "use one worker, or use PostgreSQL. Back up regularly."
    ]


def _begin_transaction(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dissensus_writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _make_postgresql_engine(url: URL, pool_size: int) -> Engine:
    # Without compilation, which takes longer than the short statements of pages.
    arguments = {
        "connect_timeout": WAIT_S,
        "application_name": "dissensus",
        "options": f"-c lock_timeout={WAIT_S}s -c statement_timeout={3 * WAIT_S}s -c timezone=UTC -c jit=off",
    }
    engine = create_engine(
        url, connect_args=arguments, pool_size=pool_size, max_overflow=0, pool_pre_ping=True, hide_parameters=True
    )
    event.listen(engine, "connect", _require_durable_commits)
    return engine


def _require_durable_commits(connection: Any, _record: PoolProxiedConnection) -> None:
    """Turn on `synchronous_commit` where the server has turned it off; stronger settings stay."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
    connection.commit()


def _first_line(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines() or ["It gave no reason"]
    return lines[0].rstrip(".") + "."
