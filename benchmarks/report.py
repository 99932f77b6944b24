"""Page of the documentation with the results of `benchmarks/run`."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
OURS = "Dissensus"
TEXT_COLUMNS = {"Library", "Input", "Command", "Browser", "What", "Met"}
UNIT = re.compile(r"(?<=\d) (?=(?:µs|ms|s|min|MB|GB|×)\b|×)|(?<=≈) ")

INTRODUCTION = """\
# Benchmarks

`make benchmark` measures these figures and writes this page; `make benchmark ARGS=--quick` leaves out the large tables
and prints the page instead. The peers are pinned in `benchmarks/requirements.lock`, in a separate environment.

Each measurement runs in its own process, and libraries are measured in turn. Figures are medians over processes of the
median call after a first one. *Start* is import and first call together, after NumPy was imported; Dissensus loads
Numba if it has to count. *Memory* is the peak of the process, with interpreter, libraries and data; of commands, the
largest of all runs. *× ours* is the time relative to the Dissensus row with the same input, or else to the first row:
below 1 the other library is faster. If they do the same work, all libraries must return the same value to 10⁻⁹ before
they are timed further.
"""

BUDGETS = """\
## Budgets

The budgets were set on a machine on which `krippendorff`, given counts, computes alpha of 10 million ratings in 116 ms.
Its time on this machine is in the table of that case.
"""


def page(results: Row) -> str:
    """Return the page in MyST."""
    parts = [INTRODUCTION, _machine(results), *(part for case in results["cases"] for part in _case(case))]
    budgets = [line for case in results["cases"] for line in _budgets(case)]
    if budgets:
        parts += [BUDGETS, _table(["What", "Measured", "Budget", "Met"], budgets)]
    return "\n".join(parts)


def _machine(results: Row) -> str:
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; {machine['system']}; "
        f"Python {machine['python']}; {machine['date']}, load {machine['load']} at the start.\n\n{versions}.\n"
    )


def _case(case: Row) -> Iterator[str]:
    yield f"## {case['title']}\n"
    yield case["text"] + "\n"
    if "input" in case["rows"][0]:
        headings = ["Library", "Input", "Median", "Fastest", "× ours", "Start", "Memory"]
        yield _table(headings, [_line(row, case["rows"]) for row in case["rows"]])
        peers = [row for row in case["rows"] if _comparable(row) and row["label"] != OURS]
        yield from (sentence for row in peers for sentence in _ahead(row, _ours(row, case["rows"])))
    elif "browser" in case["rows"][0]:
        headings = ["Browser", "First paint", "Load event", "Both", "Fastest", "File", "Loads"]
        yield _table(headings, [_opening_line(row) for row in case["rows"]])
    else:
        headings = ["Command", "Median", "Fastest", "Memory", "Runs"]
        yield _table(headings, [_process_line(row) for row in case["rows"]])


def _line(row: Row, rows: list[Row]) -> list[str]:
    if "not_run" in row:
        return [row["label"], _describe_input(row), f"cannot: {row['not_run']}", "", "", "", ""]
    exact = row["factor"] == 1
    time = ("" if exact else "≈ ") + seconds(row["median_s"]) + (f" ({row['note']})" if row["note"] else "")
    own = [seconds(row["min_s"]), seconds(row["start_s"]), megabytes(row["peak_mb"])] if exact else ["", "", ""]
    ratio = times(_ratio(row, rows)) if _comparable(row) else ""
    return [row["label"], _describe_input(row), time, own[0], ratio, *own[1:]]


def _describe_input(row: Row) -> str:
    """Return the form of the input, and what a library does with it where that differs."""
    return ", ".join(filter(None, (row["input"], row.get("treatment"))))


def _comparable(row: Row) -> bool:
    """Tell whether the row says how long the work of its table takes, measured or extrapolated."""
    return "median_s" in row and (row["factor"] != 1 or not row["note"])


def _ratio(row: Row, rows: list[Row]) -> float:
    return float(row["median_s"] / _ours(row, rows)["median_s"])


def _ours(row: Row, rows: list[Row]) -> Row:
    """Return our row with the input of a peer's, else our first."""
    same = (own for own in rows if OURS == own["label"] != row["label"] and own["input"] == row["input"])
    return next(same, rows[0])


def _process_line(row: Row) -> list[str]:
    label = f"`dissensus {row['label'].replace(', ', '`, ')}" + ("" if "," in row["label"] else "`")
    return [label, seconds(row["median_s"]), seconds(row["min_s"]), megabytes(row["peak_mb"]), str(row["runs"])]


def _opening_line(row: Row) -> list[str]:
    if "not_run" in row:
        return [row["browser"], "", "", f"cannot: {row['not_run']}", "", "", ""]
    figures = (seconds(row[name]) for name in ("paint_s", "load_s", "median_s", "min_s"))
    return [row["browser"], *figures, f"{row['bytes'] / 1e6:.2f} MB", str(row["runs"])]


def _ahead(row: Row, own: Row) -> Iterator[str]:
    """Yield sentences on peers that are faster: per call, or by 0.1 s or more at the start."""
    peer = f"{row['label']}, given {_describe_input(row)},"
    ratio = row["median_s"] / own["median_s"]
    if ratio < 1:
        yield f"**{peer} takes {times(ratio)} our time.**\n"
    if row["factor"] == 1 and row["start_s"] < own["start_s"] - 0.1:
        yield f"**{peer} starts in {seconds(row['start_s'])}, ours in {seconds(own['start_s'])}.**\n"


def _budgets(case: Row) -> Iterator[list[str]]:
    rows = {row["row"]: row for row in case["rows"]}
    for budget in case["budgets"]:
        row = rows[budget["row"]]
        if "not_run" in row:
            yield [budget["what"], "not measured", seconds(budget["seconds"]), "**not known**"]
            continue
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


def times(value: float) -> str:
    """Return a ratio to two digits with its sign.

    >>> times(0.815), times(17.31), times(181_146)
    ('0.81 ×', '17 ×', '180,000 ×')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f} ×" if rounded >= 10 else f"{rounded:g} ×"


def megabytes(value: float) -> str:
    """Return memory with its unit."""
    return f"{value:,.0f} MB" if value < 1000 else f"{value / 1000:.2f} GB"


def _table(headings: list[str], rows: list[list[str]]) -> str:
    # A no-break space keeps a figure with its unit.
    rules = ["---" if heading in TEXT_COLUMNS else "--:" for heading in headings]
    lines = [headings, rules, *([UNIT.sub("\u00a0", cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
