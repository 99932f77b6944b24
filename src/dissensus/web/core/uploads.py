"""Uploaded files, passed to readers of files on disk."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from dissensus.errors import DissensusError, InvalidInput

UNSAFE_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9._-]")
Read = TypeVar("Read")


def read_uploaded(name: str, content: bytes, read: Callable[[Path], Read]) -> Read:
    """Read an uploaded file; error messages do not show its temporary path."""
    # The kind of a file is told by how its name ends; nothing else of the name is used.
    plain = UNSAFE_CHARACTERS.sub("_", Path(name).name)[-100:].lstrip(".-") or "file"
    with tempfile.TemporaryDirectory(prefix="dissensus-uploaded-") as folder:
        path = Path(folder) / plain
        path.write_bytes(content)
        try:
            return read(path)
        except DissensusError as error:
            raise InvalidInput(str(error).replace(f"{folder}/", "")) from None
