"""Strata of items: attributes that define them, and the allocation of a sample to them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.item_sets import TOPICS, split_set
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.findings import raise_failed_check, to_row_indices
from dissensus.schema.records.item import Item


@dataclass(frozen=True, slots=True)
class StratumAttribute:
    """An attribute of items."""

    name: str
    counts: tuple[tuple[str, int], ...]  # Values with their numbers of items, most frequent first
    n_missing: int  # Items without a value

    @property
    def divides(self) -> bool:
        """True for several values that occur at least twice on average."""
        n_items = sum(n for _, n in self.counts)
        return 2 <= len(self.counts) <= n_items / 2


def list_stratum_attributes(items: Sequence[Item]) -> tuple[StratumAttribute, ...]:
    """Return the attributes of items, in the order of their first occurrence.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> conversation = Conversation.from_turns([("bot", "Hi")])
    >>> items = [Item(number, conversation, {"harm": harm}) for number, harm in zip("1234", "BEEB")]
    >>> (attribute,) = list_stratum_attributes(items)
    >>> attribute.name, attribute.counts, attribute.divides
    ('harm', (('B', 2), ('E', 2)), True)
    """
    names = dict.fromkeys(name for item in items for name in item.attributes)
    return tuple(_summarise_attribute(name, items) for name in names)


def _summarise_attribute(name: str, items: Sequence[Item]) -> StratumAttribute:
    cells = [item.attributes[name] for item in items if name in item.attributes]
    values = [split_set(cell) if name in TOPICS else (cell,) for cell in cells]
    counts = Counter(value for several in values for value in several)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return StratumAttribute(name, tuple(ordered), len(items) - sum(map(bool, values)))


def allocate_proportionally(n: int, available: Sequence[int]) -> list[int]:
    """Divide n in proportion to the sizes of strata by largest remainders; ties to the larger, then the earlier.

    Examples
    --------
    >>> allocate_proportionally(10, [500, 300, 200]), allocate_proportionally(3, [10, 10])
    ([5, 3, 2], [2, 1])
    """
    total = sum(available)
    sizes = [n * size // total for size in available]
    by_remainder = sorted(
        range(len(available)), key=lambda stratum: (-(n * available[stratum] % total), -available[stratum])
    )
    for stratum in by_remainder[: n - sum(sizes)]:
        sizes[stratum] += 1
    return sizes


def allocate_equally(n: int, available: Sequence[int]) -> list[int]:
    """Divide n evenly, with the remainder to the largest strata; ties to the earlier.

    Examples
    --------
    >>> allocate_equally(11, [5, 90, 40])
    [3, 4, 4]
    """
    share, remainder = divmod(n, len(available))
    sizes = [share] * len(available)
    for stratum in sorted(range(len(available)), key=lambda stratum: -available[stratum])[:remainder]:
        sizes[stratum] += 1
    return sizes


def fill_strata(targets: Sequence[int], available: Sequence[int]) -> list[int]:
    """Return the sample size of each stratum, with shortfalls spread evenly over the others.

    Examples
    --------
    >>> fill_strata([4, 4, 4], [1, 5, 9])
    [1, 5, 6]
    """
    sizes = [min(pair) for pair in zip(targets, available, strict=True)]
    while short := min(sum(targets), sum(available)) - sum(sizes):
        room = [stratum for stratum, size in enumerate(available) if size > sizes[stratum]][:short]
        for stratum in room:
            sizes[stratum] += min(max(1, short // len(room)), available[stratum] - sizes[stratum])
    return sizes


def join_attributes(
    items: Sequence[Item], table: pl.DataFrame, columns: Sequence[str], *, item: str = ITEM_ID
) -> tuple[Item, ...]:
    """Return items with attributes from a table of items or of ratings, such as their gold labels.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> corpus = [Item("7", Conversation.from_turns([("bot", "Hi")]))]
    >>> gold = pl.DataFrame({"item_id": ["7", "7", "8"], "safety_gold": ["Yes", "Yes", "No"]})
    >>> dict(join_attributes(corpus, gold, ["safety_gold"])[0].attributes)
    {'safety_gold': 'Yes'}
    """
    require_column(item, table.columns, "item")
    ids = cells.read_ids(table[item], raise_failed_check)
    owners = pl.Series([one.item_id for one in items], dtype=pl.String)
    codes = to_row_indices(ids.replace_strict(owners, pl.Series(range(len(owners))), default=-1, return_dtype=pl.Int64))
    if not (codes >= 0).any():
        raise InvalidInput(
            f"No item is in the table of labels: ids of items are {format_list(owners.to_list(), 3)}, ids in the table "
            f"{format_list(ids.to_list(), 3)}."
        )
    names = [name for name in columns if name in table.columns]
    values = pl.DataFrame(
        [cells.read_attribute(table[name], codes, owners, "item", raise_failed_check) for name in names]
    )
    rows = values.iter_rows(named=True) if names else ({} for _ in items)
    return tuple(_add_attributes(owner, row) for owner, row in zip(items, rows, strict=True))


def _add_attributes(item: Item, row: Mapping[str, str | None]) -> Item:
    added = {name: value for name, value in row.items() if value is not None}
    clash = next((name for name in added if item.attributes.get(name, added[name]) != added[name]), None)
    if clash is not None:
        raise InvalidInput(
            f"Item {format_value(item.item_id)} has {clash} {format_value(item.attributes[clash])}, "
            f"and {format_value(added[clash])} in the table of labels. Correct one of the two, or drop the column from "
            "it."
        )
    return Item(item.item_id, item.conversation, {**item.attributes, **added})
