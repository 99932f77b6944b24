"""Time Dissensus beside other libraries and write benchmarks/results.json and docs/benchmarks.md.

Every measurement is a process of its own; the contenders of a case take turns, round after round. This process imports
neither the package nor a peer, so that what it forks starts small.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from cases import CASES, Case, Missing, Opening, Process, Run

import report

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
# Playwright, which drives the browser, is installed in the environment of the tests.
BROWSER_PYTHON = HERE.parent / ".venv" / "bin" / "python"
SUFFIX = {"csv": ".csv", "official_350": ".csv", "official_990": ".csv", "parquet": ".parquet"}
PEERS = ("crowd-kit", "evalica", "krippendorff", "nltk", "statsmodels")
PACKAGES = ("dissensus", "numba", "numpy", "pandas", "polars", *PEERS)
TOLERANCE = 1e-9
# The unit of ru_maxrss is the KiB, on macOS the byte.
MAXRSS_MB = 1e-6 if sys.platform == "darwin" else 1024e-6
Row = dict[str, Any]


def main() -> None:
    options = _options()
    cases = [case for case in CASES if not options.only or case.name in options.only]
    cases = [case for case in cases if not (case.big and options.quick)]
    results: Row = {"machine": machine(), "versions": {name: version(name) for name in PACKAGES}, "cases": []}
    for case in cases:
        print(f"{case.name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="dissensus-benchmark-") as folder:
            results["cases"].append(measure_case(case, Path(folder), options.rounds))
    if options.quick or options.only:
        print(report.page(results))
        return
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(report.page(results), encoding="utf-8")


def measure_case(case: Case, folder: Path, rounds: int) -> Row:
    """Measure the rows of a case."""
    results = _measure_runs(case, folder, rounds) | _measure_processes(case, folder) | _measure_openings(case, folder)
    rows = [_describe_missing(row) if isinstance(row, Missing) else results.get(row) for row in case.rows]
    return {
        "name": case.name,
        "title": case.title,
        "text": case.text.format(bytes=_make_data(case.shape, folder).stat().st_size),
        "rows": [row for row in rows if row is not None],
        "budgets": [asdict(budget) for budget in case.budgets],
    }


def _measure_runs(case: Case, folder: Path, rounds: int) -> dict[Any, Row]:
    runs = [row for row in case.rows if isinstance(row, Run)]
    rows_by_run: dict[Run, list[Row]] = {run: [] for run in runs}
    for n in range(rounds):
        for run in runs:
            if n == 0 or not run.check:
                rows_by_run[run].append(
                    _run_child("measure", run.contender, _make_data(run.shape or case.shape, folder))
                )
        if n == 0 and case.same_values:
            _check_values(case, {run: rows[0]["value"] for run, rows in rows_by_run.items()})
    return {run: _summarise_run(run, rows) for run, rows in rows_by_run.items() if not run.check}


def _summarise_run(run: Run, rows: list[Row]) -> Row:
    of_rounds = [median(row["seconds"]) for row in rows]
    return {
        "row": run.contender,
        "label": rows[0]["label"],
        "input": rows[0]["input"],
        "treatment": rows[0]["treatment"],
        "note": run.note,
        "median_s": median(of_rounds) * run.factor,
        "min_s": min(min(row["seconds"]) for row in rows) * run.factor,
        "start_s": median(row["import_s"] + row["first_s"] for row in rows),
        "ready_mb": round(median(row["ready_mb"] for row in rows), 1),
        "peak_mb": round(median(row["peak_mb"] for row in rows), 1),
        "runs": len(rows),
        "calls": sum(len(row["seconds"]) for row in rows),
        "value": rows[0]["value"],
        "factor": run.factor,
    }


def _check_values(case: Case, values: dict[Run, float]) -> None:
    """Stop unless all contenders return the same value on the same data."""

    def shape(run: Run) -> str:
        return run.shape or case.shape or ""

    for _, same in groupby(sorted(values, key=shape), key=shape):
        of_same = {run.contender: values[run] for run in same}
        if max(of_same.values()) - min(of_same.values()) > TOLERANCE:
            raise SystemExit(f"{case.name}: the contenders do not agree: {of_same}")


def _measure_processes(case: Case, folder: Path) -> dict[Any, Row]:
    processes = [row for row in case.rows if isinstance(row, Process)]
    figures_by_process: dict[Process, list[tuple[float, float]]] = {process: [] for process in processes}
    if processes:
        data = _make_data(case.shape, folder)
        _measure_process(processes[0], data)  # Files and kernels of the first command are cached from here on
    for n in range(max((process.runs for process in processes), default=0)):
        for process in processes:
            if n < process.runs:
                figures_by_process[process].append(_measure_process(process, data))
    return {process: _summarise_process(process, figures) for process, figures in figures_by_process.items()}


def _measure_process(process: Process, data: Path) -> tuple[float, float]:
    """Return the seconds and the peak megabytes of a command."""
    with tempfile.TemporaryDirectory(dir=data.parent) as scratch:
        out, cache, compiled = Path(scratch, "out"), Path(scratch, "kernels"), data.with_name("kernels")
        if process.kernels == "compiled":
            if not compiled.exists():
                _run_command(("compile",), data, out, {"NUMBA_CACHE_DIR": str(compiled)})
            # A copy, since a command adds the kernels that `compile` left out, and the next run would find them.
            shutil.copytree(compiled, cache)
        settings = {} if process.kernels == "earlier" else {"NUMBA_CACHE_DIR": str(cache)}
        return _run_command(process.words, data, out, settings)


def _run_command(words: tuple[str, ...], data: Path, out: Path, settings: dict[str, str]) -> tuple[float, float]:
    filled = [word.format(data=data, out=out) for word in words]
    begin = time.perf_counter()
    child = subprocess.Popen(
        [Path(sys.executable).with_name("dissensus"), *filled],
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"dissensus {' '.join(filled)} ended with {child.returncode}")
    return seconds, usage.ru_maxrss * MAXRSS_MB


def _summarise_process(process: Process, figures: list[tuple[float, float]]) -> Row:
    seconds, megabytes = zip(*figures, strict=True)
    return {
        "row": process.label,
        "label": process.label,
        "median_s": median(seconds),
        "min_s": min(seconds),
        "peak_mb": round(max(megabytes), 1),
        "runs": len(figures),
    }


def _measure_openings(case: Case, folder: Path) -> dict[Any, Row]:
    return {row: _measure_opening(row, _make_data(case.shape, folder)) for row in case.rows if isinstance(row, Opening)}


def _measure_opening(row: Opening, data: Path) -> Row:
    """Return how long a page takes to open, or why no browser opens it."""
    out = data.with_name("out")
    _run_command(row.words, data, out, {})
    command = [BROWSER_PYTHON, HERE / "opening.py", out.with_suffix(".html")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    result = (
        json.loads(done.stdout) if done.returncode == 0 else {"browser": "none", "not_run": _last_line(done.stderr)}
    )
    return {"row": row.label, "label": row.label, **result}


def _last_line(text: str) -> str:
    return next(iter(text.strip().splitlines()[-1:]), "no message")


def _describe_missing(row: Missing) -> Row:
    return {"row": row.label, "label": row.label, "input": row.input_form, "not_run": row.reason}


def _make_data(shape: str | None, folder: Path) -> Path:
    """Return the file of a shape, made if it is not there yet."""
    assert shape is not None
    path = folder / (shape + SUFFIX.get(shape, ".npz"))
    if not path.exists():
        _run_child("make", shape, path)
    return path


def _run_child(task: str, name: str, path: Path) -> Row:
    command = [sys.executable, str(HERE / "child.py"), task, name, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{task} {name} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout))


def machine() -> Row:
    """Describe the machine and the moment."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": _system(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load": round(os.getloadavg()[0], 2),
    }


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform(terse=True)
    return f"{name}, {platform.system()} {platform.release().partition('-')[0]}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description="Time Dissensus beside other libraries.")
    parser.add_argument("--quick", action="store_true", help="leave out the big cases; print the page, write nothing")
    parser.add_argument(
        "--only", nargs="+", metavar="CASE", choices=[case.name for case in CASES], help="as --quick, for these cases"
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes for each contender")
    return parser.parse_args()


if __name__ == "__main__":
    main()
