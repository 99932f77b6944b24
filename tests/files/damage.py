"""Damaged files of model folders."""

from pathlib import Path

import pytest

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.models.folder import load_model

DAMAGES = ("cut", "changed", "gone", "emptied")


def check_refused(path: Path, damage: str) -> None:
    """Damage a file, and check that its folder is no longer loaded."""
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(
            {"cut": data[: len(data) // 2], "changed": data[:40] + b"0!" + data[42:], "emptied": b""}[damage]
        )
    with pytest.raises(NotFound if damage == "gone" else InvalidInput, match=r"Copy it again, or train it again\."):
        load_model(path.parent)
