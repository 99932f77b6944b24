"""Measure what compiled kernels cost a user, and write docs/generated/compilation.md.

    DISSENSUS_DATA=… OPENBLAS_NUM_THREADS=1 python -m benchmarks.compilation

Processor time of whole commands with an empty and a filled cache, and of imports, and the size of an installation,
beside one kernel that a C compiler builds from `compilation.c`. Medians, except of first commands and of the C build.
"""

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks.multilevel import simulate

from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.laplace import LaplaceLikelihood

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "generated" / "compilation.md"
DATA = Path(os.environ["DISSENSUS_DATA"], "dices-350", "ratings.csv")
COMMANDS = {
    "analyse": ["analyse", str(DATA), "--exclude-flagged", "--question", "Q_overall"],
    "model": [
        *("model", str(DATA), "--exclude-flagged"),
        *("--formula", "Q_overall ~ race + (1|rater_id) + (1|item_id)"),
    ],
}
TIMES = 3
MIB = 2**20


def run(command: list[str], **environment: str) -> float:
    """Return the processor time of a process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size_of(package: str) -> float:
    """Return the size of an installed package, in MiB."""
    files = distribution(package).files or ()
    paths = (Path(str(file.locate())) for file in files)
    return sum(path.stat().st_size for path in paths if path.is_file()) / MIB


def command_rows() -> list[tuple[str, str]]:
    """Return the times of commands with an empty and a filled cache of compiled kernels."""
    dissensus = str(Path(sys.executable).with_name("dissensus"))
    rows = []
    for name, arguments in COMMANDS.items():
        with tempfile.TemporaryDirectory() as cache:
            first = run([dissensus, *arguments], NUMBA_CACHE_DIR=cache)
            later = median(run([dissensus, *arguments], NUMBA_CACHE_DIR=cache) for _ in range(TIMES))
        rows += [
            (f"first `dissensus {name}` on DICES-350, kernels compiled", f"{first:.1f} s"),
            ("the same again, kernels from the cache", f"{later:.1f} s"),
        ]
    plain = median(run([sys.executable, "-c", "import numpy"]) for _ in range(TIMES))
    numba = median(run([sys.executable, "-c", "import numpy, numba"]) for _ in range(TIMES))
    rows.append(("`import numba` after NumPy", f"{numba - plain:.2f} s"))
    rows += [(f"size of `{name}`", f"{size_of(name):.0f} MiB") for name in ("llvmlite", "numba")]
    return rows


def kernel_rows() -> list[tuple[str, str]]:
    """Return the speed of a kernel from Numba and from a C compiler, and what the build costs."""
    likelihood = LaplaceLikelihood(simulate(1000, 100_000, 10), kernels.PROBIT)
    parameters = np.concatenate([[0.9, 1.1], np.zeros(likelihood.n_coefficients), np.log([0.6, 0.7])])
    mode = likelihood.mode(parameters)
    ratings, point = likelihood.layout.ratings, mode.predictors
    outer, inner = np.zeros_like(mode.u), np.zeros_like(mode.v)
    blocks, weights = np.zeros((*mode.v.shape, 1)), np.zeros((len(ratings.answers), 1))

    def by_numba() -> float:
        value: float = kernels.fill_gradients(ratings, point, False, outer, inner, blocks, weights)
        return value

    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "compilation.so")
        source = str(Path(__file__).with_suffix(".c"))
        seconds = run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), source, "-lm"])
        function = ctypes.CDLL(str(library)).fill_gradients
        function.restype = ctypes.c_double
        arrays = (ratings.start, ratings.answers, ratings.places, point.location, point.centre + point.distances)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, outer, inner, blocks, weights)]
        sizes = ctypes.c_int64(len(ratings.start) - 1), ctypes.c_int64(len(point.distances))

        def by_c() -> float:
            outer[:] = 0.0
            return float(function(*sizes, *pointers))

        if not np.isclose(by_numba(), by_c(), rtol=1e-12):
            raise SystemExit("The two kernels differ.")
        size = library.stat().st_size / 1024
        times = measure(by_numba), measure(by_c)
    per_rating = [1e9 * x / len(ratings.answers) for x in times]
    return [
        ("kernel of gradients, Numba", f"{per_rating[0]:.0f} ns a rating"),
        ("the same in C, `cc -O3 -march=native`", f"{per_rating[1]:.0f} ns a rating"),
        ("its build, without Python's headers", f"{seconds:.2f} s"),
        ("its size", f"{size:.0f} KiB"),
    ]


def measure(function: Callable[[], float]) -> float:
    """Return the median processor time of a call, in seconds."""
    seconds = []
    for _ in range(9):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return median(seconds)


if __name__ == "__main__":
    table = "\n".join(f"| {' | '.join(row)} |" for row in [*command_rows(), *kernel_rows()])
    PAGE.write_text(
        "% Made by `benchmarks/compilation.py`; do not edit.\n\n"
        f"Processor time, one thread:\n\n| What | |\n|---|--:|\n{table}\n",
        "utf-8",
    )
    print(PAGE.read_text("utf-8"))
