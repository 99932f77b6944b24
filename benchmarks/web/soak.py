"""Soak test: raters on a site that is restarted and killed, and the memory of its processes over that time."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from bystanders import N_OF_EACH, IdleConnections, ReadinessProbe
from chaos_site import DisturbedSite, count_files, read_resident_kib, running_site
from outbox_raters import Ledger, raters_at, summarise_latencies
from reproduce.comparison import table
from reproduce.gallery import picture

from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import stack_layers
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, LINE, MUTED, PADDING, TEXT_WIDTH, VERMILION
from dissensus.report.graphics.vega_lite import Axis, Chart, Color, DetailChannel, Scale, Spec, X, Y

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
SAMPLES, PAGE = HERE / "soak.csv", DOCS / "generated" / "soak.md"
PICTURES = {TEXT_WIDTH: DOCS / "_static" / "soak.svg", COLUMN_WIDTH: DOCS / "_static" / "soak-narrow.svg"}
N_RATERS, N_WORKERS = 8, 2
N_SAMPLES, N_PRINTED = 120, 12
WARM = 0.3
"""Part of the last run that counts as warm-up, when caches fill."""
SUPERVISOR = "supervisor"
COLORS = {SUPERVISOR: MUTED, "worker 1": BLUE, "worker 2": VERMILION}
HEIGHT = 200
IDLE_CONNECTIONS = (
    f"{N_OF_EACH} connections of each of four kinds are open: they send nothing, half a request head, or a body byte "
    "by byte, or read responses byte by byte"
)
"""Idle and slow connections, as pages describe them."""


def run_soak(seconds: float) -> dict[str, Any]:
    """Run for some seconds, with a restart after a fifth of them and a kill after two; write samples of memory."""
    with running_site("sqlite", N_WORKERS) as site:
        ledger, samples, start = Ledger(), list[dict[str, Any]](), time.monotonic()
        ends = {N_SAMPLES // 5: site.stop, 2 * N_SAMPLES // 5: site.kill}
        n_ended = 0
        with (
            raters_at(site.base_url, site.key, ledger, N_RATERS),
            IdleConnections(site.port) as idle,
            ReadinessProbe(site.base_url) as probe,
        ):
            for i in range(N_SAMPLES + 1):
                time.sleep(max(0.0, start + i * seconds / N_SAMPLES - time.monotonic()))
                now = {"minutes": (time.monotonic() - start) / 60, "run": n_ended + 1}
                samples += (now | process for process in _list_processes(site))
                if i % (N_SAMPLES // N_PRINTED) == 0:
                    print(samples[-1], len(ledger.acknowledged), "saves", file=sys.stderr, flush=True)
                if i in ends:
                    ends[i]()
                    site.start()
                    n_ended += 1
        SAMPLES.write_text(pl.DataFrame(samples).write_csv(float_precision=1), encoding="utf-8")
        return {
            "setup": f"SQLite, {N_WORKERS} workers",
            "disturbance": "soak",
            "minutes": seconds / 60,
            "raters": N_RATERS,
            "retries": ledger.n_retries,
            "save": summarise_latencies(ledger.latencies),
            "readyz": summarise_latencies(probe.latencies) | {"failures": probe.n_failures},
            "longest_outage_s": probe.longest_outage_s,
            "idle_connections_ended": idle.n_ended,
        } | site.check(ledger)


def _list_processes(site: DisturbedSite) -> Iterator[dict[str, Any]]:
    """Yield memory, open files and load of the machine for each process of the site."""
    supervisor, workers = site.processes()[0], sorted(site.workers())
    named = {SUPERVISOR: supervisor} | {f"worker {n}": pid for n, pid in enumerate(workers, start=1)}
    for name, pid in named.items():
        memory = {"memory_mib": read_resident_kib(pid) / 1024, "files": count_files(pid)}
        yield {"process": name} | memory | {"load": os.getloadavg()[0]}


def write_page(soak: dict[str, Any]) -> None:
    """Write the page that the documentation includes, and its pictures."""
    samples = pl.read_csv(SAMPLES)
    figure = memory_figure(samples)
    for width, path in PICTURES.items():
        path.write_text(picture(figure, width), encoding="utf-8")
    PAGE.write_text("\n".join(page(soak, samples, figure)) + "\n", encoding="utf-8")


def page(soak: dict[str, Any], samples: pl.DataFrame, figure: Figure) -> Iterator[str]:
    """Yield the lines of the page."""
    save, readyz = soak["save"], soak["readyz"]
    yield "<!-- made by benchmarks/web/chaos.py; do not edit -->"
    yield (
        f"Measured for {soak['minutes']:.0f} minutes: {soak['raters']} raters on {soak['setup']}, one restart "
        f"(SIGTERM) and one kill (SIGKILL) of all processes. Meanwhile {IDLE_CONNECTIONS}, and are opened again when "
        f"the site ends them, {soak['idle_connections_ended']:,} times. "
        f"**{soak['acknowledged']:,} saves were acknowledged: {soak['lost']} lost, {soak['wrong']} wrong, "
        f"{soak['doubled']} doubled**; the audit "
        f"{'broke' if soak['audit'] else 'holds'}. {soak['retries']:,} requests were sent again. A save took "
        f"{save['median_ms']:,.0f} ms in the median and {save['p95_ms']:,.0f} ms at the 95th percentile, `/readyz` "
        f"{readyz['median_ms']:,.0f} and {readyz['p95_ms']:,.0f} ms. The longest outage took "
        f"{soak['longest_outage_s']:.0f} s; at a restart, requests in progress get 30 s, and slow readers use them.\n"
    )
    yield f"**{figure.title}.** {figure.reading}\n"
    for name, path in zip(("wide", "narrow"), PICTURES.values(), strict=True):
        yield f"![{figure.title}](_static/{path.name}){{.{name}}}"
    yield ""
    yield from table(
        ("Run", "Process", "Minutes", "MiB at first", "Last", "Most", "Open files at first", "Last", "Most"),
        (
            (
                str(row["run"]),
                row["process"],
                f"{row['from']:.0f}–{row['until']:.0f}",
                *(f"{row[f'{kind}_{column}']:,.0f}" for column in ("memory_mib", "files") for kind in _KINDS),
            )
            for row in summarise(samples).iter_rows(named=True)
        ),
        right=tuple(range(3, 9)),
    )


_KINDS = ("first", "last", "most")


def summarise(samples: pl.DataFrame) -> pl.DataFrame:
    """Return first, last and largest values of each process of each run."""
    columns = ("memory_mib", "files")
    return samples.group_by("run", "process", maintain_order=True).agg(
        pl.col("minutes").min().alias("from"),
        pl.col("minutes").max().alias("until"),
        pl.col(columns).first().name.prefix("first_"),
        pl.col(columns).last().name.prefix("last_"),
        pl.col(columns).max().name.prefix("most_"),
    )


def select_warm(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of workers in the last run after its warm-up."""
    last = samples.filter(pl.col("run") == pl.col("run").max(), pl.col("process") != SUPERVISOR)
    minutes = pl.col("minutes")
    return last.filter(minutes >= minutes.min() + WARM * (minutes.max() - minutes.min()))


