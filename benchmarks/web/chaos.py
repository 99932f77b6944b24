"""Disturb the site while raters save, and write benchmarks/web/chaos.json and docs/chaos.md.

Raters save over HTTP as the rating page does, with silent and slow connections beside them, while servers, workers and
databases are killed, frozen, cut off and filled. After each disturbance every acknowledged save must be in the export
exactly once, with its answer, and the audit must hold. `--soak` runs eight raters for longer, for the memory of the
server, and writes docs/generated/soak.md.
"""

import argparse
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from bystanders import IdleConnections, ReadinessProbe  # noqa: E402
from chaos_site import DisturbedSite, can_mount, find_libfaketime, running_servers, running_site  # noqa: E402
from disturbances import (  # noqa: E402
    CRASH_DATABASE,
    CUT_CONNECTIONS,
    FILL_DISK,
    FREEZE_WORKER,
    HOSTILE_REQUESTS,
    KILL_SERVER,
    KILL_WORKER,
    REST,
    RESTART_IN_TURN,
    SET_CLOCK_BACK,
    Disturbance,
    Pace,
)
from measure import machine  # noqa: E402
from outbox_raters import THOUGHT_S, Ledger, raters_at, summarise_latencies  # noqa: E402
from soak import IDLE_CONNECTIONS, run_soak, write_page  # noqa: E402

RESULTS, PEERS = HERE / "chaos.json", HERE / "results-peers.json"
DOCS = HERE.parent.parent / "docs"
PAGE = DOCS / "chaos.md"
N_RATERS, N_SHORT_RATERS = 16, 4
LEAST_S, SHORT_S, OVERHEAD_S = 4.0, 1.0, 12.0
"""Shortest disturbance, that of the short form, and what start and checks take besides, until it is measured."""
ENTRY_S = 120.0
"""Longest wait for all raters to enter and save once, before the disturbance."""
FAULTS = ("lost", "wrong", "doubled", "unknown", "unanswered", "refused", "audit")


@dataclass(frozen=True)
class Setup:
    """A site with the disturbances that it gets one after the other."""

    name: str
    backend: str
    workers: int
    disturbances: tuple[Disturbance, ...]
    small_disk: bool = False
    clock: bool = False
    proxied: bool = False


SETUPS = (
    Setup("SQLite, 1 worker", "sqlite", 1, (REST, KILL_SERVER, HOSTILE_REQUESTS)),
    Setup("SQLite, 2 workers", "sqlite", 2, (REST, KILL_SERVER, KILL_WORKER, FREEZE_WORKER)),
    Setup("SQLite on a small disk, 2 workers", "sqlite", 2, (FILL_DISK,), small_disk=True),
    Setup("SQLite, 2 workers, other clock", "sqlite", 2, (SET_CLOCK_BACK,), clock=True),
    Setup(
        "PostgreSQL, 2 workers",
        "postgresql",
        2,
        (REST, KILL_SERVER, KILL_WORKER, FREEZE_WORKER, CUT_CONNECTIONS, CRASH_DATABASE),
    ),
    Setup("PostgreSQL, 2 servers behind nginx", "postgresql", 1, (REST, RESTART_IN_TURN), proxied=True),
)
SHORT = (
    Setup("SQLite, 2 workers", "sqlite", 2, (KILL_SERVER, FREEZE_WORKER)),
    Setup("PostgreSQL, 2 servers behind nginx", "postgresql", 1, (RESTART_IN_TURN,), proxied=True),
)


def main() -> None:
    """Run all disturbances, the short form, or the soak; exit with 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9.0, help="time for all disturbances (default: 9)")
    parser.add_argument(
        "--only",
        metavar="TEXT",
        help="measure set-ups or disturbances with this text again, beside earlier results",
    )
    parser.add_argument("--short", action="store_true", help="three disturbances, for a second each; nothing written")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="eight raters for longer, instead")
    options = parser.parse_args()
    results = _load_results() | {"machine": _describe_machine()}
    if options.soak is not None:
        rows = [run_soak(60 * options.soak)]
        results["soak"] = rows[0]
    else:
        setups = _select(SHORT if options.short else SETUPS, options.only)
        rows = list(_run(setups, None if options.short else 60 * options.minutes))
        measured = _replace_rows(results.get("rows", []), rows) if options.only else rows
        results |= {"rows": measured, "skipped": _list_skipped(measured), "mounted": can_mount()}
    if options.short:
        print(json.dumps(rows, indent=1))
    else:
        _write(results)
    faults = [
        f"{row['setup']}, {row['disturbance']}: {row[name]} {name}" for row in rows for name in FAULTS if row[name]
    ]
    if faults:
        raise SystemExit("\n".join(faults))


def _select(among: Sequence[Setup], part: str | None) -> tuple[Setup, ...]:
    """Return the set-ups that can run here, with the disturbances whose names contain a text."""
    setups = [setup for setup in among if find_libfaketime() or not setup.clock]
    reduced = (
        replace(
            setup,
            disturbances=tuple(each for each in setup.disturbances if not part or part in f"{setup.name}: {each.name}"),
        )
        for setup in setups
    )
    return tuple(setup for setup in reduced if setup.disturbances)


def _replace_rows(earlier: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return earlier rows with the new ones in their places, in the order of the set-ups."""
    by_name = {(row["setup"], row["disturbance"]): row for row in (*earlier, *rows)}
    names = [(setup.name, disturbance.name) for setup in SETUPS for disturbance in setup.disturbances]
    return [by_name[name] for name in names if name in by_name]


