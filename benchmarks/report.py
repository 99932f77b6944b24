"""The page of the documentation that shows the results."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
OURS = "Dissensus"

INTRODUCTION = """\
# Benchmarks

`make benchmark` measures these figures and writes this page; `make benchmark ARGS=--quick` leaves out the large tables
and prints the page instead. The peers are pinned in `benchmarks/requirements.lock`, in an environment of their own.

Every measurement is a process of its own, contenders take turns, and figures are medians over processes of the median
call after a first one. *Start* is import and first call together. *Memory* is the peak of the process, with the
interpreter, libraries and data. *× ours* compares with our row that is given the same, else with the first: below 1 the
other is faster. The contenders of a table must return the same value to 10⁻⁹ before they are timed further, except where
the work differs, as said there.
"""


def page(results: Row) -> str:
    """Return the page in MyST."""
    parts = [INTRODUCTION, _machine(results), *(part for case in results["cases"] for part in _case(case))]
    budgets = [line for case in results["cases"] for line in _budgets(case)]
    if budgets:
        parts += ["## Budgets\n", _table(["What", "Measured", "Budget", "Met"], budgets)]
    return "\n".join(parts)


def _machine(results: Row) -> str:
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; {machine['system']}; "
        f"Python {machine['python']}; {machine['date']}, load {machine['load']} at the start. {versions}.\n"
    )


def _case(case: Row) -> Iterator[str]:
    yield f"## {case['title']}\n"
    yield case["text"] + "\n"
    if "given" in case["rows"][0]:
        headings = ["Library", "Given", "Median", "Fastest", "× ours", "Start", "Memory"]
        yield _table(headings, [_line(row, case["rows"]) for row in case["rows"]])
        yield from (
            _faster(row, case["rows"]) for row in case["rows"] if _comparable(row) and _ratio(row, case["rows"]) < 1
        )
    else:
        headings = ["Command", "Median", "Fastest", "Memory", "Runs"]
        yield _table(headings, [_process_line(row) for row in case["rows"]])


def _line(row: Row, rows: list[Row]) -> list[str]:
    if "not_run" in row:
        return [row["label"], row["given"], f"cannot: {row['not_run']}", "", "", "", ""]
    exact = row["factor"] == 1
    time = ("" if exact else "≈ ") + seconds(row["median_s"]) + (f" ({row['note']})" if row["note"] else "")
    own = [seconds(row["min_s"]), seconds(row["start_s"]), megabytes(row["peak_mb"])] if exact else ["", "", ""]
    ratio = times(_ratio(row, rows)) if _comparable(row) else ""
    return [row["label"], row["given"], time, own[0], ratio, *own[1:]]


def _comparable(row: Row) -> bool:
    """Tell whether the row says how long the work of its table takes, measured or extrapolated."""
    return "median_s" in row and (row["factor"] != 1 or not row["note"])


def _ratio(row: Row, rows: list[Row]) -> float:
    return float(row["median_s"] / _ours(row, rows)["median_s"])


def _ours(row: Row, rows: list[Row]) -> Row:
    """Return our row that is given the same as a peer's, else our first."""
    same = (own for own in rows if OURS == own["label"] != row["label"] and own["given"] == row["given"])
    return next(same, rows[0])


def _process_line(row: Row) -> list[str]:
    label = f"`dissensus {row['label'].replace(', ', '`, ')}" + ("" if "," in row["label"] else "`")
    return [label, seconds(row["median_s"]), seconds(row["min_s"]), megabytes(row["peak_mb"]), str(row["runs"])]


def _faster(row: Row, rows: list[Row]) -> str:
    own = _ours(row, rows)
    if row["label"] == OURS:
        return ""
    return f"**{row['label']} takes {times(_ratio(row, rows))} of the time of ours, given {own['given']}.**\n"


def _budgets(case: Row) -> Iterator[list[str]]:
    rows = {row["row"]: row for row in case["rows"]}
    for budget in case["budgets"]:
        row = rows[budget["row"]]
        took, may = seconds(row["median_s"]), seconds(budget["seconds"])
        met = row["median_s"] <= budget["seconds"]
        if budget["megabytes"] is not None:
            took, may = f"{took}, {megabytes(row['peak_mb'])}", f"{may}, {megabytes(budget['megabytes'])}"
            met = met and row["peak_mb"] <= budget["megabytes"]
        yield [budget["what"], took, may, "yes" if met else "**no**"]


def seconds(value: float) -> str:
    """Return a duration with its unit and three digits.

    >>> seconds(0.0000345), seconds(0.12), seconds(75.2), seconds(1325)
    ('34.5 µs', '120 ms', '75.2 s', '22.1 min')
    """
    for unit, size, end in (("µs", 1e-6, 1e-3), ("ms", 1e-3, 1), ("s", 1, 120), ("min", 60, 7200)):
        if value < end:
            return f"{value / size:.3g} {unit}"
    return f"{value / 3600:.3g} h"


def megabytes(value: float) -> str:
    """Return memory with its unit."""
    return f"{value:,.0f} MB" if value < 1000 else f"{value / 1000:.2f} GB"


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
