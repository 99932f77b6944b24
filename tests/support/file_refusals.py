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
    said = str(error.value)
    assert str(path) in said
    assert said.isprintable()
    assert len(said) < len(str(path)) + 400


@contextmanager
def somebody_else() -> Iterator[None]:
    """Root may read everything, so be nobody meanwhile."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