def _list_skipped(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the disturbances without a row, with the reason."""
    measured = {(row["setup"], row["disturbance"]) for row in rows}
    return [
        f"{setup.name}, {disturbance.name}: "
        + ("no time was left" if find_libfaketime() or not setup.clock else "libfaketime is not installed")
        for setup in SETUPS
        for disturbance in setup.disturbances
        if (setup.name, disturbance.name) not in measured
    ]


def _run(setups: Sequence[Setup], seconds: float | None) -> Iterator[dict[str, Any]]:
    """Share the time among the disturbances; once it is over, the others are skipped."""
    end, overhead = time.monotonic() + (seconds or 0), OVERHEAD_S
    n_left = sum(len(setup.disturbances) for setup in setups)
    for setup in setups:
        start = time.monotonic()
        if seconds is not None and start > end:
            return
        with _run_site(setup) as site:
            ledger = Ledger()
            for disturbance in setup.disturbances:
                if seconds is not None and start > end:
                    return
                share = (end - start) / n_left
                length = SHORT_S if seconds is None else max(LEAST_S, share - overhead)
                print(f"{setup.name}: {disturbance.name}, {length:.0f} s ...", file=sys.stderr, flush=True)
                row = _disturb(
                    site, disturbance, ledger, length, n_raters=N_SHORT_RATERS if seconds is None else N_RATERS
                )
                yield {"setup": setup.name} | row
                overhead = (overhead + time.monotonic() - start - length) / 2
                start, n_left = time.monotonic(), n_left - 1


def _run_site(setup: Setup) -> AbstractContextManager[DisturbedSite]:
    if setup.proxied:
        return running_servers(setup.backend, setup.workers)
    return running_site(setup.backend, setup.workers, small_disk=setup.small_disk, clock=setup.clock)


def _disturb(
    site: DisturbedSite, disturbance: Disturbance, ledger: Ledger, seconds: float, *, n_raters: int
) -> dict[str, Any]:
    """Disturb the site for some seconds, and check all saves so far."""
    before, memory = len(ledger.acknowledged), site.memory_mib()
    ledger.latencies, ledger.n_retries = [], 0
    with (
        raters_at(site.base_url, site.key, ledger, n_raters),
        IdleConnections(site.entrance or site.port) as idle,
        ReadinessProbe(site.base_url) as probe,
    ):
        end = time.monotonic() + ENTRY_S
        while len(ledger.acknowledged) < before + n_raters and time.monotonic() < end:
            time.sleep(0.05)
        n = disturbance.act(site, Pace(time.monotonic() + seconds, Random(before), ledger))
    return {
        "disturbance": disturbance.name,
        "seconds": round(seconds, 1),
        "n": n,
        "saves": len(ledger.acknowledged) - before,
        "retries": ledger.n_retries,
        "save": summarise_latencies(ledger.latencies),
        "readyz": summarise_latencies(probe.latencies) | {"failures": probe.n_failures},
        "longest_outage_s": probe.longest_outage_s,
        "memory_mib": [memory, site.memory_mib()],
        "idle_connections_ended": idle.n_ended,
    } | site.check(ledger)


def _load_results() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text("utf-8"))) if RESULTS.exists() else {}


def _describe_machine() -> dict[str, Any]:
    return machine() | {"dissensus": version("dissensus"), "sqlite": sqlite3.sqlite_version}


def _write(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if "rows" in results:
        PAGE.write_text(page(results), encoding="utf-8")
    if "soak" in results:
        write_page(results["soak"])


def page(results: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    machine, rows = results["machine"], results["rows"]
    n_saves = sum(row["saves"] for row in rows)
    n_disturbances = sum(row["n"] for row in rows if row["disturbance"] != HOSTILE_REQUESTS.name)
    n_requests = sum(row["n"] for row in rows) - n_disturbances
    disk = (
        "The disk is a file system of 24 MiB that another file fills until saves are refused (503), and"
        if results["mounted"]
        else "No mount was allowed: instead of a full disk, files may not grow until saves are refused (503), and"
    )
    faults = {name: sum(row[name] for row in rows) for name in ("lost", "wrong", "doubled")}
    lines = [
        "<!-- made by benchmarks/web/chaos.py; do not edit -->",
        "# Disturbances",
        "",
        f"`make chaos` starts `dissensus serve` and simulates {N_RATERS} raters who save over HTTP, as the rating page "
        "does: a draft, then the final answers, retried with the same id until the save is acknowledged. A rater "
        f"pauses for {2 * THOUGHT_S[0]:g} to {2 * THOUGHT_S[1]:g} seconds per item. Meanwhile {IDLE_CONNECTIONS}. "
        "Except for the number of workers the site has its default settings, and PostgreSQL has `fsync` on.",
        "",
        "After each disturbance, `dissensus export` is searched for all saves acknowledged so far: "
        f"{n_saves:,} saves, {n_disturbances:,} disturbances and {n_requests:,} hostile requests, "
        f"**{faults['lost']} lost, "
        f"{faults['wrong']} wrong, {faults['doubled']} doubled**. `dissensus audit` {_describe_audits(rows)}.",
        "",
        "## Saves",
        "",
        *_tabulate_by_setup(
            "| Disturbance | Times | Acknowledged | Sent again | Lost, wrong, doubled | Audit |",
            "|---|--:|--:|--:|--:|---|",
            rows,
            _format_saves,
        ),
        "",
        *(f"- Skipped: {line}." for line in results["skipped"]),
        *([""] if results["skipped"] else []),
        f"{disk} for two seconds more. Hostile requests follow one another without pause: quoted cookies of 8 and "
        "60 KB, headers of 200 KB and bodies of 3 MB without a session, and, from an owner, definitions that are "
        "costly to parse. libfaketime, which sets the clock, makes each request slower.",
        "",
        "## Latency and memory",
        "",
        "The time of a save is from the first try to the acknowledgement, including restarts and pauses between tries. "
        "`/readyz` is requested four times a second. An outage is the longest time between two answers that the site "
        "is ready. Memory is that of all processes of the site, before and after; killed processes start again. "
        f"Raters, probes and site share {machine['cores']} cores ({machine['processor']}, Python {machine['python']}, "
        f"SQLite {machine['sqlite']}).",
        "",
        "Times are median, 95th percentile and maximum in milliseconds, outages in seconds, memory in MiB.",
        "",
        *_tabulate_by_setup(
            "| Disturbance | Save | `/readyz` | Outage | Memory |",
            "|---|--:|--:|--:|--:|",
            rows,
            _format_latencies,
        ),
        "",
        *_compare_peers(),
        "Both servers behind nginx are on the same machine. Loss of power, a second machine, and a full disk of "
        "PostgreSQL are not part of it. `make chaos` measures again within ten minutes; "
        "`make chaos ARGS='--soak 60'` runs the [soak](operation.md#disturbances).",
    ]
    return "\n".join(lines) + "\n"


def _describe_audits(rows: Sequence[dict[str, Any]]) -> str:
    n_held = sum(row["audit"] == 0 for row in rows)
    return f"held {n_held} of {len(rows)} times"


def _tabulate_by_setup(
    head: str, alignment: str, rows: Sequence[dict[str, Any]], to_line: Callable[[dict[str, Any]], str]
) -> Iterator[str]:
    """Yield a table whose rows stand below the name of their set-up, which would make it wider than a page."""
    yield from (head, alignment)
    columns = head.count("|") - 1
    for setup, group in groupby(rows, key=itemgetter("setup")):
        yield f"| **{setup}** |" + " |" * (columns - 1)
        yield from map(to_line, group)


def _format_saves(row: dict[str, Any]) -> str:
    counts = " | ".join(f"{row[name]:,}" for name in ("n", "saves", "retries"))
    faults = ", ".join(f"{row[name]:,}" for name in ("lost", "wrong", "doubled"))
    return f"| {row['disturbance']} | {counts} | {faults} | {'broken' if row['audit'] else 'holds'} |"


LATENCIES = ("median_ms", "p95_ms", "max_ms")


def _format_latencies(row: dict[str, Any]) -> str:
    cells = " | ".join(
        " / ".join("–" if row[kind][name] is None else f"{row[kind][name]:,.0f}" for name in LATENCIES)
        for kind in ("save", "readyz")
    )
    memory = " → ".join(f"{number:,.0f}" for number in row["memory_mib"])
    return f"| {row['disturbance']} | {cells} | {row['longest_outage_s']:.1f} | {memory} |"


def _compare_peers() -> Iterator[str]:
    """Yield what `make benchmark-peers` measured of other tools."""
    if not PEERS.exists():
        return
    kills = json.loads(PEERS.read_text("utf-8"))["kills"]
    lost = ", ".join(kill["tool"] for kill in kills if kill["lost"])
    yield from (
        "## Other tools",
        "",
        "Of other tools only one kill (SIGKILL) under eight raters was measured, see [](benchmarks-peers.md): "
        + (f"acknowledged annotations were lost by {lost}." if lost else "none lost an acknowledged annotation."),
        "",
        "| Tool | Acknowledged | Lost |",
        "|---|--:|--:|",
    )
    yield from (f"| {kill['tool']} | {kill['acknowledged']:,} | {kill['lost']:,} |" for kill in kills)
    yield ""


if __name__ == "__main__":
    main()
