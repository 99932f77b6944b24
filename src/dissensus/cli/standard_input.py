"""Standard input as a file: a dash in the place of a path."""

import atexit
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from dissensus.errors import InvalidInput

DASH = Path("-")
NAME = "standard-input"


def spool(path: Path) -> Path:
    """Return a path; for a dash, write standard input to a temporary file and return the path of that."""
    return _spool() if path == DASH else path


@cache
def _spool() -> Path:
    from dissensus.files.raw import limits

    max_bytes = limits.max_text_bytes()
    data = sys.stdin.buffer.read(max_bytes + 1)
    if len(data) > max_bytes:
        limit = f"{max_bytes / 2**30:.3g} GiB"
        raise InvalidInput(f"Standard input is larger than {limit}, the maximum. Save it to a file.")
    folder = Path(tempfile.mkdtemp(prefix="dissensus-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / f"{NAME}{_extension(data)}"
    target.write_bytes(data)
    return target


def _extension(data: bytes) -> str:
    """Return the extension that fits the content."""
    if data.startswith(b"PAR1"):
        return ".parquet"
    if data.startswith(b"PK\x03\x04"):
        return ".xlsx"
    if data.startswith(b"\x1f\x8b"):
        raise InvalidInput("Standard input is gzip data. Unpack it on the way: gunzip -c FILE | dissensus … -")
    begin = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith((b"{", b"[")):
        return ".json" if begin.startswith(b"[") or not _is_lines(data) else ".jsonl"
    return ".csv"


def _is_lines(data: bytes) -> bool:
    return data.lstrip().split(b"\n", 1)[0].rstrip().endswith(b"}")
