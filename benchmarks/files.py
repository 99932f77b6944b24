"""Measure how long pairs and attempts take to write and to read, and write docs/generated/files.md.

Run it with `.venv/bin/python benchmarks/files.py`; it takes no options. Each step runs in a separate process, to
measure its memory separately.
"""

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dissensus.schema.records.preference import Preference

PAGE = Path(__file__).parent.parent / "docs" / "generated" / "files.md"
PAIRS, PER_CONVERSATION = 160_000, 4
WORDS = (5, 42)
"""Words of a turn: at least, and fewer than; so transcripts have the length of those of harmless-base."""

RELEASE, ATTEMPTS = "release", "attempts.jsonl.gz"

Work = Callable[[], int]
Steps = Mapping[str, tuple[str, Callable[[Path], Work]]]


def words() -> Iterator[str]:
    """Yield endless texts that compress about as well as real ones."""
    rng = np.random.default_rng(0)
    syllables = [first + second for first in "bdfgklmnprstvw" for second in ("a", "e", "i", "o", "u", "ar", "en")]
    vocabulary = ["".join(rng.choice(syllables, size=rng.integers(1, 4))) for _ in range(5_000)]
    while True:
        drawn = rng.integers(len(vocabulary), size=100_000)
        lengths = rng.integers(*WORDS, size=1_000)
        start = 0
        for length in lengths.tolist():
            yield " ".join(vocabulary[index] for index in drawn[start : start + length])
            start += length


def preferences() -> "Iterator[Preference]":
    """Yield preferences of made-up texts, some in each conversation."""
    from dissensus.schema.records.conversation import Turn
    from dissensus.schema.records.preference import Pick, Preference

    texts = words()
    picks = (Pick("ann", "a", 3), Pick("ben", "b", 2), Pick("cho", "a", 1))
    for conversation in range(PAIRS // PER_CONVERSATION):
        context: tuple[Turn, ...] = ()
        for turn in range(PER_CONVERSATION):
            context = (*context, Turn("human", next(texts)))
            a, b = next(texts), next(texts)
            yield Preference(
                preference_id=f"p-{conversation}-{turn}",
                conversation_id=f"c-{conversation}",
                context=context,
                a=a,
                b=b,
                criterion="more helpful" if conversation % 2 else "more harmful",
                picks=picks,
                models=("context distillation", "context distillation"),
            )
            context = (*context, Turn("bot", a))


def published(folder: Path) -> list[Path]:
    return sorted((folder / RELEASE).rglob("*.jsonl.gz"))


def make(_: Path) -> Work:
    from dissensus.pipeline.release import released_pairs

    collected = list(preferences())
    return lambda: len(released_pairs(collected).pairs)


def write(folder: Path) -> Work:
    from dissensus.files.pairs.release import write_pairs
    from dissensus.pipeline.release import released_pairs

    released = released_pairs(preferences())

    def work() -> int:
        write_pairs(released, folder / RELEASE)
        return len(released.pairs)

    return work


def read(folder: Path) -> Work:
    from dissensus.files.pairs.rows import stream_pairs

    return lambda: sum(1 for path in published(folder) for _ in stream_pairs(path))


def copy(folder: Path) -> Work:
    from dissensus.files.pairs.rows import PairReadLog, stream_pairs
    from dissensus.files.pairs.writer import write_hh_rlhf

    def work() -> int:
        log = PairReadLog()
        for number, path in enumerate(published(folder)):
            write_hh_rlhf(stream_pairs(path, log), folder / f"copy-{number}.jsonl.gz")
        return log.n_rows

    return work


def twins(folder: Path) -> Work:
    from dissensus.files.pairs.rows import stream_pairs

    return lambda: sum(1 for path in (folder / RELEASE).rglob("*.parquet") for _ in stream_pairs(path))


def write_attempts(folder: Path) -> Work:
    from dissensus.files.attempts.tables import write_attempts
    from dissensus.pipeline.simulate import simulate_attempts

    attempts = simulate_attempts()

    def work() -> int:
        write_attempts(attempts, folder / ATTEMPTS)
        return len(attempts)

    return work


def read_attempts(folder: Path) -> Work:
    from dissensus.files.attempts.tables import read_attempts

    return lambda: len(read_attempts(folder / ATTEMPTS).attempts)


STEPS: Steps = {
    "make": ("pairs made from picks", make),
    "write": ("pairs written, as hh-rlhf and as Parquet twins", write),
    "read": ("published files read", read),
    "copy": ("published files read and written again", copy),
    "twins": ("Parquet twins read", twins),
    "attempts": ("attempts written", write_attempts),
    "again": ("attempts read", read_attempts),
}


def step(steps: Steps, name: str, folder: Path) -> None:
    """Run one step, and print its time without preparation, and peak memory."""
    work = steps[name][1](folder)
    start = time.perf_counter()
    number = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{number} {time.perf_counter() - start:.2f} {peak:.3f}")


def rows(script: str, steps: Steps, folder: Path) -> Iterator[str]:
    """Yield the rows of the table; each step is a process with one thread in OpenBLAS and Polars."""
    for name, (label, _) in steps.items():
        command = [sys.executable, script, name, str(folder)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        number, seconds, peak = done.stdout.split()
        print(name, number, seconds, peak, flush=True)
        yield f"| {label} | {int(number):,} | {float(seconds):.1f} | {float(peak):.2f} |"


def main() -> None:
    """Run the benchmark and write the page."""
    if len(sys.argv) > 1:
        step(STEPS, sys.argv[1], Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = list(rows(__file__, STEPS, Path(folder)))
        size = sum(path.stat().st_size for path in published(Path(folder))) / 2**20
    machine = f"Python {platform.python_version()}, Polars {version('polars')}, {platform.machine()}"
    lines = [
        "% Made by `benchmarks/files.py`; do not edit.",
        "",
        f"One core, {machine}. Each step is a process; its memory counts what it works on. "
        f"The published files of pairs are {size:.0f} MiB compressed.",
        "",
        "| Step | Rows | Seconds | GiB at most |",
        "|---|--:|--:|--:|",
        *table,
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
