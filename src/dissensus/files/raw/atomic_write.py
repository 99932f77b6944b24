"""Atomic file writes."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from dissensus.errors import InvalidInput, Unavailable


def write_atomically(data: bytes, path: Path) -> None:
    """Write a temporary file and rename it, so that readers see the old content or the new one."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe has no place that could be taken
            return
        _replace(data, target)
    except (OSError, ValueError) as error:
        raise _unavailable(path, getattr(error, "strerror", None) or error) from None


def check_folder(path: Path) -> None:
    """Raise if the folder of a file does not exist, before long work begins."""
    if not path.parent.is_dir():
        raise _unavailable(path, os.strerror(errno.ENOENT))


def _unavailable(path: Path, reason: object) -> Unavailable:
    return Unavailable(f"{path} cannot be written: {reason}. Name a file in a folder that is there.")


def _replace(data: bytes, target: Path) -> None:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def check_distinct(read: list[Path], written: list[Path]) -> None:
    """Raise if an output file is also an input, or named twice."""
    for place, path in enumerate(written):
        if any(_same(path, other) for other in read):
            raise InvalidInput(f"{path} is read here, and writing to it would destroy it. Name another file.")
        if any(_same(path, other) for other in written[:place]):
            raise InvalidInput(f"{path} is named for two things that are written. Name two files.")


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        if one.exists() and other.exists():
            return one.is_file() and one.samefile(other)
        return one.resolve() == other.resolve()
    return False
