"""What divides items, where another table has it."""

from collections.abc import Mapping, Sequence

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import listed, shown
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.column_choice import require
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.findings import refuse, rows_of
from dissensus.schema.records.item import Item


def labelled(
    items: Sequence[Item], table: pl.DataFrame, columns: Sequence[str], *, item: str = ITEM_ID
) -> tuple[Item, ...]:
    """Return items with attributes from a table of items or of ratings, such as their gold labels.

    Parameters
    ----------
    items
        The items.
    table
        One or more rows an item.
    columns
        Attributes to take; those that the table does not have are left to the items.
    item
        Column of the table with the ids.

    Raises
    ------
    NotFound
        There is no such column with ids.
    InvalidInput
        No item is in the table, or an item has two values.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> corpus = [Item("7", Conversation.from_turns([("bot", "Hi")]))]
    >>> gold = pl.DataFrame({"item_id": ["7", "7", "8"], "safety_gold": ["Yes", "Yes", "No"]})
    >>> dict(labelled(corpus, gold, ["safety_gold"])[0].attributes)
    {'safety_gold': 'Yes'}
    """
    require(item, table.columns, "item")
    ids, owners = cells.ids(table[item], refuse), pl.Series([one.item_id for one in items], dtype=pl.String)
    codes = rows_of(ids.replace_strict(owners, pl.Series(range(len(owners))), default=-1, return_dtype=pl.Int64))
    if not (codes >= 0).any():
        raise InvalidInput(
            f"No item is in the table of labels: ids are {listed(owners.to_list(), 3)}, and there "
            f"{listed(ids.to_list(), 3)}."
        )
    known = [name for name in columns if name in table.columns]
    values = pl.DataFrame([cells.constant(table[name], codes, owners, "item", refuse) for name in known])
    rows = values.iter_rows(named=True) if known else ({} for _ in items)
    return tuple(_with(one, row) for one, row in zip(items, rows, strict=True))


def _with(item: Item, row: Mapping[str, str | None]) -> Item:
    added = {name: value for name, value in row.items() if value is not None}
    clash = next((name for name in added if item.attributes.get(name, added[name]) != added[name]), None)
    if clash is not None:
        raise InvalidInput(
            f"Item {shown(item.item_id)} has {clash} {shown(item.attributes[clash])}, and {shown(added[clash])} in the "
            "table of labels. Correct one of the two, or drop the column from it."
        )
    return Item(item.item_id, item.conversation, {**item.attributes, **added})
