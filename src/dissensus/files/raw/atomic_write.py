"""Atomic file writes, and checks of their targets."""

import errno
import glob
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from dissensus.errors import DissensusError, InvalidInput, Unavailable

PRIVATE: Final = 0o600
"""Permissions of internal data."""

SHARED: Final = 0o666
"""Permissions of other files, less those that the umask takes."""

_PAGES: Final = (".html", ".htm", ".svg", ".png", ".pdf")
"""Suffixes of files that are written into a folder of data, and not read from there."""


def write_atomically(data: bytes | Iterable[bytes], path: Path) -> None:
    """Write a file whole or not at all; devices and pipes, which cannot be replaced, are written to."""
    chunks = [data] if isinstance(data, bytes) else data
    if _is_replaceable(path):
        with replace_atomically(path, mode=SHARED) as part:
            _write(chunks, part)
        return
    try:
        _write(chunks, path)
    except DissensusError:
        raise  # Raised by the chunks; some are OSError too
    except OSError as error:
        raise _unavailable(path, error.strerror or error) from None


def _is_replaceable(path: Path) -> bool:
    """Return whether a path is that of a file, or free."""
    try:
        return not path.exists() or path.is_file()
    except OSError as error:  # such as a name that is too long
        raise _unavailable(path, error.strerror or error) from None


@contextmanager
def replace_atomically(path: Path, *, mode: int = PRIVATE) -> Iterator[Path]:
    """Yield a temporary path, by default for its owner alone; sync it and rename it to the target on success.

    A target that others may read, with another `mode`, keeps the permissions that it has.
    """
    if "\0" in str(path):
        raise _unavailable(path, "embedded null byte")
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        if target.exists() and not target.is_file():
            raise InvalidInput(f"{path} is a folder or a device, which a file cannot replace. Name a file.")
        part.touch(mode, exist_ok=False)
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        if mode != PRIVATE and target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except DissensusError:
        raise  # Raised by the caller; some are OSError too
    except OSError as error:
        raise _unavailable(path, error.strerror or error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Raise if the folder of a file does not exist, before long work begins."""
    if not path.parent.is_dir():
        raise _unavailable(path, os.strerror(errno.ENOENT))


def make_folder(folder: Path, *, mode: int = 0o777) -> list[str]:
    """Make a folder unless there is one, and return the sorted names of its files."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
        return sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder: {error.strerror}. Name another one.") from None


def _unavailable(path: Path, reason: object) -> Unavailable:
    return Unavailable(f"{path} cannot be written: {reason}. Name a file in an existing folder.")


def _write(chunks: Iterable[bytes], path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(chunks)


def check_distinct(inputs: list[Path], outputs: list[Path]) -> None:
    """Raise if an output would replace an input, a file of a folder or glob that is one, or another output."""
    for index, path in enumerate(outputs):
        if any(_same(path, other) for source in inputs for other in _expand(source)):
            raise InvalidInput(f"{path} is read here, and writing to it would destroy it. Name another file.")
        folder = next((source for source in inputs if _holds(source, path)), None)
        if folder is not None:
            raise InvalidInput(
                f"{path} is a file of {folder}, which is read here, and writing to it would destroy it. Name another "
                "file."
            )
        if any(_same(path, other) for other in outputs[:index]):
            raise InvalidInput(f"{path} is named for two outputs. Name two files.")


def _same(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        if path.exists() and other.exists():
            return path.is_file() and path.samefile(other)
        return path.resolve() == other.resolve()
    return False


def _expand(source: Path) -> list[Path]:
    """Return a path, or the paths that a glob matches."""
    if not glob.has_magic(str(source)) or os.path.lexists(source):
        return [source]
    return [Path(name) for name in glob.glob(str(source), recursive=True)]  # noqa: PTH207 - of a whole path


def _holds(folder: Path, path: Path) -> bool:
    """Return whether a folder holds a file of a kind that is read."""
    with suppress(OSError, ValueError):
        is_data = path.is_file() and path.suffix.lower() not in _PAGES
        return is_data and folder.is_dir() and path.resolve().is_relative_to(folder.resolve())
    return False
