"""Item attributes from a second table."""

from collections.abc import Mapping, Sequence

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.findings import raise_failed_check, to_row_indices
from dissensus.schema.records.item import Item


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
