"""Parquet reader; a subprocess probes each file first, because damage can crash the reader."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.raw import limits, parquet_probe
from dissensus.files.raw.content import open_checked

BASE_TIMEOUT: Final = 30
"""Seconds that a probe may take, besides one per `MIN_BYTES_PER_SECOND` bytes of the file."""

MIN_BYTES_PER_SECOND: Final = 2**22


def read(path: Path) -> pl.DataFrame:
    """Read a Parquet file, with its types."""
    _probe(path, BASE_TIMEOUT + _check_ends(path) / MIN_BYTES_PER_SECOND)
    try:
        return pl.read_parquet(path, glob=False)
    except (PolarsError, PanicException, OSError) as error:
        raise InvalidInput(parquet_probe.describe_damage(path, error)) from None


def _check_ends(path: Path) -> int:
    """Check the magic bytes at both ends of a file, and return its size."""
    with open_checked(path) as (file, size):
        start = file.read(4)
        file.seek(max(0, size - 4))
        end = file.read(4)
    if not size:
        raise InvalidInput(f"{path} is empty.")
    if start != b"PAR1":
        raise InvalidInput(f"{path} is not a Parquet file: it does not begin with PAR1. Is its name correct?")
    if end != b"PAR1":
        raise InvalidInput(
            f"{path} is cut short: it does not end with PAR1 as Parquet files do. Copy or download it again."
        )
    return size


def _probe(path: Path, seconds: float) -> None:
    """Read a file in a subprocess, and raise if that fails or crashes."""
    # -P and an explicit path, so that a polars.py in the current folder is not imported.
    command = [sys.executable, "-P", "-m", parquet_probe.__name__, os.fspath(path)]
    # The process does not know whether the file is an upload.
    limit = {limits.VARIABLE: str(limits.max_text_bytes() / 2**30)}
    environment = {**os.environ, **limit, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        result = subprocess.run(  # noqa: S603 - our own module
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"{path} takes more than {seconds:.0f} s to read. Is it damaged? Write it again.") from None
    except OSError as error:
        raise Unavailable(f"No process can be started to read {path}: {error.strerror or error}.") from None
    if result.returncode == 0:
        return
    if result.returncode == parquet_probe.REFUSED:
        raise InvalidInput(result.stdout.decode().replace(limits.REMEDY, limits.remedy()))
    if result.returncode == 1:
        raise Unavailable(f"{path} cannot be checked: {sys.executable} does not run {parquet_probe.__name__}.")
    raise InvalidInput(
        f"{path} is a damaged Parquet file, or one that needs more than {limits.max_memory() / 2**30:.3g} GiB of "
        f"memory. Copy or download it again. {limits.remedy()}"
    )
