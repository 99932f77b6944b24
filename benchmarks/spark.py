"""Measure analyses on executors of Spark beside streaming of the same files, and write docs/generated/spark.md.

    .venv-spark/bin/python -m benchmarks.spark 1e6 1e7 [--executors 0 1 2 4] [--files 20] [--permutations 10]

No executors are the streaming engine. Each run is the command `dissensus analyse` in processes of its own, on a cluster
of one machine (`local-cluster`); its results replace those of the same size in benchmarks/spark.json. It needs Linux,
which tells the processor time of processes whose parents have ended. `make .venv-spark/.ready` makes the environment.
"""

import argparse
import ctypes
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped]
from benchmarks.partitions import DOCS, Row, write_ratings
from reproduce.comparison import table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = DOCS / "generated" / "spark.md"
COMMAND = (str(Path(sys.executable).with_name("dissensus")), "analyse")
OPTIONS = ("--by", "gender", "--by", "age", "--format", "json", "--engine")
ROWS_PER_FILE: Final = 500_000
EXECUTOR_MB: Final = 1024
KEYS: Final = ("permutations", "ratings", "files", "executors")
_SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER of prctl: processes whose parents have ended become children of this one."""


def run(folder: Path, executors: int, permutations: int) -> Row:
    """Run the command, and return its time, the work of its processes and what Spark counted."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = " ".join(f"--conf spark.{name}={value}" for name, value in _settings(scratch).items())
        arguments = f"--master local-cluster[{executors},1,{EXECUTOR_MB}] {settings} pyspark-shell"
        variables = {"PYSPARK_SUBMIT_ARGS": arguments, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": scratch}
        engine = "spark" if executors else "streaming"
        words = [*COMMAND, str(folder), *OPTIONS, engine, "--permutations", str(permutations)]
        row, output = measure(words if executors else _leave_out_engine(words), os.environ | variables)
        analysis = json.loads(output)
        row["digest"] = hashlib.sha256(json.dumps([analysis["overall"], analysis["rows"]]).encode()).hexdigest()
        return row | (count_events(next(Path(scratch).glob("app-*"))) if executors else {})


def _settings(scratch: str) -> dict[str, Any]:
    log = {"enabled": "true", "dir": f"file://{scratch}", "compress": "false", "rolling.enabled": "false"}
    return {"ui.enabled": "false", "local.dir": scratch} | {f"eventLog.{name}": value for name, value in log.items()}


def _leave_out_engine(words: list[str]) -> list[str]:
    at = words.index("--engine")
    return words[:at] + words[at + 2 :]


def measure(words: list[str], variables: dict[str, str]) -> tuple[Row, bytes]:
    """Return time, processor time and memory of a command with all of its processes, and its output."""
    row: Row = {"load": os.getloadavg()[0]}
    before, start = _read_processor_time(), time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, env=variables, stdout=output, stderr=subprocess.PIPE)
        peak = {"memory_gb": 0.0, "java_memory_gb": 0.0}
        times: dict[int, tuple[str, float]] = {}
        while process.poll() is None:
            memory = _sample(times)
            if sum(memory.values()) > peak["memory_gb"]:
                peak = {"memory_gb": sum(memory.values()), "java_memory_gb": memory["java"]}
            time.sleep(0.3)
        row["clock_s"] = time.perf_counter() - start
        _, errors = process.communicate()
        if process.returncode:
            raise SystemExit(errors.decode())
        with suppress(ChildProcessError):
            while True:
                os.wait()  # Of Java and executors, which may end after the command
        output.seek(0)
        # Workers of PySpark are not waited for, so that their time is in no sum of the system.
        ended, seen = _read_processor_time() - before, sum(seconds for _, seconds in times.values())
        java = sum(seconds for kind, seconds in times.values() if kind == "java")
        row |= {"cpu_s": max(ended, seen), "java_cpu_s": java, **peak}
        return row, output.read()


def _sample(times: dict[int, tuple[str, float]]) -> dict[str, float]:
    """Return the memory of all descendants in GB, pages that several share in parts, and note their kinds and times."""
    memory = {"java": 0.0, "python": 0.0}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            kind = "java" if process.name() == "java" else "python"
            memory[kind] += process.memory_full_info().pss / 1e9
            spent = process.cpu_times()
            times[process.pid] = kind, spent.user + spent.system
    return memory


