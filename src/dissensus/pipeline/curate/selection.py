"""Result of curation: the sample, the fate of every item, and their display."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

import polars as pl

from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable
from dissensus.schema.records.item import Item
from dissensus.text.personal_data import KINDS

SCHEMA_VERSION = 1

Outcome = Literal[
    "chosen", "not drawn", "exact duplicate", "near duplicate", "personal data", "missing value", "not asked for"
]
OUTCOMES: Final = pl.Enum(get_args(Outcome))

ALL_ITEMS: Final = "all items"
"""The one stratum where nothing divides the items."""
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """A sample of items, and what became of every item; printed as a table.

    Parameters
    ----------
    plan
        What was asked for.
    strata
        One row for each stratum, in the order of the allocation, else of their names, and last those with a missing
        value, whose ``stratum`` is null: ``n_items``, of which ``n_personal_data`` and ``n_duplicates`` were left out,
        so that ``n_left`` could be drawn; ``n_wanted``, null where the stratum was not asked for, and ``n_chosen``.
    items
        One row for each item, in the order of their ids: ``item_id``, ``stratum``, ``outcome`` (chosen, not drawn,
        exact duplicate, near duplicate, personal data, missing value, not asked for), the item that it is a
        ``duplicate_of``, and the kinds of ``personal_data`` that it seems to hold.
    sample
        The chosen items, in the order of their ids.
    digest
        SHA-256 of all items that were given, in hexadecimal: the same for the same items in any order.
    notes
        What to keep in mind.
    version
        Version of Dissensus that made it.
    """

    plan: SamplePlan
    strata: pl.DataFrame
    items: pl.DataFrame
    sample: tuple[Item, ...] = field(repr=False)
    digest: str
    notes: tuple[str, ...]
    version: str

    @property
    def short(self) -> int:
        """Number of items by which the sample falls short of the plan."""
        return self.plan.n - len(self.sample)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, but for the texts of the sample."""
        return {
            "schema_version": SCHEMA_VERSION,
            "dissensus_version": self.version,
            "plan": self.plan.to_dict(),
            "digest": self.digest,
            "n_items": self.items.height,
            "n_chosen": len(self.sample),
            "notes": list(self.notes),
            "strata": self.strata.to_dicts(),
            "items": self.items.to_dicts(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def __str__(self) -> str:
        return sample_page(self).as_text()

    def _repr_html_(self) -> str:
        return sample_page(self).as_html()


def sample_page(selection: Selection) -> Page:
    """Return the strata, and the whole."""
    plan = selection.plan
    shown = [name for name in HEADINGS if _asked(name, plan)]
    head = (escape_unprintable(" × ".join(plan.by)) or "stratum", *(HEADINGS[name] for name in shown))
    rows = selection.strata.rows(named=True) if plan.by else []
    lines = [(_name(row), *(_number(row[name]) for name in shown)) for row in rows]
    total = [f"{selection.strata[name].sum():,}" for name in shown]
    grid = Grid(head, (*lines, (ALL_ITEMS, *total)))
    return Page(_summary(selection), (grid,), tuple(_notes(selection)))


def _asked(name: str, plan: SamplePlan) -> bool:
    asked: Mapping[str, object] = {"n_personal_data": plan.personal_data, "n_duplicates": plan.duplicates}
    return bool(asked.get(name, True))


def _name(row: Mapping[str, Any]) -> str:
    return "(missing value)" if row["stratum"] is None else escape_unprintable(row["stratum"])


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
    name = escape_unprintable(row["item_id"])
    if row["duplicate_of"] is not None:
        return f"{name} repeats {escape_unprintable(row['duplicate_of'])}"
    kinds = [kind.replace("_", " ") for kind in row["personal_data"]]
    return f"{name}: {', '.join(kinds)}" if kinds else name
