"""Result of curation: the sample, and the fate of every item."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import polars as pl

from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.schema.records.item import Item

SCHEMA_VERSION = 1

Outcome = Literal[
    "chosen", "not drawn", "exact duplicate", "near duplicate", "personal data", "missing value", "not asked for"
]
OUTCOMES: Final = pl.Enum(get_args(Outcome))


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
        from dissensus.pipeline.curate.display import sample_page

        return sample_page(self).as_text()

    def _repr_html_(self) -> str:
        from dissensus.pipeline.curate.display import sample_page

        return sample_page(self).as_html()
