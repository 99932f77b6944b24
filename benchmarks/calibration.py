"""Measure the size of the tests and the coverage of the intervals of `analyse` in many designs.

    make calibration                             # all designs, then docs/generated/size.md and coverage.md
    make calibration ARGS='--only "8 against 80" --simulations 5000'  # one design, pages not written
    make calibration ARGS='--simulations 0'      # the pages alone, from batches that are there

Simulations are kept by batch in benchmarks/.calibration/, so that a run can be stopped, continued and, by design or
kind, divided among processes. A design without batches keeps its figures of the page, with the warnings that rows have
now. Groups do not differ. The estimand of an interval is the mean of the statistic over all simulations.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from tests.support.assignments import ASSIGNMENTS, draw_null
from tests.support.null_simulations import FIELDS, simulate_null

from dissensus.pipeline.analyse.level import Level

Floats = npt.NDArray[np.float64]
Kind = Literal["size", "coverage"]
Mark = Callable[[str, str, tuple[int, ...], int], str]
HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "docs" / "generated"
BATCH = 50
KINDS: tuple[Kind, ...] = ("size", "coverage")
UNBIASED = {
    "answer_share": "share",
    "mean_difference": "difference",
    "pairwise_agreement": "agreement",
    "group_distance": "distance",
    "between_share": "between",
}
PUBLISHED = {
    "irr": "IRR",
    "xrr": "XRR",
    "negentropy": "neg.",
    "cross_negentropy": "cross-neg.",
    "plurality_size": "plurality",
    "voting_agreement": "voting",
    "gai": "GAI",
    "corrected_gai": "corrected GAI",
    "dsi": "DSI",
}
DIFFERENCES = {
    "pairwise_agreement_difference": "agreement",
    "irr_difference": "IRR",
    "negentropy_difference": "neg.",
    "plurality_size_difference": "plurality",
    "gai_difference": "GAI",
}
ORDERED_DESIGNS = (
    *("five answers, ordinal", "five answers, sparse, ordinal", "quota, 4 of each group, ordinal"),
    *("five answers, interval", "five answers, sparse, interval", "loads 55 and 15 %, ordinal"),
)
"""Assignments with answers at another level of measurement."""
DESIGNS = *ASSIGNMENTS, *ORDERED_DESIGNS
"""Assignments with nominal answers, and some of them with ordered ones."""
ORDERED = {"superiority": "superiority", "between_share": "between, withheld or not"}
NO_INTERVAL = ("between_share", "dsi")


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulations:
    """All simulations of a kind of one design: fields of each statistic and group, shape (simulations,)."""

    fields: dict[tuple[str, int, str], Floats]

    def count(self, metrics: Iterable[str]) -> int:
        """Return the number of simulations of these statistics."""
        return max((len(values) for key, values in self.fields.items() if key[0] in metrics), default=0)

    def of(self, metric: str, groups: tuple[int, ...], field: str) -> Floats:
        """Return a field of a statistic, shape (groups, simulations); that of the axis if it has no groups."""
        names = (metric, "answer_mean") if metric == "answer_share" else (metric,)  # Of ordered answers
        keys = [(name, g, field) for name in names for g in (*groups, -1)]
        rows = [self.fields[key] for key in keys if key in self.fields]
        return np.array(rows) if rows else np.empty((0, 0))


def read(folder: Path, name: str, kind: Kind) -> Simulations:
    """Read all batches of a design."""
    parts: dict[tuple[str, int, str], list[Floats]] = defaultdict(list)
    for path in sorted(folder.glob(f"{_slug(name)}.{kind}.*.npz")):
        with np.load(path) as batch:
            for field in FIELDS:
                for metric, group, values in zip(batch["metrics"], batch["groups"], batch[field].T, strict=True):
                    parts[str(metric), int(group), field].append(values)
    return Simulations(fields={key: np.concatenate(values) for key, values in parts.items()})


def run(folder: Path, name: str, kind: Kind, batch: int, options: argparse.Namespace) -> None:
    """Simulate one batch and store it, unless it is there, whatever its seed, permutations and replicates were."""
    path = folder / f"{_slug(name)}.{kind}.{batch:04}.npz"
    if path.exists():
        return
    seed = (options.seed, DESIGNS.index(name), KINDS.index(kind), batch)
    permutations, bootstrap = (options.permutations, 0) if kind == "size" else (0, options.replicates)
    assignment, level = split_level(name)
    result = simulate_null(assignment, BATCH, level=level, permutations=permutations, bootstrap=bootstrap, seed=seed)
    fields = {field: getattr(result, field) for field in FIELDS}
    np.savez_compressed(path, metrics=np.array(result.metrics), groups=np.array(result.groups), **fields)


def split_level(name: str) -> tuple[str, Level]:
    """Return the assignment of a design, and the level of measurement of its answers."""
    levels: tuple[Level, ...] = ("ordinal", "interval")
    for level in levels:
        if name.endswith(f", {level}"):
            return name.removesuffix(f", {level}"), level
    return name, "nominal"


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def rejections(simulations: Simulations, metric: str, groups: tuple[int, ...], field: str = "p") -> str:
    """Return the rejections at 5 % in percent, bold beyond the goal and in italics if conservative."""
    p = simulations.of(metric, groups, field)
    if field == "naive_p":
        p = np.where(np.isnan(p), simulations.of(metric, groups, "p"), p)
    if not np.isfinite(p).any():
        return "–"
    share = round(100 * float((p <= 0.05 + 1e-9).mean()), 1)
    return f"**{share:.1f}**" if share > 6 else f"*{share:.1f}*" if share < 4 else f"{share:.1f}"


def coverage(simulations: Simulations, metric: str, groups: tuple[int, ...]) -> str:
    """Return the coverage in percent, bold if too low, in italics if too high."""
    estimates, low, high = (simulations.of(metric, groups, field) for field in ("estimates", "low", "high"))
    defined = np.isfinite(low)
    if not defined.any():
        return "–"
    truth = np.nanmean(estimates, axis=1, keepdims=True)
    share = round(100 * float(((low <= truth) & (truth <= high))[defined].mean()), 1)
    return f"**{share:.1f}**" if share < 93 else f"*{share:.1f}*" if share > 97 else f"{share:.1f}"


def table(folder: Path, kind: Kind, metrics: dict[str, str], field: str = "p", designs: Iterable[str] = DESIGNS) -> str:
    """Return a Markdown table with a line for each design, or for each side of an unequal one."""
    lines = [f"| design | n | {' | '.join(metrics.values())} |", "|---|--:|" + "--:|" * len(metrics)]
    earlier = read_lines(kind, lines[0])
    for name in designs:
        simulations = read(folder, name, kind)
        n = simulations.count(metrics)
        mark = mark_size(name) if kind == "size" else mark_coverage(name)
        for side, groups in ASSIGNMENTS[split_level(name)[0]].sides:
            design = f"{name}{side and f': {side}'}"
            if n and kind == "size":
                size, cells = n, [rejections(simulations, metric, groups, field) for metric in metrics]
            elif n:
                size, cells = n, [coverage(simulations, metric, groups) for metric in metrics]
            elif design in earlier:
                size, cells = earlier[design]
            else:
                continue
            marked = (f"{cell}{mark(cell, metric, groups, size)}" for metric, cell in zip(metrics, cells, strict=True))
            lines.append(f"| {design} | {size:,} | {' | '.join(marked)} |")
    return "\n".join(lines)


def read_lines(kind: Kind, head: str) -> dict[str, tuple[int, list[str]]]:
    """Return the simulations and the cells, without marks, of the table of a page that has this head, by design."""
    page = PAGES / f"{kind}.md"
    if not page.exists():
        return {}
    _, _, rest = page.read_text(encoding="utf-8").partition(head)
    lines = [line for line in rest.split("\n\n", 1)[0].splitlines() if line.startswith("| ")]
    result = {}
    for line in lines:
        design, size, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        result[design] = int(size.replace(",", "")), [cell.split(" ")[0] for cell in cells]
    return result


def mark_size(name: str) -> Mark:
    """Return marks of sizes above 6 %: = if every rater rated every item, which makes tests exact, else the error."""
    design, _ = draw_null(np.random.default_rng(0), split_level(name)[0])
    complete = design.items.size == design.n_items * design.n_raters

    def mark(cell: str, _metric: str, _groups: tuple[int, ...], n: int) -> str:
        if not cell.startswith("**"):
            return ""
        return " =" if complete else f" ± {100 * (0.05 * 0.95 / n) ** 0.5:.1f}"

    return mark


def mark_coverage(name: str) -> Mark:
    """Return marks of the statistics that have a warning in some of a few simulations, by the limits of now."""
    assignment, level = split_level(name)
    result = simulate_null(assignment, 9, level=level, bootstrap=2)
    rows = zip(result.metrics, result.groups, result.warned.T, strict=True)
    warned = Simulations(fields={(metric, group, "warned"): values for metric, group, values in rows})

    def mark(cell: str, metric: str, groups: tuple[int, ...], _n: int) -> str:
        return " §" if cell != "–" and warned.of(metric, groups, "warned").any() else ""

    return mark


def write_size(folder: Path, options: argparse.Namespace) -> None:
    """Write the page of the tests."""
    of_analyse, naive, of_differences = (
        table(folder, "size", metrics, field)
        for metrics, field in (
            ({**UNBIASED, **PUBLISHED}, "p"),
            ({"group_distance": "distance"} | {name: PUBLISHED[name] for name in list(PUBLISHED)[:7]}, "naive_p"),
            ({name: DIFFERENCES[name] for name in list(DIFFERENCES)[1:]}, "p"),
        )
    )
    text = f"""% Made by `make calibration`; do not edit.

