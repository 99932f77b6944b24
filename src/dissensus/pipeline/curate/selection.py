"""Result of curation: the sample, the outcome of every item, and their display."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

import polars as pl

from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.tables import Grid, Page, PagedResult, escape_unprintable, format_number
from dissensus.schema.records.item import Item
from dissensus.schema.tabular_result import JsonResult
from dissensus.text.personal_data import KINDS

Outcome = Literal[
    "chosen", "not drawn", "exact duplicate", "near duplicate", "personal data", "missing value", "not asked for"
]
OUTCOMES: Final = pl.Enum(get_args(Outcome))

ALL_ITEMS: Final = "all items"
"""Name of the only stratum of a simple random sample."""
HEADINGS = {
    "n_items": "items",
    "n_personal_data": "personal data",
    "n_duplicates": "duplicates",
    "n_left": "left",
    "n_wanted": "wanted",
    "n_chosen": "chosen",
}
EXAMPLES: Final = 3
"""Items listed for each reason of exclusion."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection(JsonResult, PagedResult):
    """A sample of items with the outcome of every item; printed as a table.

    Parameters
    ----------
    plan
        The plan of the sample.
    strata
        One row for each stratum, in the order of the allocation, else of their names, and last those with a missing
        value, whose ``stratum`` is null: ``n_items``, of which ``n_personal_data`` and ``n_duplicates`` were excluded,
        so that ``n_left`` could be drawn; ``n_wanted``, null for strata outside the allocation, and ``n_chosen``.
    items
        One row for each item, in the order of their ids: ``item_id``, ``stratum``, several joined by ``|``, ``outcome``
        (chosen, not drawn, exact duplicate, near duplicate, personal data, missing value, not asked for), the item that
        it is a ``duplicate_of``, and the kinds of ``personal_data`` found in it.
    sample
        The chosen items, in the order of their ids.
    digest
        SHA-256 of all items, in hexadecimal; it does not depend on their order.
    notes
        Shortfalls, and items outside the allocation.
    version
        Version of Dissensus that drew the sample.
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

    @property
    def totals(self) -> dict[str, int]:
        """Numbers of all items as in `strata`; items of several strata count once."""
        outcomes = Counter(self.items["outcome"])
        return {
            "n_items": self.items.height,
            "n_personal_data": outcomes["personal data"],
            "n_duplicates": outcomes["exact duplicate"] + outcomes["near duplicate"],
            "n_left": outcomes["chosen"] + outcomes["not drawn"],
            "n_wanted": self.plan.n,
            "n_chosen": outcomes["chosen"],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the texts as plain values."""
        return {
            "schema_version": 1,
            "dissensus_version": self.version,
            "plan": self.plan.to_dict(),
            "digest": self.digest,
            "n_items": self.items.height,
            "n_chosen": len(self.sample),
            "notes": list(self.notes),
            "strata": self.strata.to_dicts(),
            "items": self.items.to_dicts(),
        }

    def page(self) -> Page:
        """Return the strata and their total as a page."""
        plan = self.plan
        columns = [name for name in HEADINGS if _has_column(plan, name)]
        head = (escape_unprintable(" × ".join(plan.by)) or "stratum", *(HEADINGS[name] for name in columns))
        rows = self.strata.rows(named=True) if plan.by else []
        body = [(_name_stratum(row), *(format_number(row[name]) for name in columns)) for row in rows]
        total = [f"{self.totals[name]:,}" for name in columns]
        grid = Grid(head, (*body, (ALL_ITEMS, *total)))
        return Page(_summary(self), (grid,), tuple(_notes(self)))


def _has_column(plan: SamplePlan, name: str) -> bool:
    screens: Mapping[str, object] = {"n_personal_data": plan.personal_data, "n_duplicates": plan.duplicates}
    return bool(screens.get(name, True))


def _name_stratum(row: Mapping[str, Any]) -> str:
    return "(missing value)" if row["stratum"] is None else escape_unprintable(row["stratum"])


def _summary(selection: Selection) -> str:
    plan = selection.plan
    allocation = f"{plan.allocation} over" if isinstance(plan.allocation, str) else "by number of each of"
    n_strata = selection.strata["n_wanted"].count()
    strata = f", {allocation} {n_strata:,} strata" if plan.by else ""
    return f"{len(selection.sample):,} of {selection.items.height:,} items{strata}, seed {plan.seed}."


def _notes(selection: Selection) -> Iterator[str]:
    plan = selection.plan
    if plan.personal_data:
        kinds = "any kind" if set(plan.personal_data) == set(KINDS) else ", ".join(plan.personal_data)
        yield f"Personal data: items that appear to contain {kinds}."
    if plan.duplicates is not None:
        share = f"{plan.duplicates:g}".removeprefix("0")
        yield f"Duplicates: items that share {share} or more of their words, in runs of three, with an earlier one."
    yield from (f"Note: {note}" for note in selection.notes)
    yield f"Items given: SHA-256 {selection.digest}."


class ExclusionCounts(NamedTuple):
    """Number of items excluded for one reason, with the ids of some."""

    reason: str
    n_items: int
    examples: tuple[str, ...]


def count_exclusions(selection: Selection) -> tuple[ExclusionCounts, ...]:
    """Return the excluded items by reason, without their texts."""
    is_candidate = pl.col("outcome").is_in(["chosen", "not drawn"])
    excluded = selection.items.filter(~is_candidate).sort("outcome", "item_id")
    return tuple(
        ExclusionCounts(part["outcome"][0], part.height, tuple(map(_describe_item, part.head(EXAMPLES).to_dicts())))
        for part in excluded.partition_by("outcome", maintain_order=True)
    )


def _describe_item(row: Mapping[str, Any]) -> str:
    name = escape_unprintable(row["item_id"])
    if row["duplicate_of"] is not None:
        return f"{name} repeats {escape_unprintable(row['duplicate_of'])}"
    kinds = [kind.replace("_", " ") for kind in row["personal_data"]]
    return f"{name}: {', '.join(kinds)}" if kinds else name
