"""What the pages of experts show; these pages are in English."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from dissensus.campaign.gold_labels import ItemState
from dissensus.pipeline.aggregate import GoldAgainstCrowd
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold, Part
from dissensus.web.core.contexts import Asked
from dissensus.web.core.translations import FIRST
from dissensus.workflows.gold.comparison import GoldComparison
from dissensus.workflows.gold.labelling import LabelledItem
from dissensus.workflows.gold.queue import GoldQueue, GoldTask

Table: TypeAlias = Mapping[str, Mapping[str, tuple[int, float | None]]]
"""Number and share of items, by what the crowd and then gold says."""
SAYS: Final[Mapping[str, str]] = {
    "first": "Kept. You were the first to label that item; others verify it without seeing what you said.",
    "further": "Kept.",
    "partly": "Kept but for what had all its labels already: there others were sooner.",
    "decided": "Your decision is kept.",
}
"""What is told once something was kept, by the name that it has in addresses."""
PARTS: Final[Mapping[Part, str]] = {"safety": "safety", "degree": "degree of harm", "topics": "topics"}
STATES: Final[Mapping[ItemState, str]] = {
    "unlabelled": "Not begun",
    "begun": "Labels lacking",
    "disputed": "To decide",
    "settled": "Settled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQueue:
    """What there is for an expert to do."""

    template: ClassVar[str] = "owner/gold.html"
    parts: ClassVar[Mapping[Part, str]] = PARTS

    owner: str
    form_token: str
    name: str
    queue: GoldQueue
    may: frozenset[str]
    told: str | None = None
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItem:
    """One item: the form to label it or to decide on it, or what was said once all labels are in."""

    template: ClassVar[str] = "owner/gold-item.html"
    parts: ClassVar[Mapping[Part, str]] = PARTS
    states: ClassVar[Mapping[ItemState, str]] = STATES

    owner: str
    form_token: str
    name: str
    task: GoldTask
    asked: Asked | None  # The questions, with what was said or typed; None where this reader is asked nothing
    seen: int  # What the form carries, so that an old one is known
    told: str | None = None
    faults: tuple[str, ...] = ()  # What was refused as a whole
    language: str = FIRST

    @property
    def campaign(self) -> Campaign:
        """Of which the item is."""
        return self.task.campaign

    @property
    def covering(self) -> Mapping[str, Any]:
        """The item as the page of raters has it, so that it stays covered here too."""
        return {"assignment": {"item": self.task.item}, "step": {"campaign": self.task.campaign}}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldLabels:
    """All items, and how far the labels of each are; `only` is the state that is shown alone."""

    template: ClassVar[str] = "owner/gold-labels.html"
    parts: ClassVar[Mapping[Part, str]] = PARTS
    states: ClassVar[Mapping[ItemState, str]] = STATES

    owner: str
    form_token: str
    name: str
    counts: Mapping[ItemState, int]
    items: tuple[LabelledItem, ...]
    only: ItemState | None
    page: int
    pages: int
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldComparison:
    """Gold beside the crowd and platinum, and the form that brings platinum: what was typed, and what is wrong."""

    template: ClassVar[str] = "owner/gold-comparison.html"

    owner: str
    form_token: str
    name: str
    gold: Gold
    comparison: GoldComparison
    source: str = ""
    column: str = ""
    replacing: bool = False
    faults: tuple[str, ...] = ()
    n_brought: int | None = None
    language: str = FIRST

    @property
    def tables(self) -> tuple[tuple[str | None, Table], ...]:
        """Items by what the crowd and gold say: all of them, then those of each platinum label."""
        every = (self.comparison.found, self.comparison.with_platinum)
        return tuple(one for compared in every if compared is not None for one in _tables(compared))


def _tables(compared: GoldAgainstCrowd) -> Iterator[tuple[str | None, Table]]:
    """Yield the whole pool as a table, or as one for each platinum label, with number and share in each cell."""
    found: dict[str | None, dict[str, dict[str, tuple[int, float | None]]]] = {}
    for row in compared.confusion.rows(named=True):
        if row["group"] is None:
            table = found.setdefault(row.get("platinum"), {})
            table.setdefault(row["crowd"], {})[row["gold"]] = (row["n_items"], row["share"])
    yield from found.items()
