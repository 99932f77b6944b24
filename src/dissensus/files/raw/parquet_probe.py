"""Probe of a Parquet file, for a subprocess that may crash.

Run as ``python -m dissensus.files.raw.parquet_probe FILE``. Exits with 0 if the file can be read, and with `REFUSED`
and a message on standard output if it is known to be invalid.
"""

import os
import sys
from pathlib import Path
from typing import Final

import polars as pl
from polars import selectors as cs
from polars.exceptions import PanicException, PolarsError

from dissensus.errors import InvalidInput
from dissensus.files.raw import limits
from dissensus.schema.hints import format_value

REFUSED: Final = 65
"""Exit status for invalid input, EX_DATAERR of sysexits.h."""


def describe_damage(path: Path, error: BaseException) -> str:
    """Describe the damage that polars found in a file."""
    reason = format_value(next(iter(str(error).splitlines()), type(error).__name__))
    return f"{path} is a damaged Parquet file ({reason}). Copy or download it again."


def check(path: Path) -> None:
    """Raise if a file cannot be read or is too large; may crash the process."""
    try:
        columns = list(pl.read_parquet_schema(path))
        limits.check_columns(columns, path)
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        limits.check_cells(rows, len(columns), path)
        table = pl.read_parquet(path, glob=False)
        lengths = table.select(cs.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String).str.len_bytes().sum())
    except (PolarsError, PanicException, OSError) as error:
        raise InvalidInput(describe_damage(path, error)) from None
    limits.check_bytes(sum(lengths.row(0)) if lengths.width else 0, path, "holds text that is")


def bound_memory() -> None:
    """Limit the memory of this process where the system supports it, and disable core dumps."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, limit in ((resource.RLIMIT_DATA, limits.max_memory()), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def main() -> None:
    """Check the file that is named on the command line."""
    bound_memory()
    try:
        check(Path(sys.argv[1]))
    except InvalidInput as error:
        os.write(sys.stdout.fileno(), str(error).encode())
        os._exit(REFUSED)
    except MemoryError:
        os.abort()
    os._exit(0)  # skip the slow deallocation of the table


if __name__ == "__main__":
    main()
