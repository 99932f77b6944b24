"""Real databases for tests: SQLite files, and a PostgreSQL server that is started where none is given."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import URL, create_engine, make_url, text

from dissensus.store import schema
from dissensus.store.database import connect

GIVEN = "DISSENSUS_TEST_DATABASE_URL"
SERVERS = Path("/usr/lib/postgresql")


@contextmanager
def postgresql() -> Iterator[URL]:
    """Yield the address of a server on which databases can be made: a given one, else one that is started here."""
    if given := os.environ.get(GIVEN):
        yield make_url(given).set(drivername="postgresql+psycopg")
        return
    programs = max(SERVERS.glob("*/bin"), key=lambda path: int(path.parent.name), default=None)
    if programs is None:
        programs = Path(found).parent if (found := shutil.which("initdb")) else None
    if programs is None:
        reason = f"POSTGRESQL NOT TESTED: no initdb is installed, and {GIVEN} names no server (apt install postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="dissensus-pg-") as folder:
        yield from _started(programs, Path(folder))


def _started(programs: Path, folder: Path) -> Iterator[URL]:
    def run(*words: str) -> None:
        subprocess.run([*_as_server_user(), *words], check=True, capture_output=True, cwd=folder)

    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    run(
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "dissensus",
        "--auth=trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C",
    )
    # Not on a port, so that servers of several workers never meet.
    options = f"-F -k {folder} -c listen_addresses='' -c max_connections=60"
    run(str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield URL.create("postgresql+psycopg", username="dissensus", database="postgres", query={"host": str(folder)})
    finally:
        run(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")


def _as_server_user() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    pwd.getpwnam("postgres")
    return ["runuser", "-u", "postgres", "--"]


class Databases:
    """Makes a database of its own for every test, with the tables that the migrations make."""

    def __init__(self, server: URL) -> None:
        self.server = server
        self._n = 0
        self._admin = create_engine(server, isolation_level="AUTOCOMMIT")
        self.template = self.blank()
        database = connect(self.template)
        schema.upgrade(database)
        database.dispose()

    def blank(self, *, like: str | None = None) -> str:
        """Make a database, empty or a copy of another one, and return its address."""
        self._n += 1
        name = f"dissensus_test_{os.getpid()}_{self._n}"
        source = "" if like is None else f' TEMPLATE "{make_url(like).database}"'
        with self._admin.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}"{source}'))
        return self.server.set(database=name).render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected."""
        with self._admin.connect() as connection:
            connection.execute(text(f'DROP DATABASE IF EXISTS "{make_url(url).database}" WITH (FORCE)'))

    def close(self) -> None:
        """Remove the template, and let go of the server."""
        self.drop(self.template)
        self._admin.dispose()
