"""Measure what it costs to trust no file: the figures of docs/decisions/0007-untrusted-files.md.

.venv/bin/python -m benchmarks.untrusted
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from tests.slow.fuzz.readers import TABLE
from tests.support.commands import SCRIPT
from tests.support.hostile_files import CASES

from dissensus.files.raw.table_reader import read_frame

DAMAGED = 20_000
ROWS = 10_000_000
CATEGORIES = {"rater_gender": 2, "rater_race": 5, "rater_age": 3, "harm_type": 8, "Q_overall": 3}

# Reads damaged files without protection, one after the other from the number given, and says how far it got.
UNPROTECTED = """
import sys, polars as pl, numpy as np
from polars.exceptions import PanicException, PolarsError
from tests.slow.fuzz.mutation import damage
data, first, last = open(sys.argv[1], "rb").read(), int(sys.argv[2]), int(sys.argv[3])
for number in range(first, last):
    print(number, flush=True)
    try:
        pl.read_parquet(damage(np.random.default_rng(number), data))
    except (PolarsError, PanicException, OSError):
        pass
"""


def best(work: Callable[[], object], times: int = 5) -> float:
    """Return the shortest of a few times, in milliseconds."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return 1000 * min(seconds)


def ratings(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, n, rows).astype(str) for name, n in CATEGORIES.items()}
    ids = {"item_id": rng.integers(0, rows // 100 + 1, rows), "rater_id": rng.integers(10**14, 10**14 + 10**5, rows)}
    return pl.DataFrame(ids | columns | {"answer_time_ms": rng.integers(10**3, 10**5, rows)})


def deaths(path: Path) -> Counter[int]:
    """Count how reading damaged copies of a file without protection ended the process."""
    ends: Counter[int] = Counter()
    number = 0
    while number < DAMAGED:
        command = [sys.executable, "-c", UNPROTECTED, str(path), str(number), str(DAMAGED)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            ends[done.returncode] += 1
        number = int(done.stdout.split()[-1]) + 1
    return ends


def run_analysis(path: Path) -> tuple[float, float]:
    """Return seconds and peak MiB of `dissensus analyse`, started by a small process so that ours does not count."""
    code = (
        "import os, sys, time; began = time.perf_counter();"
        "_, _, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0);"
        "print(time.perf_counter() - began, used.ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", code, str(SCRIPT), "analyse", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    seconds, peak = map(float, done.stdout.split()[-2:])
    return seconds, peak


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for rows in (240, ROWS):
            path = folder / f"{rows}.parquet"
            ratings(rows).write_parquet(path)
            plain, safe = best(partial(pl.read_parquet, path)), best(partial(read_frame, path))
            print(f"Parquet, {rows:,} rows x 8: {plain:.0f} ms unprotected, {safe:.0f} ms with the other process")
        for compression in ("zstd", "uncompressed"):
            path = folder / f"{compression}.parquet"
            pl.concat([TABLE] * 40).write_parquet(path, compression=compression)
            print(f"{DAMAGED:,} damaged Parquet files, {compression}: the process ended by {dict(deaths(path))}")
        for label, (file, make, _, _) in CASES.items():
            (folder / file).write_bytes(make())
            size = (folder / file).stat().st_size / 2**20
            seconds, peak = run_analysis(folder / file)
            (folder / file).unlink()
            print(f"{label}: {size:.1f} MiB, refused after {seconds:.1f} s with {peak:.0f} MiB")


if __name__ == "__main__":
    main()
