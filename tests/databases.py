"""Real databases for tests: SQLite files, and a given or started PostgreSQL server."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from tests.support.prerequisites import report_missing

from dissensus.store.core import schema
from dissensus.store.core.database import connect

#: For tests whose statements other tests send to both databases.
sqlite_only = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
URL_VARIABLE = "DISSENSUS_TEST_DATABASE_URL"
SERVERS = Path("/usr/lib/postgresql")


class Statements(dict[Any, Any]):
    """Compiled statements, keyed by the type of the dialect in place of the dialect of one engine."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((type(key[0]), *key[1:]), compiled)


COMPILED = Statements()


@event.listens_for(Engine, "engine_connect")
def share_statements(connection: Connection) -> None:
    """Share compiled statements between all databases of a kind.

    Every test has a separate engine; compiling its statements takes longer than running them.
    """
    connection.execution_options(compiled_cache=COMPILED)


@contextmanager
def postgresql() -> Iterator[URL]:
    """Yield the address of the server named by the environment, else of a started one."""
    if address := os.environ.get(URL_VARIABLE):
        yield make_url(address).set(drivername="postgresql+psycopg")
        return
    with own_server() as server:
        yield server.url


@contextmanager
def own_server(*, fsync: bool = False) -> Iterator["Server"]:
    """Start a server that tests may kill."""
    programs = max(SERVERS.glob("*/bin"), key=lambda path: int(path.parent.name), default=None)
    if programs is None:
        programs = Path(initdb).parent if (initdb := shutil.which("initdb")) else None
    if programs is None:
        report_missing(
            "POSTGRESQL NOT TESTED: no initdb is installed, "
            f"and {URL_VARIABLE} names no server (apt install postgresql)"
        )
    with tempfile.TemporaryDirectory(prefix="dissensus-pg-") as folder:
        server = Server(programs, Path(folder), fsync=fsync)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.run("pg_ctl", "-D", "data", "-m", "immediate", "stop")


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL server in a separate folder, without a port."""

    programs: Path
    folder: Path
    fsync: bool = False

    @property
    def url(self) -> URL:
        """The address of its first database."""
        host = {"host": str(self.folder)}
        return URL.create("postgresql+psycopg", username="dissensus", database="postgres", query=host)

    def make(self) -> None:
        """Create its files."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", "data", "-U", "dissensus", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # Not on a port, so that servers of several workers never meet.
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=60 -c jit=off -c autovacuum=off"
        options += f" -c fsync={'on' if self.fsync else 'off'}"
        self.run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def kill(self) -> None:
        """End all its processes at once, as a crash does."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        processes = [first, *_children(first)]
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(map(_lives, processes)):
            time.sleep(0.01)
        # An unreaped process keeps its number, so that the lock files would name a running server.
        for lock in (self.folder / "data" / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            lock.unlink()

    def run(self, program: str, *words: str) -> None:
        """Run one of its programs in its folder; it refuses to run as root."""
        command = [*_as_server_user(), str(self.programs / program), *words]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)


def _children(process: int) -> list[int]:
    """The child processes of a process."""
    numbers = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [number for number in numbers if _state(number)[1:2] == [str(process)]]


def _lives(process: int) -> bool:
    return _state(process)[:1] not in ([], ["Z"], ["X"])


def _state(process: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; empty for an ended process."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []


def _as_server_user() -> list[str]:
    if os.geteuid() != 0:
        return []
    pwd.getpwnam("postgres")
    return ["runuser", "-u", "postgres", "--"]


# Large tables are truncated, so that no test reads pages of dead rows; for small ones that takes longer.
EMPTY_TABLES = text("""DO $$
DECLARE name regclass;
BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND relname <> 'alembic_version'
    LOOP
        IF pg_relation_size(name) > 1000000 THEN EXECUTE format('TRUNCATE %s CASCADE', name);
        ELSE EXECUTE format('DELETE FROM %s', name); END IF;
    END LOOP;
    FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
    LOOP EXECUTE format('ALTER SEQUENCE %s RESTART', name); END LOOP;
END $$""")
SCHEMA = text("""SELECT
    (SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
    (SELECT count(*) FROM pg_attribute), (SELECT count(*) FROM pg_constraint), (SELECT count(*) FROM pg_trigger),
    (SELECT count(*) FROM pg_proc), (SELECT string_agg(version_num, ' ') FROM alembic_version),
    (SELECT count(*) FROM pg_db_role_setting JOIN pg_database ON setdatabase = pg_database.oid
        WHERE datname = current_database())""")


class Databases:
    """Creates databases, and lends each test one with the tables of the migrations."""

    def __init__(self, server: URL) -> None:
        self.server = server
        self._n = 0
        self._idle: list[Engine] = []
        self._admin = create_engine(server, isolation_level="AUTOCOMMIT")
        self.template = self.blank()
        database = connect(self.template)
        schema.upgrade(database)
        self._schema = _describe_schema(database.engine)
        database.dispose()

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Yield a database without rows: that of an earlier test, unless it changed the tables.

        To create and drop one takes ten times as long as to empty it.
        """
        engine = self._idle.pop() if self._idle else self._copy_template()
        yield engine.url.render_as_string(hide_password=False)
        if _describe_schema(engine) == self._schema:
            with engine.connect() as connection:
                connection.execute(EMPTY_TABLES)
            self._idle.append(engine)
        else:
            engine.dispose()
            self.drop(engine.url.render_as_string(hide_password=False))

    def _copy_template(self) -> Engine:
        return create_engine(self.blank(like=self.template), isolation_level="AUTOCOMMIT", pool_pre_ping=True)

    def blank(self, *, like: str | None = None) -> str:
        """Create a database, empty or a copy of another, and return its address."""
        self._n += 1
        name = f"dissensus_test_{os.getpid()}_{self._n}"
        source = "" if like is None else f' TEMPLATE "{make_url(like).database}"'
        with self._admin.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}"{source}'))
        return self.server.set(database=name).render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        """Remove a database, open connections included."""
        with self._admin.connect() as connection:
            connection.execute(text(f'DROP DATABASE IF EXISTS "{make_url(url).database}" WITH (FORCE)'))

    def close(self) -> None:
        """Remove what was created and disconnect from the server."""
        for engine in self._idle:
            engine.dispose()
        for url in (self.template, *(engine.url.render_as_string(hide_password=False) for engine in self._idle)):
            self.drop(url)
        self._admin.dispose()


def _describe_schema(engine: Engine) -> tuple[Any, ...]:
    with engine.connect() as connection:
        return tuple(connection.execute(SCHEMA).one())
