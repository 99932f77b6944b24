"""File of the secret key of a release, with the releases that it was used for."""

import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.raw.lock import hold_lock
from dissensus.pipeline.release.pseudonyms import KEY_BYTES
from dissensus.pipeline.release.source import KeyUse, check_content

HEADER: Final = (
    "# Secret key of the ids of raters in a release. Whoever has it and an id of the source finds the rater.\n"
    "# Keep it apart from the release, and as long as the same ids may be needed again. Lines below are written by\n"
    "# `dissensus release`: one for each release that was written with the key.\n"
)
_KEY: Final = re.compile(r"key ([0-9a-f]{64})")
_USE: Final = re.compile(r"used ([a-z0-9-]+) ([0-9.]+) ([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A key, and its uses."""

    key: bytes
    uses: tuple[KeyUse, ...]


def open_key_file(path: Path) -> KeyFile:
    """Read a key file; write one with a new key if there is none, unless another process does so first."""
    if not path.exists():
        _write(path, secrets.token_bytes(KEY_BYTES), (), replace=False)
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The key {path} cannot be read: {error}. Name another file in the plan: key") from None
    keys, uses = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, use = _KEY.fullmatch(line), _USE.fullmatch(line)
        if key:
            keys.append(bytes.fromhex(key[1]))
        elif use:
            uses.append(KeyUse(name=use[1], version=use[2], manifest=use[3]))
        else:
            raise InvalidInput(
                f"The key {path} has an unknown line {number}. A key file has one line `key` with 64 hexadecimal "
                "digits, and one line `used` for each release. Restore it, or name a new file in the plan: key"
            )
    if len(keys) != 1:
        raise InvalidInput(f"The key {path} has {len(keys)} keys, and needs one. Name another file in the plan: key")
    return KeyFile(keys[0], tuple(uses))


def record_key_use(path: Path, use: KeyUse) -> bool:
    """Add a release to those that a key was used for, once, and return whether it was added."""
    with _lock(path):
        file = open_key_file(path)
        check_content(use, file.uses)
        if use in file.uses:
            return False
        _write(path, file.key, (*file.uses, use))
        return True


def remove_key_use(path: Path, use: KeyUse) -> None:
    """Remove a release that was not written after all."""
    with _lock(path):
        file = open_key_file(path)
        if use in file.uses:
            _write(path, file.key, tuple(one for one in file.uses if one != use))


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the lock of a key file, which is beside it since each change replaces the file."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        lock.touch(0o600)
    except OSError as error:
        raise _cannot_be_written(path, error) from None
    with hold_lock(lock):
        yield


def _write(path: Path, key: bytes, uses: Sequence[KeyUse], *, replace: bool = True) -> None:
    """Write a key file whole; without `replace` one that exists stays."""
    lines = [f"key {key.hex()}", *(f"used {use.name} {use.version} {use.manifest}" for use in uses)]
    try:
        # Readable by its owner alone from the first byte on.
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(HEADER + "\n".join(lines) + "\n")
            if replace:
                Path(draft).replace(path)
            else:
                with suppress(FileExistsError):
                    os.link(draft, path)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_be_written(path, error) from None


def _cannot_be_written(path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"The key {path} cannot be written: {error.strerror}. Name another file in the plan: key")
