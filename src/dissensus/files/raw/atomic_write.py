"""Atomic file writes."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from dissensus.errors import DissensusError, InvalidInput, Unavailable


def write_atomically(data: bytes | Iterable[bytes], path: Path) -> None:
    """Write a temporary file and rename it, so that readers see the old content or the new one."""
    chunks = [data] if isinstance(data, bytes) else data
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            _write(chunks, target)  # a device or a pipe cannot be replaced
            return
        _replace(chunks, target)
    except DissensusError:
        raise  # Of the chunks
    except (OSError, ValueError) as error:
        raise _unavailable(path, getattr(error, "strerror", None) or error) from None


def check_folder(path: Path) -> None:
    """Raise if the folder of a file does not exist, before long work begins."""
    if not path.parent.is_dir():
        raise _unavailable(path, os.strerror(errno.ENOENT))


def _unavailable(path: Path, reason: object) -> Unavailable:
    return Unavailable(f"{path} cannot be written: {reason}. Name a file in an existing folder.")


def _write(chunks: Iterable[bytes], path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(chunks)


def _replace(chunks: Iterable[bytes], target: Path) -> None:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _write(chunks, part)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def check_distinct(inputs: list[Path], outputs: list[Path]) -> None:
    """Raise if an output file is also an input, or named twice."""
    for index, path in enumerate(outputs):
        if any(_same(path, other) for other in inputs):
            raise InvalidInput(f"{path} is read here, and writing to it would destroy it. Name another file.")
        if any(_same(path, other) for other in outputs[:index]):
            raise InvalidInput(f"{path} is named for two outputs. Name two files.")


def _same(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        if path.exists() and other.exists():
            return path.is_file() and path.samefile(other)
        return path.resolve() == other.resolve()
    return False
