"""Screens that leave items out of a sample, with reasons."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.selection import ALL_ITEMS, Outcome
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.columns import CROSSED
from dissensus.schema.records.item import Item
from dissensus.text.near_duplicates import near_duplicates
from dissensus.text.personal_data import Kind, find_personal_data

SLOWEST: Final = 0.8
"""Share of all the work that looking for personal data takes."""

Progress: TypeAlias = Callable[[float], None]


@dataclass(slots=True)
class SampleCandidate:
    """An item on its way: its stratum, and once that is settled what becomes of it."""

    item: Item
    stratum: str | None
    outcome: Outcome | None = None
    duplicate_of: str | None = None
    personal_data: list[Kind] = field(default_factory=list)


def list_candidates(items: Sequence[Item], by: Sequence[str]) -> list[SampleCandidate]:
    """Return items with their strata, None where a value is missing."""
    for name in by:
        _require(name, items)
    known: dict[str, tuple[str, ...]] = {}
    found = []
    for item in items:
        values = tuple(item.attributes[name] for name in by if name in item.attributes)
        stratum = (CROSSED.join(values) if by else ALL_ITEMS) if len(values) == len(by) else None
        if stratum is not None and known.setdefault(stratum, values) != values:
            raise InvalidInput(
                f"Two strata are called {format_value(stratum)}: {format_list(known[stratum])}, and "
                f"{format_list(values)}. "
                "Rename a value."
            )
        found.append(SampleCandidate(item, stratum))
    return found


def screen_items(
    pool: Sequence[SampleCandidate], plan: SamplePlan, strata: Collection[str], *, progress: Progress | None = None
) -> list[SampleCandidate]:
    """Settle those that may not be drawn, and return the others.

    An item is only a duplicate of one that might be drawn itself, so that no text is lost with another that has
    personal data.
    """
    for one in pool:
        if one.stratum is None:
            one.outcome = "missing value"
        elif one.stratum not in strata:
            one.outcome = "not asked for"
    left = [one for one in pool if one.outcome is None]
    if plan.personal_data:
        left = _without_personal_data(left, plan.personal_data, progress)
    return left if plan.duplicates is None else _without_duplicates(left, plan.duplicates)


def _require(name: str, items: Sequence[Item]) -> None:
    if any(name in item.attributes for item in items):
        return
    names = sorted({name for item in items for name in item.attributes})
    have = f"Attributes of items here are {format_list(names)}." if names else "Items have no attributes here."
    raise NotFound(f"The items have no {format_value(name)}. {have}{suggest(name, names)}")


def _without_personal_data(
    pool: list[SampleCandidate], kinds: Collection[Kind], progress: Progress | None
) -> list[SampleCandidate]:
    for number, one in enumerate(pool, start=1):
        spans = [span for turn in one.item.conversation.turns for span in find_personal_data(turn.text)]
        one.personal_data = sorted({span.kind for span in spans if span.kind in kinds})
        if one.personal_data:
            one.outcome = "personal data"
        if progress is not None:
            progress(SLOWEST * number / len(pool))
    return [one for one in pool if one.outcome is None]


def _without_duplicates(pool: list[SampleCandidate], threshold: float) -> list[SampleCandidate]:
    texts = ["\n".join(turn.text for turn in one.item.conversation.turns) for one in pool]
    # Seeded apart from the draw: what is a duplicate does not depend on who is drawn.
    found = near_duplicates(texts, threshold=threshold, seed=0)
    for place in np.flatnonzero(found.repeats):
        pool[place].outcome = "exact duplicate" if found.exact[place] else "near duplicate"
        pool[place].duplicate_of = pool[found.first[place]].item.item_id
    return [one for one in pool if one.outcome is None]