Rejections of a true null at 5 %, in percent, over n simulations with {options.permutations} permutations each. Standard
error: 1.5 points for n = 200, 1.0 for n = 500, 0.5 for n = 2,000. **Bold**: above 6 %. *Italics*: conservative, below
4 %. A withheld test counts as not rejected; – means no test. Above 6 % follows ± with the standard error, or = where
every rater rated every item: the test is exact there, and what differs from 5 % is the error of the simulation.

{of_analyse}

Differences of a group from the rest; that of agreement has the test of agreement above:

{of_differences}

Distance and published statistics, tested without regard to the assignment, as `analyse` does not:

{naive}

Ordered answers: superiority, and the share between groups tested wherever raters left out items, as `analyse` does not:

{table(folder, "size", ORDERED, "naive_p", ORDERED_DESIGNS)}
"""
    (PAGES / "size.md").write_text(text, encoding="utf-8")


def write_coverage(folder: Path, options: argparse.Namespace) -> None:
    """Write the page of the intervals."""
    metrics = {name: heading for name, heading in {**UNBIASED, **PUBLISHED}.items() if name not in NO_INTERVAL}
    text = f"""% Made by `make calibration`; do not edit.

Share of 95 % two-way intervals that hold the estimand, in percent, over n simulations with {options.replicates}
bootstrap replicates each. Standard error: 1.5 points for n = 200, 1.1 for n = 400, 0.5 for n = 2,000. **Bold**: below
93 %. *Italics*: above 97 %. §: the row of `analyse` has a warning.

{table(folder, "coverage", metrics)}

Differences of a group from the rest:

{table(folder, "coverage", DIFFERENCES)}
"""
    (PAGES / "coverage.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Run what is missing and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", choices=DESIGNS, help="a design; all by default")
    parser.add_argument("--kind", action="append", choices=KINDS, help="both by default")
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--replicates", type=int, default=299)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=HERE / ".calibration")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    for batch in range(options.simulations // BATCH):
        for name in options.only or DESIGNS:
            for kind in options.kind or KINDS:
                run(options.folder, name, kind, batch, options)
    if not options.only:
        write_size(options.folder, options)
        write_coverage(options.folder, options)


if __name__ == "__main__":
    main()
