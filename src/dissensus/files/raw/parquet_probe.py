"""Probe a Parquet file in a subprocess that may crash.

Run as ``python -m dissensus.files.raw.parquet_probe FILE``. Exits with 0 where the file can be read, and with `REFUSED`
where it is clear that it cannot be, and why, which is then on standard output.
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
"""Exit status for input that cannot be used, as sysexits.h has it."""


def describe_damage(path: Path, error: BaseException) -> str:
    """Say what polars finds wrong with a file."""
    reason = format_value(next(iter(str(error).splitlines()), type(error).__name__))
    return f"{path} is a damaged Parquet file ({reason}). Copy or download it again."


def check(path: Path) -> None:
    """Make sure that a file can be read and is not too large; may end the process."""
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
    """Let this process have no more memory than a file may need, where the system can do that, and leave no dump."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_DATA, limits.max_memory()), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


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
    os._exit(0)  # without the time that it takes to tidy up a table


if __name__ == "__main__":
    main()