def _read_processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def count_events(log: Path) -> Row:
    """Return stages, tasks and bytes of an event log of Spark."""
    row: Row = dict.fromkeys(("stages", "tasks", "failed", "written", "read", "home"), 0)
    with log.open(encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            row["stages"] += event["Event"] == "SparkListenerStageCompleted"
            if event["Event"] == "SparkListenerTaskEnd":
                metrics = event["Task Metrics"]
                shuffled = metrics["Shuffle Read Metrics"]
                row["tasks"] += 1
                row["failed"] += event["Task End Reason"]["Reason"] != "Success"
                row["written"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                row["read"] += shuffled["Remote Bytes Read"] + shuffled["Local Bytes Read"]
                row["home"] += metrics["Result Size"]
    return row


def main() -> None:
    """Measure, and write the page from all results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ratings", type=float, nargs="*")
    parser.add_argument("--executors", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--files", type=int, help=f"default: one for each {ROWS_PER_FILE:,} ratings")
    parser.add_argument("--permutations", type=int, default=0)
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
    for n_ratings in map(int, options.ratings):
        n_files = options.files or -(-n_ratings // ROWS_PER_FILE)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "ratings")
            write_ratings(folder, n_ratings, shuffled=False, rows_per_file=-(-n_ratings // n_files))
            for executors in options.executors:
                sizes = (options.permutations, n_ratings, n_files, executors)
                row = dict(zip(KEYS, sizes, strict=True)) | run(folder, executors, options.permutations)
                row |= {"python": platform.python_version(), "processors": os.cpu_count()}
                results = [other for other in results if any(other[key] != row[key] for key in KEYS)] + [row]
                results.sort(key=lambda row: tuple(row[key] for key in KEYS))
                RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    check_outputs(results)
    PAGE.write_text("\n".join(page(results)) + "\n", "utf-8")


def check_outputs(results: list[Row]) -> None:
    """Refuse outputs that depend on the engine, the executors or the files."""
    for size in {(row["permutations"], row["ratings"]) for row in results}:
        digests = {row["digest"] for row in results if (row["permutations"], row["ratings"]) == size}
        if len(digests) > 1:
            raise SystemExit(f"Outputs differ for {size[1]:,} ratings and {size[0]} permutations.")


def page(results: list[Row]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "% Made by `benchmarks/spark.py`; do not edit.\n"
    yield from table(
        ("Ratings, million", "Executors", "Time", "Processors", "GB", "Tasks", "Shuffled, to the driver"),
        map(_describe_run, results),
        right=(0, *range(2, 7)),
    )
    yield ""
    yield from compare(results)


def _describe_run(row: Row) -> tuple[str, ...]:
    """Return a line of the table, with the part of Java in brackets."""
    of_spark = row["executors"] > 0
    files = "" if _has_full_files(row) else f", {row['files']:,} files"
    drawn = f", {row['permutations']} permutations" if row["permutations"] else ""
    return (
        f"{row['ratings'] / 1e6:,.0f}{files}{drawn}",
        f"{row['executors']}" if of_spark else "streaming",
        f"{row['clock_s']:,.0f} s",
        f"{row['cpu_s']:,.0f} s" + of_spark * f" ({row.get('java_cpu_s', 0):,.0f})",
        f"{row['memory_gb']:.2f}" + of_spark * f" ({row.get('java_memory_gb', 0):.2f})",
        f"{row['tasks']:,}" if of_spark else "",
        f"{row['written'] / 1e6:,.1f}, {row['home'] / 1e6:,.1f} MB" if of_spark else "",
    )


def _has_full_files(row: Row) -> bool:
    return bool(row["files"] == -(-row["ratings"] // ROWS_PER_FILE))


def _name_engine(executors: int) -> str:
    return f"{executors} executor{'s' if executors > 1 else ''}" if executors else "streaming"


def compare(results: list[Row]) -> Iterator[str]:
    """Yield as a list the speed-up by executors, and the cost of further ratings and files."""
    sizes = sorted({(row["permutations"], row["ratings"], row["files"]) for row in results})
    for size in sizes:
        of_size = {row["executors"]: row for row in results if tuple(row[key] for key in KEYS[:3]) == size}
        if {0, 1, 2, 4} <= of_size.keys():
            yield _describe_speed_up(of_size)
    for executors in (0, 2):
        rows = [
            row for row in results if row["executors"] == executors and not row["permutations"] and _has_full_files(row)
        ]
        if len(rows) > 1:
            slopes = ", ".join(
                f"{1e6 * (high['cpu_s'] - low['cpu_s']) / (high['ratings'] - low['ratings']):.2f} s from "
                f"{low['ratings']:,} to {high['ratings']:,}"
                for low, high in pairwise(rows)
            )
            yield f"- Processor time of a million further ratings, {_name_engine(executors)}: {slopes}."
    for n_ratings in sorted({row["ratings"] for row in results}):
        rows = [row for row in results if (row["ratings"], row["executors"], row["permutations"]) == (n_ratings, 2, 0)]
        if len(rows) > 1:
            slopes = ", ".join(
                f"{100 * (high['cpu_s'] - low['cpu_s']) / (high['files'] - low['files']):.1f} s from {low['files']:,} "
                f"to {high['files']:,}"
                for low, high in pairwise(rows)
            )
            yield f"- Processor time of a hundred further files of {n_ratings:,} ratings, 2 executors: {slopes}."


def _describe_speed_up(of_size: dict[int, Row]) -> str:
    one, first = of_size[1], of_size[0]
    gains = ", ".join(f"{one['clock_s'] / of_size[n]['clock_s']:.2f} with {n}" for n in (2, 4))
    drawn = f" and {one['permutations']} permutations" if one["permutations"] else ""
    return (
        f"- {one['ratings']:,} ratings{drawn}: one executor takes {one['cpu_s'] / first['cpu_s']:.1f} times the "
        f"processor time of streaming, and {one['clock_s'] / first['clock_s']:.1f} times its time; times as fast as "
        f"one: {gains}."
    )


if __name__ == "__main__":
    main()
