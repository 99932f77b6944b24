"""Joins of item and rater attributes to ratings."""

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_noun, count_rest, format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.cleaning import CellCleaner, CleaningRules
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.columns import FLAG, ITEM_ID, RATER_ID, REMOVED, is_rater_attribute
from dissensus.schema.ratings.findings import raise_failed_check

JoinResult = tuple[pl.DataFrame, tuple[str, ...]]


def join_items(items: pl.DataFrame, frame: pl.DataFrame, item: str) -> JoinResult:
    """Join the attributes of a table of items; return the items and notes."""
    require_column(item, frame.columns, "item")
    attributes = [name for name in frame.columns if name not in (item, ITEM_ID)]
    return _join(items, frame, item, [cells.to_text(frame[name]) for name in attributes], "item")


def join_raters(
    raters: pl.DataFrame,
    frame: pl.DataFrame,
    rater: str,
    rules: CleaningRules = CleaningRules(),  # noqa: B008 - frozen
) -> JoinResult:
    """Join the attributes of a table of raters, whose flags replace earlier ones; return the raters and notes."""
    require_column(rater, frame.columns, "rater")
    attributes = [name for name in frame.columns if is_rater_attribute(name) and name != rater]
    cleaner = CellCleaner(rules)
    clean = {name: cleaner.clean_attribute(frame[name]).text for name in attributes}
    joined, notes = _join(raters, frame, rater, list(clean.values()), "rater")
    notes = (*(remark.note for remark in cleaner.remarks()), *notes)
    flag = next((name for name in (FLAG, REMOVED) if name in frame.columns), None)
    if flag is None:
        return joined, notes
    ids = cells.read_ids(frame[rater], raise_failed_check)
    flagged = cells.read_flags(frame[flag], np.arange(len(ids)), ids, raise_failed_check).gather(
        _find_rows(raters[RATER_ID], ids, "rater")
    )
    if FLAG in raters.columns and raters[FLAG].any():
        change = (
            f"The flags of the ratings ({count_noun(int(raters[FLAG].sum()), 'rater')}) are replaced by those of the"
        )
        notes = (*notes, f"{change} table of raters ({count_noun(int(flagged.sum()), 'rater')}).")
    return joined.with_columns(flagged.alias(FLAG)), notes


def _join(table: pl.DataFrame, frame: pl.DataFrame, column: str, attributes: list[pl.Series], kind: str) -> JoinResult:
    rows = _find_rows(table[:, 0], cells.read_ids(frame[column], raise_failed_check), kind)
    merged = [_merge(table, attribute.gather(rows), kind) for attribute in attributes]
    n_unused = frame.height - table.height
    verb = "has" if n_unused == 1 else "have"
    note = f"{n_unused:,} of the {frame.height:,} {kind}s in the table of {kind}s {verb} no ratings."
    return table.with_columns(merged), (note,) * bool(n_unused)


def _find_rows(rated: pl.Series, ids: pl.Series, kind: str) -> pl.Series:
    """Return the row of each item or rater in their table."""
    duplicates = (~ids.is_first_distinct()).arg_true()
    if len(duplicates):
        row = int(duplicates[0])
        first = int((ids == ids[row]).arg_true()[0])
        raise InvalidInput(
            f"{kind.capitalize()} {format_value(ids[row])} is twice in the table of {kind}s, in row {first + 1:,} and "
            f"row {row + 1:,}. Each {kind} has one row.{count_rest(len(duplicates) - 1, 'such row')}"
        )
    table = pl.DataFrame({rated.name: ids}).with_row_index("row")
    rows = rated.to_frame().join(table, on=rated.name, how="left", maintain_order="left")["row"]
    missing = rated.filter(rows.is_null())
    if len(missing):
        noun = "rated items" if kind == "item" else "raters"
        raise InvalidInput(
            f"The table of {kind}s has no row for {len(missing):,} of the {len(rated):,} {noun}: "
            f"{format_list(missing.head(1000).to_list(), 5)}. Add them, or drop their ratings."
        )
    return rows


def _merge(table: pl.DataFrame, attribute: pl.Series, kind: str) -> pl.Series:
    """Merge an attribute into an existing column, and raise if they contradict each other."""
    if attribute.name not in table.columns:
        return attribute
    existing = table[attribute.name]
    differs = (existing != attribute).arg_true()
    if len(differs):
        row = int(differs[0])
        raise InvalidInput(
            f"{kind.capitalize()} {format_value(table[row, 0])} has {attribute.name} {format_value(existing[row])} in "
            f"the ratings and {format_value(attribute[row])} in the table of {kind}s."
            f"{count_rest(len(differs) - 1, f'such {kind}')} Correct one of the two, or drop the column from it."
        )
    return existing.zip_with(existing.is_not_null(), attribute)
