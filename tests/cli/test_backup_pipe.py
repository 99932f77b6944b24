"""Backups through pipes, as to a program that encrypts them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import open_campaign
from tests.support.commands import SCRIPT, RunCommand

from dissensus.store.core.database import connect
from dissensus.workflows.platform.platform import Platform

Names = Callable[[str], str]
pytestmark = sqlite_only


@pytest.fixture
def site(database_url: str) -> str:
    platform = Platform(connect(database_url))
    open_campaign(platform, 3)
    platform.close()
    return database_url


def dissensus(url: str, *words: str, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "DISSENSUS_DATABASE_URL": url}
    return subprocess.run([SCRIPT, *words], env=environment, input=data, capture_output=True, check=False)


@pytest.fixture
def names(run: RunCommand) -> Names:
    """The list of campaigns of a site."""
    return lambda url: run("campaign", "list", database_url=url).stdout


@pytest.mark.slow
def test_a_backup_goes_through_a_pipe(site: str, names: Names, tmp_path: Path) -> None:
    backup = dissensus(site, "backup", "-")
    assert backup.returncode == 0, backup.stderr
    assert backup.stderr.startswith(b"Wrote a backup: ")
    target = f"sqlite:///{tmp_path / 'restored.db'}"
    cut = dissensus(target, "restore", "-", data=backup.stdout[:-100])
    assert (cut.returncode, b"not a backup of Dissensus, or it is truncated" in cut.stderr) == (1, True)
    restored = dissensus(target, "restore", "-", data=backup.stdout)
    assert restored.returncode == 0, restored.stderr
    assert names(target) == names(site) != ""


@pytest.mark.slow  # a program that CI installs
def test_a_backup_is_encrypted_with_age(site: str, names: Names, tmp_path: Path) -> None:
    if shutil.which("age") is None:
        reason = "AGE NOT TESTED: it is not installed"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    key = tmp_path / "backup.key"
    subprocess.run(["age-keygen", "-o", key], check=True, capture_output=True)
    recipient = subprocess.run(["age-keygen", "-y", key], check=True, capture_output=True, text=True).stdout.strip()
    target = f"sqlite:///{tmp_path / 'restored.db'}"
    lines = f"""set -euo pipefail
DISSENSUS_DATABASE_URL={site} {SCRIPT} backup - | age -r {recipient} > monday.zip.age
age -d -i backup.key monday.zip.age | DISSENSUS_DATABASE_URL={target} {SCRIPT} restore -
"""
    subprocess.run(["bash", "-c", lines], cwd=tmp_path, check=True, capture_output=True)
    assert not (tmp_path / "monday.zip.age").read_bytes().startswith(b"PK")
    assert names(target) == names(site) != ""
