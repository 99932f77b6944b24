"""File formats by extension, size limits, digests, decompression and decoding."""

import gzip
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.files.raw import limits
from dissensus.schema.hints import format_value

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

SPREADSHEETS: Final = {".xlsx": "xlsx"}
"""Extensions that are read and not written."""

GZIP: Final = b"\x1f\x8b"
"""First bytes of gzip data."""

_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CHUNK = 2**20
_FOREIGN = {
    b"PAR1": "a Parquet file. Rename it so that it ends in .parquet",
    b"PK\x03\x04": "a spreadsheet or a ZIP archive. Rename it so that it ends in .xlsx, or unpack it",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8",
    b"(\xb5/\xfd": "data compressed with zstd, and only gzip is read. Unpack them",
    b"\xfd7zXZ": "data compressed with xz, and only gzip is read. Unpack them",
    GZIP: "gzip data inside gzip data. Unpack the file once",
}


def check_file(path: Path) -> None:
    """Check that a path is that of a regular file."""
    if _UNNAMEABLE.search(str(path)):
        raise InvalidInput(f"{format_value(path)} has control characters in its name, or invalid Unicode. Rename it.")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"There is no file {path}.") from None
    except PermissionError:
        raise NotAllowed(f"{path} is not accessible. Change the permissions of its folder.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{format_value(path)} is not the path of a file: {reason}.") from None
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{path} is a folder. Name a file in it.")
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{path} is a pipe or a device. Save its output to a file, and name that file.")


def detect_format(path: Path) -> str:
    """Detect the format of a file by its extension, and check that it is a regular file."""
    check_file(path)
    readable = EXTENSIONS | SPREADSHEETS
    extension = next((end for end in readable if path.name.lower().endswith(end)), None)
    if extension is None:
        raise InvalidInput(f"{path}: files end in one of {', '.join(readable)}. Rename or convert it.")
    return readable[extension]


@contextmanager
def open_checked(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file within the size limit, with clear errors where it cannot be read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            limits.check_bytes(size, path)
            yield file, size
    except PermissionError:
        raise NotAllowed(f"{path} is not readable. Change its permissions.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None


def read_content(path: Path) -> bytes:
    """Read the bytes of a text file, decompressed if they are gzip data under any name."""
    return decompress(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Read the bytes of a file; raise `NotFound` if there is none."""
    check_file(path)
    with open_checked(path) as (file, size):
        data = file.read(size + 1)
    if len(data) != size:
        raise InvalidInput(f"{path} changed while it was read. Wait until it is written, or read a copy.")
    return data


def decompress(data: bytes, path: Path) -> bytes:
    """Decompress gzip data, and reject empty, oversized or binary content."""
    if data.startswith(GZIP):
        data = _gunzip(data, path)
    if not data or data.isspace():
        raise InvalidInput(f"{path} is empty.")
    foreign = next((description for magic, description in _FOREIGN.items() if data.startswith(magic)), None)
    if foreign is not None:
        raise InvalidInput(f"{path} holds {foreign}.")
    nul = data.find(0)
    if nul >= 0:
        raise InvalidInput(
            f"{_describe_offset(data, nul, path)} is NUL, which text does not contain. Is the file UTF-16, or damaged? "
            "Save it as UTF-8."
        )
    return data


def decode_utf8(data: bytes, path: Path) -> str:
    """Decode UTF-8, without a byte order mark."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{_describe_offset(data, error.start, path)} is 0x{data[error.start]:02x}, so the file is not UTF-8 text. "
            "Save it as UTF-8."
        ) from None


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text, such as a definition; raise `NotFound` if there is none."""
    return decode_utf8(read_content(path), path)


def digest_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_lines(data: bytes, path: Path) -> None:
    """Raise if a line is too long; jumps from window to window."""
    end = _line_end(data)
    start = 0
    while len(data) - start > limits.max_row():
        last = data.rfind(end, start, start + limits.max_row())
        if last < 0:
            line = data.count(end, 0, start) + 1
            raise InvalidInput(
                f"{path}, line {line:,}: longer than {limits.max_row() / 2**20:.0f} MiB, the maximum. "
                "Is each row on a separate line?"
            )
        start = last + 1


def _line_end(data: bytes) -> bytes:
    return b"\n" if b"\n" in data else b"\r"


def _describe_offset(data: bytes, offset: int, path: Path) -> str:
    line = data.count(_line_end(data), 0, offset) + 1
    return f"{path}, line {line:,}: byte {offset:,} of the text, counted from 0,"


def _gunzip(data: bytes, path: Path) -> bytes:
    buffer = BytesIO()
    with translate_gzip_errors(path), gzip.open(BytesIO(data)) as stream:
        while chunk := stream.read(_CHUNK):
            buffer.write(chunk)
            limits.check_bytes(buffer.tell(), path, "unpacks to something")
    return buffer.getvalue()


@contextmanager
def translate_gzip_errors(path: Path) -> Iterator[None]:
    """Translate the errors of damaged gzip data."""
    try:
        yield
    except EOFError:
        raise InvalidInput(f"{path} is cut short: its gzip data end early. Copy or download it again.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInput(f"{path} has damaged gzip data ({error}). Copy or download it again.") from None
