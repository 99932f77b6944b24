"""Platinum labels: labels of an earlier, diverse crowd, read from a table of items."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.faults import combine_problems
from dissensus.schema.ratings.columns import ITEM_ID, PLATINUM
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, check_text
from dissensus.schema.records.item import MAX_NAME_LENGTH

SOURCE: Final = f"{PLATINUM}_source"
LABELS: Final = (PLATINUM, "label", "answers")
"""Columns for the label, in order of preference."""
MAX_COLUMNS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelTable:
    """A table with its label column."""

    rows: list[dict[str, Any]]
    label: str | None  # None if columns are shares of answers
    attributes: tuple[str, ...]  # other columns


def parse_platinum(
    frame: pl.DataFrame, scale: Sequence[str], items: Collection[str], *, label: str | None = None, source: str
) -> dict[str, dict[str, str]]:
    """Return the labels of an earlier crowd as attributes of items.

    Examples
    --------
    >>> frame = pl.DataFrame({"item_id": ["7"], "No": [3], "Yes": [9]})
    >>> parse_platinum(frame, ["No", "Yes"], ["7"], source="pilot of May")["7"]["safety_platinum"]
    'Yes'
    """
    table = _parse_table(frame, scale, label)
    faults = [*_faults(table, scale, items), *_source_faults(source)]
    if faults:
        raise combine_problems("The table of labels", faults)
    return {str(row[ITEM_ID]): _attributes(row, table, scale, source.strip()) for row in table.rows}


def _parse_table(frame: pl.DataFrame, scale: Sequence[str], label: str | None) -> _LabelTable:
    if ITEM_ID not in frame.columns:
        hint = suggest(ITEM_ID, frame.columns)
        raise InvalidInput(f"There is no column item_id.{hint} Columns are {format_list(frame.columns)}.")
    if label is not None and label not in frame.columns:
        hint = suggest(label, frame.columns)
        raise InvalidInput(f"There is no column {format_value(label)}.{hint} Columns are {format_list(frame.columns)}.")
    if frame.schema[ITEM_ID].is_nested():
        raise InvalidInput("The column item_id holds lists or objects. Give the id of one item in each row.")
    if len(frame.columns) > MAX_COLUMNS:
        raise InvalidInput(f"There are {len(frame.columns):,} columns, and {MAX_COLUMNS} are allowed. Leave some out.")
    label = label or next((name for name in LABELS if name in frame.columns), None)
    if label is None and not set(scale) <= set(frame.columns):
        raise InvalidInput(
            f"No column holds the label. Name one {format_list(LABELS)}, or give the share of each answer in a column "
            f"of its name: {format_list(scale)}. Columns are {format_list(frame.columns)}."
        )
    attributes = tuple(name for name in frame.columns if name not in (ITEM_ID, label))
    return _LabelTable(rows=frame.to_dicts(), label=label, attributes=attributes)


def _faults(table: _LabelTable, scale: Sequence[str], items: Collection[str]) -> Iterator[str]:
    counts, item_ids = Counter(row[ITEM_ID] for row in table.rows), frozenset(map(str, items))
    for number, row in enumerate(table.rows, 1):
        item = row[ITEM_ID]
        location = f"row {number:,} (item {format_value(item)})"
        if item is None:
            yield f"row {number:,}: It has no item_id."
        elif str(item) not in item_ids:
            yield f"{location}: The campaign has no such item. Leave it out."
        elif counts[item] > 1:
            yield f"{location}: It occurs {counts[item]:,} times. Leave one row."
        if (fault := _label_fault(row, table, scale)) is not None:
            yield f"{location}: {fault}"
        yield from (f"{location}, {name}: {fault}" for name, fault in _text_faults(row, table.attributes))


def _label_fault(row: Mapping[str, Any], table: _LabelTable, scale: Sequence[str]) -> str | None:
    if table.label is not None:
        value = row[table.label]
        if value is None:
            return f"It has no label. Labels are {format_list(scale)}."
        if str(value) in scale:
            return None
        hint = suggest(str(value), scale)
        return f"{format_value(value)} is not a label.{hint} Labels are {format_list(scale)}."
    try:
        modes = _most_frequent(row, scale)
    except (TypeError, ValueError):
        return f"The share of an answer is not a number of 0 or more. Give one of each: {format_list(scale)}."
    if len(modes) == 1:
        return None
    return f"{format_list(modes)} are equally frequent. Name the label to use in a column label."


def _most_frequent(row: Mapping[str, Any], scale: Sequence[str]) -> list[str]:
    shares = {answer: float(row[answer]) for answer in scale}
    if not all(0 <= share < float("inf") for share in shares.values()):
        raise ValueError
    return [answer for answer, share in shares.items() if share == max(shares.values())]


def _text_faults(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in columns:
        if row[name] is not None:
            try:
                check_text(name, "The name", MAX_NAME_LENGTH - len(PLATINUM) - 1)
                check_text(str(row[name]), "The text", MAX_TURN_LENGTH)
            except InvalidInput as error:
                yield format_value(name), str(error)


def _source_faults(source: str) -> Iterator[str]:
    if not source.strip():
        yield "the source: It is missing. Say where the labels come from, such as the study and its year."
        return
    try:
        check_text(source, "It", MAX_NAME_LENGTH)
    except InvalidInput as error:
        yield f"the source: {error}"


def _attributes(row: Mapping[str, Any], table: _LabelTable, scale: Sequence[str], source: str) -> dict[str, str]:
    label = _most_frequent(row, scale)[0] if table.label is None else str(row[table.label])
    attributes = {f"{PLATINUM}_{name}": str(row[name]) for name in table.attributes if row[name] is not None}
    return {**attributes, PLATINUM: label, SOURCE: source}
