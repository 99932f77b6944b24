"""Renames of columns and of values before a table of ratings is read."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings import cells

Renames = Mapping[str, str | Mapping[str, str]]
"""New name of a column, or new names of the values of a column."""


DICES_RENAMES: Final = {"rater_race_raw": "rater_raw_race"}
"""Columns of DICES-990 with their names in DICES-350."""


def rename_table(frame: pl.DataFrame, renames: Renames) -> tuple[pl.DataFrame, set[str]]:
    """Return a table with other names of columns and values, and the columns that were renamed or had such values.

    Columns are renamed before values, so that values of a renamed column are listed under its new name.

    Examples
    --------
    >>> table = pl.DataFrame({"worker": ["1", "2"], "rater_locale": ["IN", "US"]})
    >>> renamed, _ = rename_table(table, {"worker": "rater_id", "rater_locale": {"IN": "India"}})
    >>> renamed.to_dicts()[0]
    {'rater_id': '1', 'rater_locale': 'India'}
    """
    columns = {old: new for old, new in renames.items() if isinstance(new, str) and old in frame.columns}
    clash = next((new for old, new in columns.items() if new in frame.columns and new not in columns), None)
    duplicate = next((new for new, n in Counter(columns.values()).items() if n > 1), None)
    if duplicate is not None:
        raise InvalidInput(f"Two columns are renamed to {format_value(duplicate)}. Give each another name.")
    if clash is not None:
        raise InvalidInput(
            f"There is already a column {format_value(clash)}. Rename to another name, or drop it first."
        )
    table = frame.rename(columns)
    used = set(columns)
    for column, values in renames.items():
        if isinstance(values, str) or column not in table.columns:
            continue
        text = cells.to_text(table[column])
        if text.is_in(list(values)).any():
            used.add(column)
            table = table.with_columns(text.replace(dict(values)).alias(column))
    return table, used


def require_renames(renames: Renames, used: Collection[str], columns: Collection[str]) -> None:
    """Raise for a rename that applies to no table."""
    for name, new in renames.items():
        if name in used:
            continue
        if isinstance(new, str) or name not in columns:
            listed = format_list(sorted(columns))
            raise NotFound(
                f"There is no column {name!r} to rename.{suggest(name, list(columns))} Columns are {listed}."
            )
        raise NotFound(f"No row has {name} {format_list(list(new))}, so there is nothing to rename.")