def measure_growth(warm: pl.DataFrame) -> dict[str, float]:
    """Return the growth of each worker in MiB an hour, by least squares."""
    slope = pl.cov("minutes", "memory_mib") / pl.col("minutes").var()
    return dict(warm.group_by("process", maintain_order=True).agg(60 * slope).iter_rows())


def memory_figure(samples: pl.DataFrame) -> Figure:
    """Return the figure of the memory of each process over time."""
    warm = select_warm(samples)
    start = warm["minutes"].min()
    rates = " and ".join(f"{rate:+,.1f} MiB" for rate in measure_growth(warm).values())
    return Figure(
        name="soak",
        title="Resident memory of each process",
        reading=f"From minute {start:.0f} to the end, the memory of the workers changed by {rates} an hour.",
        table=samples,
        draw=lambda width: _draw(samples, width),
    )


def _draw(samples: pl.DataFrame, width: int) -> Spec:
    points = samples.select("minutes", "memory_mib", "process", line=pl.format("{} {}", "process", "run"))
    ends = samples.group_by("run").agg(pl.col("minutes").max()).sort("run")["minutes"].to_list()[:-1]
    names = [name for name in COLORS if name in samples["process"]]
    color = Scale(domain=names, range=[COLORS[name] for name in names])
    x = X("minutes:Q", title="minutes", scale=Scale(nice=False), axis=Axis(grid=False, format=".0f"))
    y = Y("memory_mib:Q", title="MiB", scale=Scale(zero=True), axis=Axis(tickCount=4))
    lines = Chart(points.to_dicts()).mark("line", strokeWidth=1.5, clip=True)
    rules = Chart([{"minutes": end} for end in ends]).mark("rule", color=LINE, strokeDash=[4, 3])
    layers = [rules.encode(x), lines.encode(x, y, Color("process:N", scale=color), DetailChannel("line:N"))]
    return stack_layers(layers, width=width - 2 * PADDING - 48, height=HEIGHT)
