"""Put Dissensus, Label Studio and Potato under the same load, and write docs/benchmarks-peers.md.

The other tools are installed from the package index in environments of their own. Each tool is started as its
documentation says, with its default storage, Dissensus without its rate limits of raters, and has the same 350
conversations and 16 questions. A rater submits one annotation and gets the next item: all requests for which a browser
would wait. Then each is killed under load with SIGKILL, and the annotations that it acknowledged are looked for among
those that it stored.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from load import LoadResult, cpu_seconds
from tools import N_ITEMS, N_QUESTIONS, TOOLS, Finished, Submit, Tool, run_program

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results-peers.json", HERE.parent.parent / "docs" / "benchmarks-peers.md"


def main() -> None:
    """Measure all tools, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three seconds a run, nothing written")
    quick = parser.parse_args().quick
    rows = [row for tool in TOOLS for row in _measure(tool, seconds=3 if quick else 30)]
    kills = [_measure_kill(tool, seconds=3 if quick else 8) for tool in TOOLS]
    results = {"versions": {tool.name: tool.version() for tool in TOOLS}, "rows": rows, "kills": kills}
    if quick:
        print(page(results))
        return
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


def _measure(tool: Tool, *, seconds: float) -> Iterator[dict[str, Any]]:
    for n in (1, 8):
        with tempfile.TemporaryDirectory() as name, _running(tool, Path(name)) as (base, pid):
            tool.prepare(base, Path(name))
            print(f"{tool.name}, {n} raters ...", file=sys.stderr, flush=True)
            result, _ = _load(tool, base, n, pid=pid, seconds=seconds)
            yield {"tool": tool.name, "raters": n, "rss_mb": _rss(pid)} | result.row()


def _measure_kill(tool: Tool, *, seconds: float) -> dict[str, Any]:
    """Kill a tool under load, and count annotations that were acknowledged but not stored."""
    print(f"{tool.name}, killed ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _running(tool, folder) as (base, pid):
            tool.prepare(base, folder)
            killer = threading.Timer(seconds, os.killpg, (pid, signal.SIGKILL))
            _, acknowledged = _load(tool, base, 8, pid=pid, seconds=seconds + 5, begin=killer.start)
            killer.join()
        # After a restart
        with _running(tool, folder):
            stored = tool.stored_annotations(folder)
    return {"tool": tool.name, "acknowledged": len(acknowledged), "lost": len(set(acknowledged) - stored)}


def _load(
    tool: Tool, base: str, n: int, *, pid: int, seconds: float, begin: Callable[[], None] = lambda: None
) -> tuple[LoadResult, list[str]]:
    """Let raters work for some seconds, replacing those who have rated everything."""
    submits = [tool.rater(base, number) for number in range(n)]
    results = [LoadResult(0.0) for _ in submits]
    acknowledged: list[list[str]] = [[] for _ in submits]
    begin()
    before, start = cpu_seconds(pid), time.perf_counter()

    def work(submit: Submit, result: LoadResult, submitted: list[str]) -> None:
        while time.perf_counter() < start + seconds:
            since = time.perf_counter()
            try:
                done, received = submit()
            except Finished:
                submit = tool.rater(base, len(submitted))
                continue
            except (httpx.HTTPError, ValueError, KeyError) as error:
                result.errors.append(repr(error))
                return
            result.latencies.append(time.perf_counter() - since)
            result.received += received
            submitted.append(done)

    threads = [threading.Thread(target=work, args=each) for each in zip(submits, results, acknowledged, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = LoadResult(time.perf_counter() - start)
    total.cpu_s = max(0.0, cpu_seconds(pid) - before)  # A killed server may have left /proc
    for result in results:
        total.latencies += result.latencies
        total.received += result.received
        total.errors += result.errors
    return total, [annotation for annotations in acknowledged for annotation in annotations]


@contextmanager
def _running(tool: Tool, folder: Path) -> Iterator[tuple[str, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words, settings = tool.words(folder, port)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(words, cwd=folder, env={**os.environ, **settings}, start_new_session=True, **quiet)  # type: ignore[call-overload]
    base = f"http://127.0.0.1:{port}"
    try:
        _wait(base, server)
        yield base, server.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait(base: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(1_800):
        if server.poll() is not None:
            raise SystemExit(f"{server.args!r} ended before it answered.")
        with suppress(httpx.HTTPError):
            if httpx.get(base, timeout=2).status_code < 500:
                return
        time.sleep(0.1)
    raise SystemExit(f"{server.args!r} does not answer.")


def _rss(pid: int) -> float:
    """Return the resident memory of a process and its children in MB, from the KiB of ps."""
    output = run_program(["ps", "-o", "rss=", "--pid", str(pid), "--ppid", str(pid)])
    return sum(map(int, output.split())) * 1024 / 1e6


def page(results: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lines = [
        "<!-- made by benchmarks/web/peers.py; do not edit -->",
        "# Comparison with other tools",
        "",
        f"{versions}; Dissensus from this checkout, the others from the package index, each in a separate environment "
        "and started as its documentation says, with its default storage: SQLite for two of them, files for Potato. "
        "Dissensus runs without its limits on the saves of a rater and on the raters of an address, since simulated "
        f"raters are faster than people. The same {N_ITEMS} conversations of ten messages and {N_QUESTIONS} questions "
        "with three answers.",
        "",
        "One annotation comprises all requests that a browser waits for, including the next item: one in Dissensus, "
        "two in Label Studio, three in Potato. Raters submit the next one immediately. CPU is that of the server with "
        "all processes that it starts; times also depend on the load generator, which shares the processors. KB is the "
        "size of the responses to one annotation; memory is that of the server at the end.",
        "",
        "| Tool | raters | a second | p50 ms | p99 ms | CPU ms | KB | memory MB | errors |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *map(_line, results["rows"]),
        "",
        *_ratios(results["rows"]),
        "",
        "## Recovery after a kill",
        "",
        "Eight raters work when the server is killed (SIGKILL). After a restart, the stored annotations are compared "
        "with those that had been acknowledged.",
        "",
        "| Tool | acknowledged | lost |",
        "|---|--:|--:|",
        *(f"| {one['tool']} | {one['acknowledged']:,} | {one['lost']:,} |" for one in results["kills"]),
        "",
        "`make benchmark-peers` measures again.",
    ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    numbers = [row[name] for name in ("per_second", "p50_ms", "p99_ms", "cpu_ms", "kilobytes", "rss_mb")]
    cells = " | ".join("–" if number is None else f"{number:,.1f}" for number in numbers)
    return f"| {row['tool']} | {row['raters']} | {cells} | {row['errors']} |"


def _ratios(rows: list[dict[str, Any]]) -> Iterator[str]:
    busy = {row["tool"]: row for row in rows if row["raters"] == 8}
    ours = busy[TOOLS[0].name]
    for tool in TOOLS[1:]:
        cpu, tail = (busy[tool.name][name] / ours[name] for name in ("cpu_ms", "p99_ms"))
        sentence = f"- With 8 raters {tool.name} takes {cpu:.1f} times the CPU of {ours['tool']}"
        yield f"{sentence}, and its p99 is {tail:.1f} times as long."


if __name__ == "__main__":
    main()
