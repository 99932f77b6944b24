"""What a file is: told from its name, checked against its first bytes."""

import gzip
import stat
import zlib
from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput, NotAllowed, NotFound

EXTENSIONS: Final = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".jsonl": "json",
    ".jsonl.gz": "json",
    ".json": "json",
    ".json.gz": "json",
    ".parquet": "parquet",
}

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_FOREIGN = {
    _PARQUET: "a Parquet file. Rename it so that it ends in .parquet",
    b"PK\x03\x04": "a spreadsheet or a ZIP archive. Save the table as CSV, or unpack it",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8",
}


def kind_of(path: Path) -> str:
    """Return the kind of a file by its name, and make sure that it is there.

    Raises
    ------
    NotFound
        There is no such file.
    InvalidInput
        It is a folder, no possible path, or its extension is not known.
    NotAllowed
        Its folder may not be looked into.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"There is no file {path}.") from None
    except PermissionError:
        raise NotAllowed(f"{path} may not be looked at. Change the permissions of its folder.") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is no path of a file: {getattr(error, 'strerror', None) or error}.") from None
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{path} is a folder. Name a file in it.")
    extension = next((end for end in EXTENSIONS if path.name.lower().endswith(end)), None)
    if extension is None:
        raise InvalidInput(f"{path}: files end in one of {', '.join(EXTENSIONS)}. Rename or convert it.")
    return EXTENSIONS[extension]


def contents(path: Path) -> bytes:
    """Return the bytes of a text file, decompressed if they are compressed, whatever the name says.

    Raises
    ------
    InvalidInput
        The file is empty, cut short, or something else than text.
    NotAllowed
        The file may not be read.
    """
    data = _read(path)
    if data.startswith(_GZIP):
        data = _decompressed(data, path)
    if not data.strip():
        raise InvalidInput(f"{path} is empty.")
    foreign = next((what for magic, what in _FOREIGN.items() if data.startswith(magic)), None)
    if foreign is not None:
        raise InvalidInput(f"{path} holds {foreign}.")
    return data


def check_parquet(path: Path) -> None:
    """Make sure that a file begins as Parquet files do."""
    start = _read(path, 4)
    if not start:
        raise InvalidInput(f"{path} is empty.")
    if start != _PARQUET:
        raise InvalidInput(f"{path} is not a Parquet file: it does not begin with PAR1. Is it named right?")


def decoded(data: bytes, path: Path) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8 text: byte {error.start:,}, counted from 0, is 0x{data[error.start]:02x}. "
            "Save it as UTF-8."
        ) from None


def _read(path: Path, size: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except PermissionError:
        raise NotAllowed(f"{path} may not be read. Change its permissions.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None


def _decompressed(data: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise InvalidInput(f"{path} is cut short: its gzip data end early. Copy or download it again.") from None
    except (OSError, zlib.error) as error:
        raise InvalidInput(f"{path} has damaged gzip data ({error}). Copy or download it again.") from None
