"""Joins of item and rater attributes to ratings."""

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_rest, format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.columns import FLAG, ITEM_ID, RATER_ID, REMOVED, is_rater_attribute
from dissensus.schema.ratings.findings import raise_failed_check

JoinResult = tuple[pl.DataFrame, tuple[str, ...]]


def join_items(items: pl.DataFrame, frame: pl.DataFrame, item: str) -> JoinResult:
    """Return the rated items with the attributes of a table of items, and notes."""
    require_column(item, frame.columns, "item")
    attributes = [name for name in frame.columns if name not in (item, ITEM_ID)]
    return _join(items, frame, item, attributes, "item")


def join_raters(raters: pl.DataFrame, frame: pl.DataFrame, rater: str) -> JoinResult:
    """Return the raters with the attributes of a table of raters, and notes; its flags replace those known before."""
    require_column(rater, frame.columns, "rater")
    attributes = [name for name in frame.columns if is_rater_attribute(name) and name != rater]
    joined, notes = _join(raters, frame, rater, attributes, "rater")
    flag = next((name for name in (FLAG, REMOVED) if name in frame.columns), None)
    if flag is None:
        return joined, notes
    ids = cells.read_ids(frame[rater], raise_failed_check)
    flagged = cells.read_flags(frame[flag], np.arange(len(ids)), ids, raise_failed_check).gather(
        _rows(raters[RATER_ID], ids, "rater")
    )
    if FLAG in raters.columns and raters[FLAG].any():
        change = f"The flags of {raters[FLAG].sum():,} raters are replaced by the table of raters, which flags "
        notes = (*notes, f"{change}{flagged.sum():,}.")
    return joined.with_columns(flagged.alias(FLAG)), notes


def _join(known: pl.DataFrame, frame: pl.DataFrame, column: str, attributes: list[str], who: str) -> JoinResult:
    rows = _rows(known[:, 0], cells.read_ids(frame[column], raise_failed_check), who)
    merged = [_merge(known, cells.to_text(frame[name]).gather(rows), who) for name in attributes]
    idle = frame.height - known.height
    verb = "has" if idle == 1 else "have"
    note = f"{idle:,} of the {frame.height:,} {who}s in the table of {who}s {verb} no ratings."
    return known.with_columns(merged), (note,) * bool(idle)


def _rows(rated: pl.Series, ids: pl.Series, who: str) -> pl.Series:
    """Return the row of each item or rater in their table."""
    twice = (~ids.is_first_distinct()).arg_true()
    if len(twice):
        row = int(twice[0])
        first = int((ids == ids[row]).arg_true()[0])
        raise InvalidInput(
            f"{who.capitalize()} {format_value(ids[row])} is twice in the table of {who}s, in row {first + 1:,} and "
            f"row {row + 1:,}. Each {who} has one row.{count_rest(len(twice) - 1, 'such row')}"
        )
    table = pl.DataFrame({rated.name: ids}).with_row_index("row")
    rows = rated.to_frame().join(table, on=rated.name, how="left", maintain_order="left")["row"]
    missing = rated.filter(rows.is_null())
    if len(missing):
        whose = "rated items" if who == "item" else "raters"
        raise InvalidInput(
            f"The table of {who}s has no row for {len(missing):,} of the {len(rated):,} {whose}: "
            f"{format_list(missing.head(1000).to_list(), 5)}. Add them, or drop their ratings."
        )
    return rows


def _merge(table: pl.DataFrame, attribute: pl.Series, who: str) -> pl.Series:
    """Return an attribute, filled in from what is known already and never contradicting it."""
    if attribute.name not in table.columns:
        return attribute
    known = table[attribute.name]
    differs = (known != attribute).arg_true()
    if len(differs):
        row = int(differs[0])
        raise InvalidInput(
            f"{who.capitalize()} {format_value(table[row, 0])} has {attribute.name} {format_value(known[row])} in the "
            "ratings and "
            f"{format_value(attribute[row])} in the table of {who}s.{count_rest(len(differs) - 1, f'such {who}')} "
            "Correct one of the two, or drop the column from it."
        )
    return known.zip_with(known.is_not_null(), attribute)
