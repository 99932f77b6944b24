"""The one way in: a table as it was found becomes checked, encoded tables, or an error that says why not."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema import cells, scale
from dissensus.schema import columns as names
from dissensus.schema.choice import Choice
from dissensus.schema.hints import listed, more, shown
from dissensus.schema.questionnaire import load_questionnaire, questionnaires


class Tables(NamedTuple):
    """The three tables of ratings, with what the reader should know about them."""

    answers: pl.DataFrame
    raters: pl.DataFrame
    items: pl.DataFrame
    notes: tuple[str, ...]


def validate(frame: pl.DataFrame, choice: Choice, categories: Sequence[str] | None) -> Tables:
    """Check the chosen columns of a table and encode them.

    Raises
    ------
    InvalidInput
        With the row, the value, what is allowed and what to do.
    """
    if frame.is_empty():
        raise InvalidInput("The table has a header but no rows, so there is nothing to read.")
    items, item = cells.encode(cells.ids(frame[choice.item]))
    raters, rater = cells.encode(cells.ids(frame[choice.rater]))
    order = _order(item * len(raters) + rater, frame, choice)
    answers, notes = _answers(frame, choice, categories)
    flag, flag_notes = _flag(frame, choice, rater, raters)
    described = [cells.constant(frame[name], rater, raters, "rater") for name in choice.rater_attributes]
    attributes = [cells.constant(frame[name], item, items, "item") for name in choice.item_attributes]
    encoded = [pl.Series("item", item, dtype=pl.UInt32), pl.Series("rater", rater, dtype=pl.UInt32), *answers]
    return Tables(
        answers=pl.DataFrame(encoded)[order],
        raters=pl.DataFrame([raters.alias(names.RATER_ID), *described, *flag]),
        items=pl.DataFrame([items.alias(names.ITEM_ID), *attributes]),
        notes=notes + flag_notes,
    )


def _order(pairs: NDArray[np.int64], frame: pl.DataFrame, choice: Choice) -> pl.Series:
    """Return the rows in the order of items, then raters; each pair may occur once."""
    series = pl.Series(pairs)
    order = series.arg_sort()
    if series.gather(order).diff().eq(0).any():
        raise _duplicate(series, frame, choice)
    return order


def _duplicate(pairs: pl.Series, frame: pl.DataFrame, choice: Choice) -> InvalidInput:
    again = (~pairs.is_first_distinct()).arg_true()
    row = int(again[0])
    first = int((pairs == pairs[row]).arg_true()[0])
    return InvalidInput(
        f"Rater {shown(frame[choice.rater][row])} rated item {shown(frame[choice.item][row])} twice, in row "
        f"{first + 1:,} and row {row + 1:,}. A rater rates an item once; drop the rating that does not count."
        f"{more(len(again) - 1, 'such row')}"
    )


def _answers(
    frame: pl.DataFrame, choice: Choice, categories: Sequence[str] | None
) -> tuple[list[pl.Series], tuple[str, ...]]:
    given = scale.checked_categories(categories) if categories is not None else None
    read: list[pl.Series] = []
    left_out: list[str] = []
    notes: list[str] = []
    for question in choice.questions:
        column = cells.text(frame[question])
        order = given or scale.find_scale(frame[question], column)
        if order is not None:
            read.append(cells.answers(column, order))
            if given is None and (note := scale.assumed(question, order, column)):
                notes.append(note)
        elif choice.optional:
            left_out.append(question)
        else:
            raise scale.no_scale(question, column)
    if not read:
        raise scale.no_scale(left_out[0], cells.text(frame[left_out[0]]))
    if all(answers.null_count() == len(answers) for answers in read):
        raise InvalidInput(f"There is not one answer in {listed(choice.questions)}. Name the right one with --answer.")
    if left_out:
        notes.append(f"Left out, because the order of their answers is not known: {listed(left_out)}.")
    return read, tuple(notes)


def _flag(
    frame: pl.DataFrame, choice: Choice, rater: NDArray[np.int64], raters: pl.Series
) -> tuple[list[pl.Series], tuple[str, ...]]:
    """Return the flag column, at most one, from the table or from what is known about an official file."""
    if choice.flag is not None:
        return [cells.flags(frame[choice.flag], rater, raters).alias(names.FLAG)], ()
    for name in questionnaires():
        questionnaire = load_questionnaire(name)
        flagged = raters.is_in(questionnaire.flagged_raters)
        if flagged.any() and questionnaire.matches(frame.columns):
            note = (
                f"The columns are those of {name}, so the {flagged.sum()} raters whom its README lists as "
                f"removed are flagged ({names.FLAG}). They are left out only on request (--exclude-flagged)."
            )
            return [flagged.alias(names.FLAG)], (note,)
    return [], ()
