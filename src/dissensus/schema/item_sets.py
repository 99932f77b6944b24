"""Sets of values in an attribute of items, such as the topics of a conversation."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

TOPICS: Final = ("harm_type", "topic")
"""Attributes of items that hold sets by definition, their values separated by commas."""

_SEPARATORS: Final = ("|", ";", ",")


def find_separator(attribute: str, values: Sequence[str]) -> str | None:
    """Return the separator of a set attribute: a comma between topics, else the first of | ; , that occurs.

    None for JSON lists.

    Examples
    --------
    >>> find_separator("harm_type", ["Racial", "Legal,Health"]), find_separator("tags", ["violence, gore|race"])
    (',', '|')
    """
    if attribute in TOPICS:
        return ","
    if any(value.lstrip().startswith("[") for value in values):
        return None
    return next((mark for mark in _SEPARATORS if any(mark in value for value in values)), ",")


def split_set(text: str, separator: str | None = ",") -> tuple[str, ...]:
    """Return the distinct values of a cell in their order; `separator` is None for a JSON list.

    Examples
    --------
    >>> split_set("Legal, Health,Legal"), split_set('["a, b", "c"]', None)
    (('Legal', 'Health'), ('a, b', 'c'))
    """
    values = parse_json_values(text) if separator is None else text.split(separator)
    return keep_distinct([text] if values is None else values)


def parse_json_values(text: str) -> list[str] | None:
    """Return the values of a JSON list, or a single one; None for other texts."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    listed = values if isinstance(values, list) else [values]
    return [str(value) for value in listed if value is not None]


def keep_distinct(values: Iterable[str]) -> tuple[str, ...]:
    """Return values without surrounding spaces, repetitions and blanks."""
    return tuple(dict.fromkeys(value.strip() for value in values if value.strip()))


def list_members(attribute: pl.Series, *, is_set: bool) -> pl.DataFrame:
    """Return one row for each item and value of an attribute: the index `row` of the item, and the `value`."""
    known = pl.DataFrame({"value": attribute.cast(pl.String)}).with_row_index("row").drop_nulls("value")
    if not is_set:
        return known
    cells = known["value"].unique().to_list()
    separator = find_separator(attribute.name, cells)
    members = {cell: list(split_set(cell, separator)) for cell in cells}
    split = pl.col("value").replace_strict(list(members), list(members.values()), return_dtype=pl.List(pl.String))
    return known.with_columns(split).explode("value").drop_nulls("value")


def describe_set(attribute: pl.Series) -> str | None:
    """Return a note on how the cells of a set attribute are read, if a cell holds several values."""
    cells = attribute.cast(pl.String).drop_nulls().unique().to_list()
    separator = find_separator(attribute.name, cells)
    if all(len(split_set(cell, separator)) < 2 for cell in cells):
        return None
    form = "JSON lists" if separator is None else f"separated by {separator!r}"
    return f"{attribute.name} holds sets of values ({form}): an item with several values counts under each of them."
