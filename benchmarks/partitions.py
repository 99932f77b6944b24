"""Measure analyses of folders of Parquet files, and write docs/generated/partitions.md with its figure.

    python -m benchmarks.partitions 1e7 [--task labels] [--shuffled] [--permutations 10] [--folder DIR]

Each run is a process of its own, whose results replace those of the same task, size, order and permutations in
benchmarks/partitions.json. The files
are written to a folder once, and left there if it is named.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from reproduce.comparison import table
from reproduce.gallery import picture

from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import concat_horizontally, concat_vertically, stack_layers
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, PADDING, TEXT_WIDTH, VERMILION
from dissensus.report.graphics.vega_lite import Axis, Chart, Color, Scale, Spec, X, Y

DOCS = Path(__file__).resolve().parent.parent / "docs"
RESULTS = Path(__file__).with_suffix(".json")
PAGE = DOCS / "generated" / "partitions.md"
PICTURES = {TEXT_WIDTH: DOCS / "_static" / "partitions.svg", COLUMN_WIDTH: DOCS / "_static" / "partitions-narrow.svg"}
PER_ITEM, PER_RATER, ROWS_PER_FILE = 10, 1_000, 5_000_000
ANSWERS, GENDERS, AGES = ("No", "Unsure", "Yes"), ("Man", "Woman"), ("18–24", "25–34", "35–44", "45+")
EXTRAPOLATED = 10**9
COLORS = {"by item": BLUE, "shuffled": VERMILION}
NAMES = {
    "groups": "table of groups",
    "labels": "soft labels",
    "vet": "vet, no times",
    "model": "multilevel model",
    "group-by": "group-by of polars",
}
PRICE = 0.05
"""Price of a virtual processor for an hour in dollars, an assumption."""

Codes = npt.NDArray[np.int64]
Row = dict[str, Any]


def write_ratings(folder: Path, n_ratings: int, *, shuffled: bool, rows_per_file: int = ROWS_PER_FILE) -> None:
    """Write ratings, 10 of an item and 1,000 by a rater (fewer below a million), sorted by item or scattered."""
    n_raters = count_raters(n_ratings)
    stride = 2_654_435_761 if shuffled else 1  # coprime to all sizes, so that each rating occurs once
    ids = pl.Series([f"rater-{code:07}" for code in range(n_raters)])
    folder.mkdir(parents=True, exist_ok=True)
    for number, low in enumerate(range(0, n_ratings, rows_per_file)):
        place = np.arange(low, min(n_ratings, low + rows_per_file)) * stride % n_ratings
        item, rater, answer = _draw(place, n_raters)
        pl.DataFrame(
            {
                "item_id": item,
                "rater_id": ids.gather(rater),
                "rater_gender": pl.Series(GENDERS).gather(_mix(rater + 1) % 2),
                "rater_age": pl.Series(AGES).gather(_mix(rater + 2) % 4),
                "Q_overall": pl.Series(ANSWERS).gather(answer),
            }
        ).write_parquet(folder / f"part-{number:04}.parquet", row_group_size=500_000)


def count_raters(n_ratings: int) -> int:
    """Return the number of raters of a size."""
    return max(1_000, n_ratings // PER_RATER)


def _draw(place: Codes, n_raters: int) -> tuple[Codes, Codes, Codes]:
    """Return item, rater and answer of ratings by their place in the order of the items."""
    item, position = place // PER_ITEM, place % PER_ITEM
    step = 1 + _mix(item * 3 + 1) % (n_raters // PER_ITEM)
    rater = (_mix(item * 3 + 2) + position * step) % n_raters
    severity = _mix(item * 3 + 3) % 1000 / 1000
    value = severity * 0.7 + _mix(place * 7 + 5) % 1000 / 2500 + 0.05 * (_mix(rater + 1) % 2)
    return item, rater, np.digitize(value, (0.45, 0.6)).astype(np.int64)


def _mix(value: Codes) -> Codes:
    """Return a number without visible relation to its argument (SplitMix64)."""
    z = value.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((z ^ (z >> np.uint64(27))) >> np.uint64(2)).astype(np.int64)


def measure(folder: Path, task: str, permutations: int) -> Row:
    """Do a task in this process, and return its elapsed and processor seconds, and its peak memory in GB."""
    row: Row = {"task": task, "permutations": permutations, "load": os.getloadavg()[0]}
    clock = [_read_clocks()]
    if task == "group-by":
        count_by_polars(folder)
        clock.append(clock[0])
    else:
        from dissensus.files.ratings.partitions.reader import read_partitions

        ratings = read_partitions(
            folder,
            items_as_text=permutations > 0 or task == "model",
            with_items=task in ("labels", "model"),
            with_times=task == "vet",
        )
        clock.append(_read_clocks())
        TASKS[task](ratings, permutations)
    clock.append(_read_clocks())
    for name, (low, high) in zip(("read", "compute"), pairwise(clock), strict=True):
        row |= {f"{name}_s": high[0] - low[0], f"{name}_cpu_s": high[1] - low[1]}
    return row | {
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def _read_clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def count_by_polars(folder: Path) -> None:
    """Count answers by group with polars alone, without ids and checks."""
    rows = pl.scan_parquet(folder / "*.parquet")
    rows.group_by("rater_gender", "rater_age", "Q_overall").len().collect(engine="streaming")


def analyse_groups(ratings: Any, permutations: int) -> None:
    """Analyse two axes."""
    from dissensus.pipeline.analyse import analyse

    analyse(ratings, by=["gender", "age"], permutations=permutations)


def write_soft_labels(ratings: Any, _: int) -> None:
    """Write the soft labels of all items as CSV, nowhere."""
    from dissensus.pipeline.aggregate import soft_labels

    with Path(os.devnull).open("wb") as file:
        for table in map(soft_labels, ratings.tables()):
            table.write_csv(file)


def vet_raters(ratings: Any, _: int) -> None:
    """Collect the evidence on raters, without times."""
    from dissensus.pipeline.vet import vet

    vet(ratings)


def model_groups(ratings: Any, _: int) -> None:
    """Fit a model with effects of two axes, and of raters and items, without draws."""
    from dissensus.pipeline.model import fit_model

    fit_model(ratings.collect(), "Q_overall ~ gender + age + (1 | rater_id) + (1 | item_id)", draws=0)


TASKS = {"groups": analyse_groups, "labels": write_soft_labels, "vet": vet_raters, "model": model_groups}


def main() -> None:
    """Measure one size in a process of its own, and write the page from all results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratings", type=float, nargs="?")
    parser.add_argument("--task", choices=[*TASKS, "group-by"], default="groups")
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--permutations", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        sys.stdout.write(json.dumps(measure(options.folder, options.task, options.permutations)))
        return
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    if options.ratings:
        with tempfile.TemporaryDirectory() as scratch:
            row = _run(options.folder or Path(scratch, "ratings"), options)
        keys = ("task", "ratings", "shuffled", "permutations")
        results = [other for other in results if any(other[key] != row[key] for key in keys)] + [row]
        results.sort(key=lambda row: tuple(row[key] for key in ("task", "shuffled", "permutations", "ratings")))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    write_page(results)


