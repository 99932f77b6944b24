"""Measure fits of large multilevel models, and write docs/generated/multilevel-large.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.multilevel_large

One thread, compiled, processor time of one fit with standard errors, and the largest memory of its process, design
included. Each fit has a process of its own; the page is written after each.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.multilevel import simulate

from dissensus.stats.multilevel import laplace
from dissensus.stats.multilevel.fit import Integration, fit_ordinal

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "multilevel-large.md"
DESIGNS: tuple[tuple[int, int, Integration], ...] = (
    (10_000, 1_000_000, "laplace"),
    (1_000, 100_000, "quadrature"),
    (10_000, 1_000_000, "quadrature"),
)
RATINGS_PER_ITEM = 10
HEAD = """% Made by `benchmarks/multilevel_large.py`; do not edit.

| Ratings | Raters | Items | Integration | Time | Memory |
|--:|--:|--:|---|--:|--:|
"""


def compile_kernels(integration: Integration) -> None:
    """Fit a small design with and without a matrix, so that kernels are compiled."""
    most = laplace.MOST_DENSE
    for limit in (0, most):
        laplace.MOST_DENSE = limit
        fit_ordinal(simulate(50, 200, 5), integration=integration)


def row(raters: int, items: int, integration: Integration) -> str:
    """Return a line of the table, measured in this process."""
    compile_kernels(integration)
    design = simulate(raters, items, RATINGS_PER_ITEM)
    start = time.process_time()
    fit_ordinal(design, integration=integration)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cells = (f"{items * RATINGS_PER_ITEM:,}", f"{raters:,}", f"{items:,}", integration)
    return f"| {' | '.join(cells)} | {seconds:.0f} s | {memory:.2f} GiB |\n"


def main() -> None:
    """Measure each design in a process of its own, or print the line of one."""
    if len(sys.argv) > 1:
        raters, items, integration = DESIGNS[int(sys.argv[1])]
        sys.stdout.write(row(raters, items, integration))
        return
    lines: list[str] = []
    for number in range(len(DESIGNS)):
        command = [sys.executable, "-m", "benchmarks.multilevel_large", str(number)]
        lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        PAGE.write_text(HEAD + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
