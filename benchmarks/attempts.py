"""Measure how long a report of as many attempts as were published takes, and write docs/generated/attempts.md.

Run it with `.venv/bin/python benchmarks/attempts.py`; it takes no options. Each step runs in a separate
process, to measure its memory separately.
"""

import platform
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from files import Steps, Work, rows, step, words

if TYPE_CHECKING:
    from dissensus.schema.records.attempt import Attempt, Review

PAGE = Path(__file__).parent.parent / "docs" / "generated" / "attempts.md"
REVIEWED, REVIEWERS = 1_000, 8


def attempts() -> "list[Attempt]":
    """Return attempts with the published marginals, and texts of many words."""
    from dissensus.pipeline.simulate import simulate_attempts

    texts = words()
    return [
        replace(
            attempt, task_description=next(texts), transcript=f"\n\nHuman: {next(texts)}\n\nAssistant: {next(texts)}"
        )
        for attempt in simulate_attempts()
    ]


def reviews(records: "list[Attempt]") -> "list[Review]":
    from dissensus.schema.records.attempt import Review

    rng = np.random.default_rng(0)
    return [
        Review(
            attempt_id=str(number + 1),
            reviewer_id=str(person),
            success=int(np.clip((attempt.rating or 0) + rng.integers(-2, 3), 0, 4)),
        )
        for number, attempt in enumerate(records[:REVIEWED])
        for person in rng.choice(REVIEWERS, size=3, replace=False).tolist()
    ]


def read(folder: Path) -> Work:
    from dissensus.files.attempts.tables import read_attempts, write_attempts

    write_attempts(attempts(), folder / "attempts.jsonl")
    return lambda: len(read_attempts(folder / "attempts.jsonl").attempts)


def analyse(_: Path) -> Work:
    from dissensus.pipeline.analyse.attempts import analyse_attempts

    records = attempts()
    return lambda: analyse_attempts(records).n_attempts


def compare(_: Path) -> Work:
    from dissensus.pipeline.analyse.attempts import analyse_attempts

    records = attempts()
    ratings = reviews(records)
    return lambda: analyse_attempts(records, reviews=ratings).n_attempts


def lay_out(_: Path) -> Work:
    from dissensus.pipeline.analyse.attempts import attempt_map

    records = attempts()
    return lambda: len(attempt_map(records).indices)


def page(folder: Path) -> Work:
    from dissensus.cli import main
    from dissensus.files.attempts.tables import write_attempts

    path = folder / "page.jsonl"
    records = attempts()
    write_attempts(records, path)

    def work() -> int:
        sys.argv = ["dissensus", "report", str(path), "-o", str(folder / "page.html")]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
        return len(records)

    return work


STEPS: Steps = {
    "read": ("attempts read", read),
    "analyse": ("analysis, 1,000 draws of red-teamers", analyse),
    "compare": ("the same with 3,000 reviews of 1,000 of them", compare),
    "map": ("map", lay_out),
    "page": ("`dissensus report`, all of it but the reviews", page),
}


def main() -> None:
    """Run the benchmark and write the page."""
    if len(sys.argv) > 1:
        step(STEPS, sys.argv[1], Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = list(rows(__file__, STEPS, Path(folder)))
    machine = f"Python {platform.python_version()}, NumPy {version('numpy')}, {platform.machine()}"
    lines = [
        "% Made by `benchmarks/attempts.py`; do not edit.",
        "",
        f"One core, {machine}. Each step is a process; its memory counts what it works on.",
        "",
        "| Step | Attempts | Seconds | GiB at most |",
        "|---|--:|--:|--:|",
        *table,
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
