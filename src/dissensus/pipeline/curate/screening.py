"""Screens that exclude items from a sample, with reasons."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.selection import ALL_ITEMS, Outcome
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.item_sets import TOPICS, find_separator, split_set
from dissensus.schema.ratings.columns import CROSSED
from dissensus.schema.records.item import Item
from dissensus.text.near_duplicates import near_duplicates
from dissensus.text.personal_data import Kind, find_personal_data

PERSONAL_DATA_SHARE: Final = 0.8
"""Share of the work taken by the search for personal data."""

Progress: TypeAlias = Callable[[float], None]


@dataclass(slots=True)
class SampleCandidate:
    """An item with its strata, several where an attribute is a set, and its outcome once settled."""

    item: Item
    strata: tuple[str, ...]
    outcome: Outcome | None = None
    duplicate_of: str | None = None
    personal_data: list[Kind] = field(default_factory=list)


def list_candidates(items: Sequence[Item], by: Sequence[str], sets: Sequence[str] = ()) -> list[SampleCandidate]:
    """Return items with their strata, none where a value is missing."""
    for name in by:
        _require(name, items)
    separators = {
        name: find_separator(name, [item.attributes[name] for item in items if name in item.attributes])
        for name in (*TOPICS, *sets)
    }
    values_of: dict[str, tuple[str, ...]] = {}
    candidates = []
    for item in items:
        strata = {CROSSED.join(values) if by else ALL_ITEMS: values for values in _list_cells(item, by, separators)}
        for stratum, values in strata.items():
            if values_of.setdefault(stratum, values) != values:
                raise InvalidInput(
                    f"Two strata are called {format_value(stratum)}: {format_list(values_of[stratum])}, and "
                    f"{format_list(values)}. "
                    "Rename a value."
                )
        candidates.append(SampleCandidate(item, tuple(strata)))
    return candidates


def _list_cells(item: Item, by: Sequence[str], separators: Mapping[str, str | None]) -> Iterator[tuple[str, ...]]:
    """Return the combinations of the values of attributes; none where one is missing."""
    cells = [(name, item.attributes[name]) for name in by if name in item.attributes]
    values = [split_set(cell, separators[name]) if name in separators else (cell,) for name, cell in cells]
    return product(*values) if len(cells) == len(by) else iter(())


def screen_items(
    pool: Sequence[SampleCandidate], plan: SamplePlan, strata: Collection[str], *, progress: Progress | None = None
) -> list[SampleCandidate]:
    """Set the outcomes of excluded items and return the others.

    Personal data is screened first, so that an item is only a duplicate of one that may be drawn.
    """
    for candidate in pool:
        if not candidate.strata:
            candidate.outcome = "missing value"
        elif not set(candidate.strata) & set(strata):
            candidate.outcome = "not asked for"
    candidates = [candidate for candidate in pool if candidate.outcome is None]
    if plan.personal_data:
        candidates = _without_personal_data(candidates, plan.personal_data, progress)
    return candidates if plan.duplicates is None else _without_duplicates(candidates, plan.duplicates)


def _require(name: str, items: Sequence[Item]) -> None:
    if any(name in item.attributes for item in items):
        return
    names = sorted({name for item in items for name in item.attributes})
    available = f"Attributes of items here are {format_list(names)}." if names else "Items have no attributes here."
    raise NotFound(f"The items have no {format_value(name)}. {available}{suggest(name, names)}")


def _without_personal_data(
    pool: list[SampleCandidate], kinds: Collection[Kind], progress: Progress | None
) -> list[SampleCandidate]:
    for number, candidate in enumerate(pool, start=1):
        spans = [span for turn in candidate.item.conversation.turns for span in find_personal_data(turn.text)]
        candidate.personal_data = sorted({span.kind for span in spans if span.kind in kinds})
        if candidate.personal_data:
            candidate.outcome = "personal data"
        if progress is not None:
            progress(PERSONAL_DATA_SHARE * number / len(pool))
    return [candidate for candidate in pool if candidate.outcome is None]


def _without_duplicates(pool: list[SampleCandidate], threshold: float) -> list[SampleCandidate]:
    texts = ["\n".join(turn.text for turn in candidate.item.conversation.turns) for candidate in pool]
    # A fixed seed: duplicates do not depend on the draw.
    duplicates = near_duplicates(texts, threshold=threshold, seed=0)
    for index in np.flatnonzero(duplicates.repeats):
        pool[index].outcome = "exact duplicate" if duplicates.exact[index] else "near duplicate"
        pool[index].duplicate_of = pool[duplicates.first[index]].item.item_id
    return [candidate for candidate in pool if candidate.outcome is None]
