"""Labels of an earlier, diverse crowd, as a table of items brings them."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import did_you_mean, listed, shown
from dissensus.schema.questionnaire.faults import refusal
from dissensus.schema.ratings.columns import ITEM_ID, PLATINUM
from dissensus.schema.records.conversation import LONGEST_TURN, check_text
from dissensus.schema.records.item import LONGEST_NAME

SOURCE: Final = f"{PLATINUM}_source"
LABELS: Final = (PLATINUM, "label", "answers")
"""Columns that may hold the label, the first of them that is there."""
MOST_COLUMNS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A table, and how its labels are told."""

    rows: list[dict[str, Any]]
    label: str | None
    others: tuple[str, ...]


def platinum_from(
    frame: pl.DataFrame, scale: Sequence[str], known: Collection[str], *, label: str | None = None, source: str
) -> dict[str, dict[str, str]]:
    """Return what an earlier crowd said of items, as their attributes.

    Parameters
    ----------
    frame
        One row an item: its ``item_id``, the label, and whatever else is known, which is kept beside it.
    scale
        The labels that there may be.
    known
        The ids of the items that there are.
    label
        The column of the label. By default ``safety_platinum``, ``label`` or ``answers``; where none is there, the
        shares or counts of all labels, under their names, of which the greatest counts.
    source
        Where the labels come from, in words; kept with each.

    Returns
    -------
    dict
        By item: ``safety_platinum``, ``safety_platinum_source``, and ``safety_platinum_COLUMN`` of all other columns.

    Raises
    ------
    InvalidInput
        The message names everything that is wrong: ids that are unknown or stand there twice, labels that are none.

    Examples
    --------
    >>> frame = pl.DataFrame({"item_id": ["7"], "No": [3], "Yes": [9]})
    >>> platinum_from(frame, ["No", "Yes"], ["7"], source="pilot of May")["7"]["safety_platinum"]
    'Yes'
    """
    read = _read(frame, scale, label)
    faults = [*_faults(read, scale, known), *_source_faults(source)]
    if faults:
        raise refusal("The table of labels", faults)
    return {str(row[ITEM_ID]): _attributes(row, read, scale, source.strip()) for row in read.rows}


def _read(frame: pl.DataFrame, scale: Sequence[str], label: str | None) -> _Read:
    if ITEM_ID not in frame.columns:
        hint = did_you_mean(ITEM_ID, frame.columns)
        raise InvalidInput(f"There is no column item_id.{hint} Columns are {listed(frame.columns)}.")
    if label is not None and label not in frame.columns:
        hint = did_you_mean(label, frame.columns)
        raise InvalidInput(f"There is no column {shown(label)}.{hint} Columns are {listed(frame.columns)}.")
    if len(frame.columns) > MOST_COLUMNS:
        raise InvalidInput(f"There are {len(frame.columns):,} columns, and {MOST_COLUMNS} are allowed. Leave some out.")
    found = label or next((name for name in LABELS if name in frame.columns), None)
    if found is None and not set(scale) <= set(frame.columns):
        raise InvalidInput(
            f"No column holds the label. Name one {listed(LABELS)}, or give the share of each answer in a column of "
            f"its name: {listed(scale)}. Columns are {listed(frame.columns)}."
        )
    others = tuple(name for name in frame.columns if name not in (ITEM_ID, found))
    return _Read(rows=frame.to_dicts(), label=found, others=others)


def _faults(read: _Read, scale: Sequence[str], known: Collection[str]) -> Iterator[str]:
    times, names = Counter(row[ITEM_ID] for row in read.rows), frozenset(map(str, known))
    for number, row in enumerate(read.rows, 1):
        item = row[ITEM_ID]
        place = f"row {number:,} (item {shown(item)})"
        if item is None:
            yield f"row {number:,}: It has no item_id."
        elif str(item) not in names:
            yield f"{place}: The campaign has no such item. Leave it out."
        elif times[item] > 1:
            yield f"{place}: It stands there {times[item]:,} times. Leave one row."
        if (fault := _label_fault(row, read, scale)) is not None:
            yield f"{place}: {fault}"
        yield from (f"{place}, {name}: {fault}" for name, fault in _text_faults(row, read.others))


def _label_fault(row: Mapping[str, Any], read: _Read, scale: Sequence[str]) -> str | None:
    if read.label is not None:
        value = row[read.label]
        if value is None:
            return f"It has no label. Labels are {listed(scale)}."
        hint = did_you_mean(str(value), scale)
        return None if value in scale else f"{shown(value)} is no label.{hint} Labels are {listed(scale)}."
    try:
        best = _most(row, scale)
    except (TypeError, ValueError):
        return f"The share of an answer is no number from 0 on. Give one of each: {listed(scale)}."
    return None if len(best) == 1 else f"{listed(best)} are equally frequent. Say which holds, in a column label."


def _most(row: Mapping[str, Any], scale: Sequence[str]) -> list[str]:
    shares = {answer: float(row[answer]) for answer in scale}
    if not all(0 <= share < float("inf") for share in shares.values()):
        raise ValueError
    return [answer for answer, share in shares.items() if share == max(shares.values())]


def _text_faults(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in columns:
        if row[name] is not None:
            try:
                check_text(name, "The name", LONGEST_NAME - len(PLATINUM) - 1)
                check_text(str(row[name]), "The text", LONGEST_TURN)
            except InvalidInput as error:
                yield shown(name), str(error)


def _source_faults(source: str) -> Iterator[str]:
    if not source.strip():
        yield "the source: It is missing. Say where the labels come from, such as the study and its year."
        return
    try:
        check_text(source, "It", LONGEST_NAME)
    except InvalidInput as error:
        yield f"the source: {error}"


def _attributes(row: Mapping[str, Any], read: _Read, scale: Sequence[str], source: str) -> dict[str, str]:
    label = _most(row, scale)[0] if read.label is None else str(row[read.label])
    beside = {f"{PLATINUM}_{name}": str(row[name]) for name in read.others if row[name] is not None}
    return {**beside, PLATINUM: label, SOURCE: source}
