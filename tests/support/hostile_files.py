"""Files that ask for too much memory or time."""

import gzip
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.commands import SCRIPT

from dissensus.files.raw import limits

MIB = 2**20
HEADER = b"item_id,rater_id,Q_overall\n"
WIDE = (
    ",".join(["item_id", "rater_id", "Q_overall", *(f"c{i}" for i in range(limits.MAX_COLUMNS - 3))]).encode() + b"\n"
)


def object_of(keys: int) -> bytes:
    return b"{" + b",".join(b'"k%d":1' % key for key in range(keys)) + b"}"


#: file name, content, MiB of memory that reading may take, message
CASES: dict[str, tuple[str, Callable[[], bytes], int, str]] = {
    "14 MB that unpack to 10 GB": (
        "bomb.csv.gz",
        lambda: gzip.compress(b"1,2,Yes\n" * 1_250_000) * 1000,
        1400,
        "unpacks to something larger than 1 GiB, the maximum",
    ),
    "100,000 columns": (
        "columns.csv",
        lambda: b",".join(b"c%d" % i for i in range(100_000)) + b"\n" + b",".join([b"1"] * 100_000) + b"\n",
        300,
        "has 100,000 columns or more, and at most 10,000 are read",
    ),
    "short rows below a wide header": (
        "short.csv",
        lambda: WIDE + b"1\n" * 1_000_000,
        300,
        "line 2: 1 fields, but the header has 10,000",
    ),
    "one line of 200 MB": (
        "line.csv",
        lambda: b"x" * (200 * MIB),
        500,
        "line 1: longer than 16 MiB, the maximum",
    ),
    "one field of 50 MB": (
        "field.csv",
        lambda: HEADER + b"1,2," + b"x" * (50 * MIB) + b"\n",
        300,
        "line 2: longer than 16 MiB, the maximum",
    ),
    "a quote that is open to the end": (
        "quote.csv",
        lambda: HEADER + b'1,2,"No\n' + b"1,2,No\n" * 2_000_000,
        800,
        "line 2: the quotes of the row that begins here do not match",
    ),
    "an object of 300,000 keys": (
        "keys.jsonl",
        lambda: object_of(300_000),
        400,
        "has 300,000 columns or more, and at most 10,000 are read",
    ),
    "another key in each row": (
        "keys.json",
        lambda: b"[" + b",".join(b'{"k%d":1}' % row for row in range(300_000)) + b"]",
        500,
        "columns or more, and at most 10,000 are read",
    ),
    "a wide row above narrow ones": (
        "wide.jsonl",
        lambda: object_of(limits.MAX_COLUMNS) + b"\n" + b'{"k1":1}\n' * 100_000,
        600,
        "over 268,435,456 cells, the maximum",
    ),
    "a line of JSON of 50 MB": (
        "line.jsonl",
        lambda: b'{"a": "' + b"x" * (50 * MIB) + b'"}',
        300,
        "line 1: longer than 16 MiB, the maximum",
    ),
    "ten million empty objects": (
        "empty.json",
        lambda: b"[" + b",".join([b"{}"] * 10_000_000) + b"]",
        600,
        "element 1 is not an object with values",
    ),
    "ten million brackets": ("deep.json", lambda: b"[" * 10_000_000, 500, "line 1 or later: the values are nested"),
}


def refusal(path: Path, mib: int, gib: float = limits.DEFAULT_GIB) -> str:
    """Return the message of the real command line for a file, with this much memory."""
    began = child_seconds()
    done = subprocess.run(
        ["bash", "-c", f'ulimit -d {mib * 1024} && exec "$0" analyse "$1"', SCRIPT, path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, limits.VARIABLE: str(gib)},
        timeout=100,
    )
    assert done.returncode == 1, done.stderr[-2000:]
    assert done.stdout == ""
    assert done.stderr.startswith(f"Error: {path}")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < len(str(path)) + 400
    assert child_seconds() - began < 30
    return done.stderr


def child_seconds() -> float:
    """Processor time of ended child processes, which does not depend on what else the machine does."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