def _run(folder: Path, options: argparse.Namespace) -> Row:
    if not folder.exists():
        write_ratings(folder, int(options.ratings), shuffled=options.shuffled)
    command = [sys.executable, "-m", "benchmarks.partitions", "--child", "--folder", str(folder)]
    command += ["--task", options.task, "--permutations", str(options.permutations)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    machine = {"python": platform.python_version(), "polars": pl.__version__, "processors": os.cpu_count()}
    n_ratings = int(options.ratings)
    sizes = {"ratings": n_ratings, "raters": count_raters(n_ratings), "items": n_ratings // PER_ITEM}
    return {**json.loads(output), **sizes, "shuffled": options.shuffled, **machine}


def write_page(results: list[Row]) -> None:
    """Write the table, the figure and the extrapolations."""
    figure = partitions_figure(results)
    for width, path in PICTURES.items():
        path.write_text(picture(figure, width), "utf-8")
    PAGE.write_text("\n".join(page(results, figure)) + "\n", "utf-8")


def page(results: list[Row], figure: Figure) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "% Made by `benchmarks/partitions.py`; do not edit.\n"
    yield f"**{figure.title}.** {figure.reading}\n"
    for name, path in zip(("wide", "narrow"), PICTURES.values(), strict=True):
        yield f"![{figure.title}](_static/{path.name}){{.{name}}}"
    yield ""
    yield from table(
        ("Task", "Ratings, million", "Reading", "Computation", "Processors", "Memory"),
        (
            (
                _name_task(row),
                f"{row['ratings'] / 1e6:,.0f}",
                f"{row['read_s']:,.0f} s",
                f"{row['compute_s']:,.0f} s",
                f"{row['read_cpu_s'] + row['compute_cpu_s']:,.0f} s",
                f"{row['peak_gb']:.2f} GB",
            )
            for row in results
        ),
        right=tuple(range(1, 6)),
    )
    yield ""
    yield from extrapolate(results)


def _name_task(row: Row) -> str:
    """Return a task with what is not usual about it."""
    permutations = f", {row['permutations']} permutations" if row["permutations"] else ""
    return NAMES[row["task"]] + permutations + (", rows shuffled" if row["shuffled"] else "")


def extrapolate(results: list[Row]) -> Iterator[str]:
    """Yield as a list what a billion ratings would take, by the slopes of the measurements."""
    for shuffled in (False, True):
        rows = [row for row in _tables_of_groups(results) if row["shuffled"] == shuffled]
        if len(rows) > 1:
            yield _extrapolate_table("shuffled" if shuffled else "by item", *rows[-2:])
    for row in results:
        keys = ("task", "ratings", "shuffled")
        of_size = [other for other in results if all(other[key] == row[key] for key in keys)]
        base = next((other for other in of_size if not other["permutations"]), None)
        if row["permutations"] and base is not None:
            yield _extrapolate_permutations(row, base)


def _tables_of_groups(results: list[Row]) -> list[Row]:
    return [row for row in results if row["task"] == "groups" and not row["permutations"]]


def _extrapolate_table(order: str, smaller: Row, larger: Row) -> str:
    n, m = smaller["ratings"], larger["ratings"]
    slope, growth = ((_cost(larger)[k] - _cost(smaller)[k]) / (m - n) for k in range(2))
    seconds, peak = (
        value + rate * (EXTRAPOLATED - m) for value, rate in zip(_cost(larger), (slope, growth), strict=True)
    )
    measured = f"In all, for {m:,} in {larger['bytes'] / 1e9:.1f} GB of files"
    to = f"**Extrapolated** from {n:,} and {m:,} to {EXTRAPOLATED:,}" if m < EXTRAPOLATED else measured
    return (
        f"- Table of groups, rows {order}: {1e6 * slope:.2f} s of processors for a million further ratings, and "
        f"{1e9 * growth:.1f} bytes of memory for each, from {n:,} to {m:,}. {to}: "
        f"{seconds / 60:,.0f} minutes of processors, {peak:.1f} GB, ${seconds / 3600 * PRICE:.2f}."
    )


def _cost(row: Row) -> tuple[float, float]:
    return row["read_cpu_s"] + row["compute_cpu_s"], row["peak_gb"]


def _extrapolate_permutations(row: Row, base: Row) -> str:
    each = (row["compute_cpu_s"] - base["compute_cpu_s"]) / row["permutations"]
    hundred = 100 * each / row["ratings"] * EXTRAPOLATED
    return (
        f"- One permutation of two axes at {row['ratings']:,} ratings: {each:,.1f} s of processors. **Extrapolated** "
        f"in proportion to 100 permutations of {EXTRAPOLATED:,}: {hundred / 3600:,.1f} hours, "
        f"${hundred / 3600 * PRICE:.2f}."
    )


def partitions_figure(results: list[Row]) -> Figure:
    """Return time and memory by ratings, without permutations."""
    rows = _tables_of_groups(results)
    data = pl.DataFrame(
        {
            "ratings": [row["ratings"] for row in rows],
            "order": ["shuffled" if row["shuffled"] else "by item" for row in rows],
            "seconds": [row["read_cpu_s"] + row["compute_cpu_s"] for row in rows],
            "memory": [row["peak_gb"] for row in rows],
            "clock": [row["read_s"] + row["compute_s"] for row in rows],
            "processors": [row["processors"] for row in rows],
        }
    )
    largest = data.sort("ratings").row(-1, named=True)
    return Figure(
        name="partitions",
        title="Time and memory of a table of groups from a folder",
        reading=(
            f"{largest['ratings']:,} ratings, {largest['order']}, took {largest['clock'] / 60:,.1f} minutes on "
            f"{largest['processors']} processors and {largest['memory']:.1f} GB."
        ),
        draw=lambda width: _draw_figure(data, width),
        table=data,
    )


def _draw_figure(data: pl.DataFrame, width: int) -> Spec:
    orders = {name: color for name, color in COLORS.items() if name in data["order"]}
    color = Color("order:N", title="rows", scale=Scale(domain=list(orders), range=list(orders.values())))
    x = X("ratings:Q", title="ratings", scale=Scale(type="log"), axis=Axis(format="~s", tickCount=3, grid=False))
    chart = Chart(data.to_dicts()).mark("line", point=True, strokeWidth=1.5)
    narrow = width < TEXT_WIDTH
    size = {"width": width - 2 * PADDING - 60 if narrow else width // 2 - 90, "height": 150}
    panels = [
        stack_layers([chart.encode(x, Y(f"{name}:Q", title=title, scale=scale, axis=Axis(tickCount=4)), color)], **size)
        for name, title, scale in (
            ("seconds", "seconds of processors", Scale(type="log")),
            ("memory", "GB of memory", Scale(zero=True)),
        )
    ]
    return concat_vertically(panels, spacing=12) if narrow else concat_horizontally(panels, spacing=24)


if __name__ == "__main__":
    main()
