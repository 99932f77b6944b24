"""Locks of files and folders."""

from pathlib import Path

import pytest

from dissensus.errors import Conflict, Unavailable
from dissensus.files.raw.lock import hold_lock

BUSY = Conflict("Another process works here.")


@pytest.mark.parametrize("name", ["", "file"])
def test_a_lock_is_held_until_the_block_ends(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with hold_lock(tmp_path / name), pytest.raises(Conflict, match="Another process"), hold_lock(tmp_path / name, BUSY):
        pass
    with hold_lock(tmp_path / name, BUSY):
        pass


def test_a_file_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="missing cannot be locked: No such file"), hold_lock(tmp_path / "missing"):
        pass
