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
"""Columns that may hold the label, the first of them that is there."""
MAX_COLUMNS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelTable:
    """A table, and how its labels are told."""

    rows: list[dict[str, Any]]
    label: str | None
    others: tuple[str, ...]


def parse_platinum(
    frame: pl.DataFrame, scale: Sequence[str], known: Collection[str], *, label: str | None = None, source: str
) -> dict[str, dict[str, str]]:
    """Return what an earlier crowd said of items, as their attributes.

    Examples
    --------
    >>> frame = pl.DataFrame({"item_id": ["7"], "No": [3], "Yes": [9]})
    >>> parse_platinum(frame, ["No", "Yes"], ["7"], source="pilot of May")["7"]["safety_platinum"]
    'Yes'
    """
    read = _read(frame, scale, label)
    faults = [*_faults(read, scale, known), *_source_faults(source)]
    if faults:
        raise combine_problems("The table of labels", faults)
    return {str(row[ITEM_ID]): _attributes(row, read, scale, source.strip()) for row in read.rows}


def _read(frame: pl.DataFrame, scale: Sequence[str], label: str | None) -> _LabelTable:
    if ITEM_ID not in frame.columns:
        hint = suggest(ITEM_ID, frame.columns)
        raise InvalidInput(f"There is no column item_id.{hint} Columns are {format_list(frame.columns)}.")
    if label is not None and label not in frame.columns:
        hint = suggest(label, frame.columns)
        raise InvalidInput(f"There is no column {format_value(label)}.{hint} Columns are {format_list(frame.columns)}.")
    if len(frame.columns) > MAX_COLUMNS:
        raise InvalidInput(f"There are {len(frame.columns):,} columns, and {MAX_COLUMNS} are allowed. Leave some out.")
    result = label or next((name for name in LABELS if name in frame.columns), None)
    if result is None and not set(scale) <= set(frame.columns):
        raise InvalidInput(
            f"No column holds the label. Name one {format_list(LABELS)}, or give the share of each answer in a column "
            f"of its name: {format_list(scale)}. Columns are {format_list(frame.columns)}."
        )
    others = tuple(name for name in frame.columns if name not in (ITEM_ID, result))
    return _LabelTable(rows=frame.to_dicts(), label=result, others=others)


def _faults(read: _LabelTable, scale: Sequence[str], known: Collection[str]) -> Iterator[str]:
    times, names = Counter(row[ITEM_ID] for row in read.rows), frozenset(map(str, known))
    for number, row in enumerate(read.rows, 1):
        item = row[ITEM_ID]
        place = f"row {number:,} (item {format_value(item)})"
        if item is None:
            yield f"row {number:,}: It has no item_id."
        elif str(item) not in names:
            yield f"{place}: The campaign has no such item. Leave it out."
        elif times[item] > 1:
            yield f"{place}: It stands there {times[item]:,} times. Leave one row."
        if (fault := _label_fault(row, read, scale)) is not None:
            yield f"{place}: {fault}"
        yield from (f"{place}, {name}: {fault}" for name, fault in _text_faults(row, read.others))


def _label_fault(row: Mapping[str, Any], read: _LabelTable, scale: Sequence[str]) -> str | None:
    if read.label is not None:
        value = row[read.label]
        if value is None:
            return f"It has no label. Labels are {format_list(scale)}."
        hint = suggest(str(value), scale)
        return None if value in scale else f"{format_value(value)} is no label.{hint} Labels are {format_list(scale)}."
    try:
        best = _most_frequent(row, scale)
    except (TypeError, ValueError):
        return f"The share of an answer is no number from 0 on. Give one of each: {format_list(scale)}."
    return None if len(best) == 1 else f"{format_list(best)} are equally frequent. Say which holds, in a column label."


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


def _attributes(row: Mapping[str, Any], read: _LabelTable, scale: Sequence[str], source: str) -> dict[str, str]:
    label = _most_frequent(row, scale)[0] if read.label is None else str(row[read.label])
    beside = {f"{PLATINUM}_{name}": str(row[name]) for name in read.others if row[name] is not None}
    return {**beside, PLATINUM: label, SOURCE: source}
