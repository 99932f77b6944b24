"""Checks that files are refused with a clear message."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dissensus.errors import InvalidInput
from dissensus.files.raw.table_reader import read_frame


def assert_refused(path: Path, data: bytes | str, message: str) -> None:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InvalidInput, match=message) as error:
        read_frame(path)
    text = str(error.value)
    assert str(path) in text
    assert text.isprintable()
    assert len(text) < len(str(path)) + 400


@contextmanager
def as_unprivileged_user() -> Iterator[None]:
    """Run as an unprivileged user if root, who may read everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
