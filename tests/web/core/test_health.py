"""Readiness: the check that fails is named."""

import atexit
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.support.live_site import serving

from dissensus.store.core.database import Database

MIB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("A FULL DISK WAS NOT TESTED: file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_not_ready(small_disk: Path, sqlite_template: Path) -> None:
    shutil.copy(sqlite_template, small_disk / "site.db")
    with serving(f"sqlite:///{small_disk / 'site.db'}") as live:
        assert live.visitor().get("/readyz").text == "ok\n"
        (small_disk / "other").write_bytes(b"x" * 12 * MIB)
        response = live.visitor().get("/readyz")
        assert response.status_code == 503
        assert response.text.startswith("disk: The disk of the database has ")
        (small_disk / "other").unlink()
        assert live.visitor().get("/readyz").status_code == 200


def test_readiness_checks_keep_nothing(database_url: str) -> None:
    with serving(database_url) as live:
        visitor = live.visitor()
        assert visitor.get("/readyz").status_code == 200
        before = atexit._ncallbacks()
        for _ in range(3):
            assert visitor.get("/readyz").status_code == 200
        assert atexit._ncallbacks() == before


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_database_that_takes_no_writes_is_not_ready(database: Database, database_url: str) -> None:
    with database.writing() as tx:
        tx.execute(
            text(
                "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END$$"
            )
        )
        tx.execute(text("CREATE TRIGGER fill BEFORE INSERT ON lease FOR EACH ROW EXECUTE FUNCTION fill()"))
    with serving(database_url) as live:
        response = live.visitor().get("/readyz")
    assert (response.status_code, response.text) == (503, "writes: The database does not answer. The log says why.\n")


def test_a_blank_database_is_not_ready(blank_url: str) -> None:
    with serving(blank_url) as live:
        response = live.visitor().get("/readyz")
    assert response.status_code == 409
    assert response.text.startswith("tables: The database is blank. Run: dissensus db upgrade")
