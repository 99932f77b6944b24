"""Display of a sample as a block of cells."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.screening import ALL
from dissensus.pipeline.curate.selection import Selection
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, printable
from dissensus.text.personal_data import KINDS

HEADINGS = {
    "n_items": "items",
    "n_personal_data": "personal data",
    "n_duplicates": "duplicates",
    "n_left": "left",
    "n_wanted": "wanted",
    "n_chosen": "chosen",
}
EXAMPLES: Final = 3
"""Items that are named for each reason for which some are left out."""


def sample_page(selection: Selection) -> Page:
    """Return the strata, and the whole."""
    plan = selection.plan
    shown = [name for name in HEADINGS if _asked(name, plan)]
    head = (printable(" × ".join(plan.by)) or "stratum", *(HEADINGS[name] for name in shown))
    rows = selection.strata.rows(named=True) if plan.by else []
    lines = [(_name(row), *(_number(row[name]) for name in shown)) for row in rows]
    total = [f"{selection.strata[name].sum():,}" for name in shown]
    grid = Grid(head, (*lines, (ALL, *total)))
    return Page(_summary(selection), (grid,), tuple(_notes(selection)))


def _asked(name: str, plan: SamplePlan) -> bool:
    asked: Mapping[str, object] = {"n_personal_data": plan.personal_data, "n_duplicates": plan.duplicates}
    return bool(asked.get(name, True))


def _name(row: Mapping[str, Any]) -> str:
    return "(missing value)" if row["stratum"] is None else printable(row["stratum"])


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _summary(selection: Selection) -> str:
    plan = selection.plan
    how = f"{plan.allocation} over" if isinstance(plan.allocation, str) else "by number of each of"
    n_strata = selection.strata["n_wanted"].count()
    strata = f", {how} {n_strata:,} strata" if plan.by else ""
    return f"{len(selection.sample):,} of {selection.items.height:,} items{strata}, seed {plan.seed}."


def _notes(selection: Selection) -> Iterator[str]:
    plan = selection.plan
    if plan.personal_data:
        kinds = "any kind" if set(plan.personal_data) == set(KINDS) else ", ".join(plan.personal_data)
        yield f"Personal data: items that look as if they held some, of {kinds}."
    if plan.duplicates is not None:
        share = f"{plan.duplicates:g}".removeprefix("0")
        yield f"Duplicates: items that share {share} or more of their words, in runs of three, with an earlier one."
    yield from (f"Note: {note}" for note in selection.notes)
    yield f"Items given: SHA-256 {selection.digest}."


class ExclusionCounts(NamedTuple):
    """Items that could not be drawn for one reason, and some of them by their ids."""

    why: str
    n_items: int
    examples: tuple[str, ...]


def count_exclusions(selection: Selection) -> tuple[ExclusionCounts, ...]:
    """Return what could not be drawn, and why; never what an item says."""
    could = pl.col("outcome").is_in(["chosen", "not drawn"])
    parts = selection.items.filter(~could).sort("outcome", "item_id").partition_by("outcome", maintain_order=True)
    return tuple(
        ExclusionCounts(part["outcome"][0], part.height, tuple(map(_example, part.head(EXAMPLES).to_dicts())))
        for part in parts
    )


def _example(row: Mapping[str, Any]) -> str:
    name = printable(row["item_id"])
    if row["duplicate_of"] is not None:
        return f"{name} repeats {printable(row['duplicate_of'])}"
    kinds = [kind.replace("_", " ") for kind in row["personal_data"]]
    return f"{name}: {', '.join(kinds)}" if kinds else name
