"""One database, SQLite or PostgreSQL, and its two kinds of transactions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from dissensus.errors import InvalidInput, NoDatabase

WAIT_S = 10
"""Timeout of a transaction that waits for another one."""
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
                yield connection.execution_options(**_options(self.engine, writes=writes))
        except DataError as error:
            raise InvalidInput(f"A value cannot be stored: {_first_line(error)}") from error
        except PoolTimeout as error:
            raise NoDatabase("All connections to the database were busy for too long. Nothing was saved.") from error
        except OperationalError as error:
            raise NoDatabase(f"The database does not answer: {_first_line(error)} Nothing was saved.") from error

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
        return Database(_sqlite(parsed, pool_size), Lock())
    return Database(_postgresql(parsed, pool_size))


def parse_url(url: str) -> URL:
    """Return the address of a database with the driver that is used."""
    allowed = "give sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InvalidInput(f"The address of the database cannot be read; {allowed}.") from None
    kind = parsed.get_backend_name()
    if kind in ("postgres", "postgresql"):
        return parsed.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InvalidInput(f"{kind} is not a database that Dissensus supports; {allowed}.")
    if parsed.database in (None, "", ":memory:"):
        raise InvalidInput("The database must be a file, so that all workers see the same; give sqlite:///FILE.")
    return parsed.set(drivername="sqlite+pysqlite")


def _options(engine: Engine, *, writes: bool) -> dict[str, Any]:
    if engine.dialect.name == "sqlite":
        return {"dissensus_writes": writes}
    return {} if writes else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _sqlite(url: URL, pool_size: int) -> Engine:
    # The driver opens no transaction by itself: `_begin` does.
    arguments = {"timeout": WAIT_S, "isolation_level": None, "check_same_thread": False}
    engine = create_engine(url, connect_args=arguments, pool_size=pool_size, max_overflow=0, hide_parameters=True)
    event.listen(engine, "do_connect", _make_private)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
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


def _prepare(connection: Any, _record: PoolProxiedConnection) -> None:
    cursor = connection.cursor()
    # FULL: acknowledged transactions survive a loss of power.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dissensus_writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(url: URL, pool_size: int) -> Engine:
    arguments = {
        "connect_timeout": WAIT_S,
        "application_name": "dissensus",
        "options": f"-c lock_timeout={WAIT_S}s -c statement_timeout={3 * WAIT_S}s -c timezone=UTC",
    }
    return create_engine(
        url, connect_args=arguments, pool_size=pool_size, max_overflow=0, pool_pre_ping=True, hide_parameters=True
    )


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0].rstrip(".") + "."
