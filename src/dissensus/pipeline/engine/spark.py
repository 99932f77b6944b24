"""Spark engine: tasks on the executors of a cluster read rows, code blocks of items and pass over them."""

import atexit
import os
import re
import shutil
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import Unavailable
from dissensus.extras import require_extra
from dissensus.pipeline.engine.stream import add_run, number_runs
from dissensus.stats.design import Block

_NO_JAVA: Final = (
    "--engine spark needs Java 17 or newer, and there is no java on PATH nor in JAVA_HOME. Install it (Debian, Ubuntu: "
    "apt install openjdk-17-jre-headless; macOS: brew install openjdk@17), or set JAVA_HOME."
)

_SHELL: Final = "pyspark-shell"
"""Name that Spark gives an application without a name."""
_FILE_ERROR: Final = re.compile(
    r"^(polars\.exceptions\.|pyo3_runtime\.|OSError|FileNotFoundError|PermissionError)", re.MULTILINE
)
"""Last line of a Python traceback for an error of polars, or of reading a file."""

Part = tuple[int, Any]


class FailedJob(Unavailable):
    """A job of Spark failed, after all attempts."""


class FailedRead(FailedJob, OSError):
    """A job of Spark failed at a file, after all attempts."""


@dataclass(frozen=True, slots=True, eq=False)
class SparkCluster:
    """Connection to Spark."""

    context: Any

    def map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        """Yield what a function returns for each part, in order."""
        all_parts = list(parts)
        with _name_failures(self.context):
            rows = self.context.parallelize(all_parts, max(1, len(all_parts))).map(function)
            n_at_once = 2 * self.parallelism  # The results have unknown sizes
        return self._collect(rows, n_at_once)

    @property
    def parallelism(self) -> int:
        """Number of tasks that run at once, about."""
        return max(1, int(self.context.defaultParallelism))

    @property
    def result_bytes(self) -> int:
        """Memory for results that are returned at once: a quarter of Java's, which `spark.driver.memory` sets."""
        return int(self.context._jvm.java.lang.Runtime.getRuntime().maxMemory()) // 4

    def collect(self, rows: Any, n_bytes: int) -> Iterator[Any]:
        """Yield the elements of an RDD in order; `n_bytes` is the size of the largest partition.

        As many partitions are returned at once as fit into `result_bytes`.
        """
        with _name_failures(self.context):
            n_at_once = max(1, self.result_bytes // max(1, n_bytes))
        return self._collect(rows, n_at_once)

    def _collect(self, rows: Any, n_at_once: int) -> Iterator[Any]:
        n_partitions = rows.getNumPartitions()
        for low in range(0, n_partitions, n_at_once):
            with _name_failures(self.context):
                part = self.context.runJob(rows, list, range(low, min(n_partitions, low + n_at_once)))
            yield from part

    def code(
        self,
        read: Callable[[Any], Iterable[Part]],
        parts: Iterable[Any],
        code: Callable[[int, list[Any]], Any],
        n_blocks: int,
    ) -> Any:
        """Return an RDD of coded blocks in order, one partition for each run of blocks.

        `read` yields number and rows of each block that a part has rows of, and `code` gets the rows of a block in the
        order of the parts. The blocks are kept on the disks of the executors. Those of an executor that is lost are
        read and coded again. With the last reference to the RDD the disks are freed.
        """
        from pyspark import StorageLevel

        numbered, runs = list(enumerate(parts)), number_runs(n_blocks)
        with _name_failures(self.context):
            rows = self.context.parallelize(numbered, len(numbered)).flatMap(partial(_read_part, read))
            sorted_rows = rows.repartitionAndSortWithinPartitions(int(runs[-1]) + 1, partial(_find_run, runs))
            coded = sorted_rows.mapPartitions(partial(_code_run, code)).persist(StorageLevel.DISK_ONLY)
        weakref.finalize(coded, _free, coded._jrdd).atexit = False  # Spark ends itself
        return coded


@dataclass(frozen=True, slots=True, eq=False)
class SparkEngine:
    """Coded blocks on the executors of a cluster."""

    cluster: SparkCluster
    coded: Any  # RDD of coded blocks in order, one partition for each run of blocks
    n_blocks: int
    decode: Callable[[Any], Block | None]  # Pure, since it is sent to the executors; None for a block without ratings

    @property
    def chunk_bytes(self) -> int:
        """Memory limit of the totals of one pass, which are returned for each run of blocks."""
        return max(1 << 24, self.cluster.result_bytes // self.cluster.parallelism)

    def add(self, fill: Callable[..., None], *totals: npt.NDArray[Any]) -> None:
        """Call ``fill(block, *totals)`` for each block where it lies, and add the totals of each run of blocks."""
        shapes = [(total.shape, total.dtype) for total in totals]
        runs = self.coded.mapPartitions(partial(_add_partition, self.decode, fill, shapes))
        for parts in self.cluster.collect(runs, sum(total.nbytes for total in totals)):
            for total, part in zip(totals, parts, strict=True):
                total += part


def connect_spark() -> SparkCluster:
    """Connect to the Spark of spark-submit, or that of the settings of Spark, which is this machine by default."""
    # The warning is about versions of pandas, which is not used.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    with require_extra("--engine spark", "spark"):
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
    if SparkContext._active_spark_context is not None:
        return _check_running(SparkContext._active_spark_context)
    if not _has_java():
        raise Unavailable(_NO_JAVA)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        SparkContext._ensure_initialized()  # Java knows the settings that are not from here
        settings = SparkConf(_jvm=SparkContext._jvm)
        if settings.get("spark.app.name", _SHELL) == _SHELL:
            settings.setAppName("dissensus")
        settings.set("spark.ui.showConsoleProgress", "false")  # Spark sets it itself, unless it runs a script
        settings.setIfMissing("spark.log.level", "ERROR")
        settings.setIfMissing("spark.driver.maxResultSize", "0")  # `collect` bounds the results
        # Spark sets OMP_NUM_THREADS in the same way
        settings.setIfMissing("spark.executorEnv.POLARS_MAX_THREADS", settings.get("spark.task.cpus", "1"))
        context = SparkContext.getOrCreate(settings)
    except PySparkException as error:
        raise Unavailable(f"Spark does not start: {error} Its own messages are above.") from None
    atexit.register(context.stop)  # Before Java ends, so that executors are not started again
    return _check_running(context)


def _check_running(context: Any) -> SparkCluster:
    """Return a cluster; stop and refuse a context whose master did not answer, so that the next call may start one."""
    if _is_stopped(context):
        context.stop()
        raise _describe_stop(context)
    return SparkCluster(context)


def _is_stopped(context: Any) -> bool:
    """Return whether Spark has stopped, or Java has ended."""
    from py4j.protocol import Py4JError

    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True


def _describe_stop(context: Any) -> Unavailable:
    return Unavailable(
        f"Spark has stopped: its master {context.master} does not answer, or the application was ended. Check that the "
        "master runs, and what PYSPARK_SUBMIT_ARGS, spark-submit or spark-defaults.conf name as --master. Spark's own "
        "messages are above."
    )


def _free(rows: Any) -> None:
    """Free the disks of the executors from an RDD of Java."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):  # Spark may have stopped
        rows.unpersist(False)


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (home is not None and Path(home, "bin", "java").exists()) or shutil.which("java") is not None


@contextmanager
def _name_failures(context: Any) -> Iterator[None]:
    """Turn a job that failed after all of its retries into an error with the last line of its cause."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as error:
        if _is_stopped(context):
            raise _describe_stop(context) from error
        # The last line above the stack of Java is the error of a task, or why the job ended.
        cause = str(error).partition("\n\tat ")[0].partition("\n SQLSTATE")[0].strip()
        failure = FailedRead if _FILE_ERROR.search(cause) else FailedJob
        raise failure(f"Spark gave up after several attempts: {cause.splitlines()[-1].removeprefix(': ')}") from error


def _read_part(read: Callable[[Any], Iterable[Part]], numbered: Part) -> Iterator[tuple[tuple[int, int], Any]]:
    number, part = numbered
    for block, rows in read(part):
        yield (block, number), rows


def _find_run(runs: npt.NDArray[np.int64], key: tuple[int, int]) -> int:
    return int(runs[key[0]])


def _code_run(code: Callable[[int, list[Any]], Any], rows: Iterable[tuple[tuple[int, int], Any]]) -> Iterator[Any]:
    for number, group in groupby(rows, key=lambda row: row[0][0]):
        yield code(number, [part for _, part in group])


def _add_partition(
    decode: Callable[[Any], Block | None], fill: Callable[..., None], shapes: list[Any], coded: Iterable[Any]
) -> Iterator[list[npt.NDArray[Any]]]:
    yield add_run(filter(None, map(decode, coded)), fill, shapes)
