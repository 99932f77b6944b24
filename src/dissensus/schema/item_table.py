"""A table with one row per item, joined to the items that were rated."""

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema import cells
from dissensus.schema.choice import require
from dissensus.schema.columns import ITEM_ID
from dissensus.schema.hints import listed, more, shown


def join_items(items: pl.DataFrame, frame: pl.DataFrame, item: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the rated items with the attributes of a table of items, and notes.

    Raises
    ------
    InvalidInput
        A rated item is not in the table, an item is in it twice, or it contradicts what is known already.
    """
    require(item, frame.columns, "item")
    rows = _rows(items[ITEM_ID], cells.ids(frame[item]))
    attributes = [
        _merged(items, cells.text(frame[name]).gather(rows)) for name in frame.columns if name not in (item, ITEM_ID)
    ]
    unrated = frame.height - items.height
    note = f"{unrated:,} of the {frame.height:,} items in the table of items have no ratings."
    return items.with_columns(attributes), (note,) * bool(unrated)


def _rows(rated: pl.Series, ids: pl.Series) -> pl.Series:
    """Return the row of each rated item in the table of items."""
    twice = (~ids.is_first_distinct()).arg_true()
    if len(twice):
        row = int(twice[0])
        first = int((ids == ids[row]).arg_true()[0])
        raise InvalidInput(
            f"Item {shown(ids[row])} is twice in the table of items, in row {first + 1:,} and "
            f"row {row + 1:,}. Each item has one row.{more(len(twice) - 1, 'such row')}"
        )
    table = pl.DataFrame({ITEM_ID: ids}).with_row_index("row")
    rows = rated.to_frame().join(table, on=ITEM_ID, how="left", maintain_order="left")["row"]
    missing = rated.filter(rows.is_null())
    if len(missing):
        raise InvalidInput(
            f"The table of items has no row for {len(missing):,} of the {len(rated):,} rated items: "
            f"{listed(missing.head(1000).to_list(), 5)}. Add them, or drop their ratings."
        )
    return rows


def _merged(items: pl.DataFrame, attribute: pl.Series) -> pl.Series:
    """Return an attribute, filled in from what is known already and never contradicting it."""
    if attribute.name not in items.columns:
        return attribute
    known = items[attribute.name]
    differs = (known != attribute).arg_true()
    if len(differs):
        row = int(differs[0])
        raise InvalidInput(
            f"Item {shown(items[ITEM_ID][row])} has {attribute.name} {shown(known[row])} in the ratings and "
            f"{shown(attribute[row])} in the table of items.{more(len(differs) - 1, 'such item')} "
            "Correct one of the two, or drop the column from it."
        )
    return known.zip_with(known.is_not_null(), attribute)
