"""Encoding of a ratings table: checked ids, attributes and answers as codes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire import scale
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import ColumnChoice
from dissensus.schema.ratings.findings import CheckReport, FailedCheck, to_row_indices


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRatings:
    """The chosen columns of a table, in row order."""

    item: NDArray[np.int64]  # code of each row, -1 if the id is missing
    rater: NDArray[np.int64] | None
    answers: tuple[pl.Series, ...]  # times, if any, then an Enum series per question
    items: pl.DataFrame  # one row per item, with attributes
    raters: pl.DataFrame
    order: pl.Series  # rows sorted by item, then rater
    notes: tuple[str, ...]

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions that were read."""
        return tuple(column.name for column in self.answers if column.name != names.ANSWER_TIME)

    def sorted_answers(self) -> pl.DataFrame:
        """Return codes, times and answers sorted by item, then rater; unknown raters are null."""
        item = pl.Series("item", self.item, dtype=pl.UInt32)
        if self.rater is None:
            rater = pl.Series("rater", [None], dtype=pl.UInt32).new_from_index(0, len(item))
        else:
            rater = pl.Series("rater", self.rater, dtype=pl.UInt32)
        return pl.DataFrame([item, rater, *self.answers])[self.order]


def encode_ratings(
    frame: pl.DataFrame, choice: ColumnChoice, categories: Sequence[str] | None, report: CheckReport
) -> EncodedRatings:
    """Encode the chosen columns of a table, and report failed checks."""
    if frame.is_empty():
        raise InvalidInput("The table has a header but no rows, so there is nothing to read.")
    items, item = cells.encode_values(cells.read_ids(frame[choice.item], report))
    attributes = [cells.read_attribute(frame[name], item, items, "item", report) for name in choice.item_attributes]
    item_table = pl.DataFrame([items.alias(names.ITEM_ID), *attributes])
    times = [cells.read_times(frame[choice.time], report)] if choice.time is not None else []
    answers, notes = _answers(frame, choice, categories, report)
    if choice.rater is None:
        return EncodedRatings(
            item=item,
            rater=None,
            answers=(*times, *answers),
            items=item_table,
            raters=pl.DataFrame(schema={names.RATER_ID: pl.String}),
            order=pl.Series(item).arg_sort(),
            notes=(*notes, "The raters of the answers are unknown, so the answers are counts."),
        )
    raters, rater = cells.encode_values(cells.read_ids(frame[choice.rater], report))
    order = _order(item, rater, len(raters), frame, choice, report)
    rater_attributes = [
        cells.read_attribute(frame[name], rater, raters, "rater", report) for name in choice.rater_attributes
    ]
    flag, flag_notes = _flag(frame, choice, rater, raters, report)
    return EncodedRatings(
        item=item,
        rater=rater,
        answers=(*times, *answers),
        items=item_table,
        raters=pl.DataFrame([raters.alias(names.RATER_ID), *rater_attributes, *flag]),
        order=order,
        notes=notes + flag_notes,
    )


def _order(
    item: NDArray[np.int64],
    rater: NDArray[np.int64],
    n_raters: int,
    frame: pl.DataFrame,
    choice: ColumnChoice,
    report: CheckReport,
) -> pl.Series:
    """Return the row indices sorted by item, then rater; each pair may occur once."""
    pairs = pl.Series(item * n_raters + rater)
    order = pairs.arg_sort()
    if pairs.gather(order).diff().eq(0).any():
        is_known = pl.Series((item >= 0) & (rater >= 0))
        _report_duplicates(pairs.set(~is_known, None), frame, choice, report)
    return order


def _report_duplicates(pairs: pl.Series, frame: pl.DataFrame, choice: ColumnChoice, report: CheckReport) -> None:
    duplicates = to_row_indices((pairs.is_not_null() & ~pairs.is_first_distinct()).arg_true())
    if not duplicates.size:
        return
    first = pl.DataFrame({"pair": pairs}).with_row_index("row").select(pl.col("row").first().over("pair")).to_series()
    item, rater = frame[choice.item], frame[choice.rater or names.RATER_ID]
    report(
        FailedCheck(
            check="duplicate rating",
            column=choice.rater,
            rows=duplicates,
            value=lambda row: str(rater[row]),
            message=lambda row: (
                f"Rater {format_value(rater[row])} rated item {format_value(item[row])} twice, in row "
                f"{first[row] + 1:,} and row {row + 1:,}."
            ),
            allowed="A rater rates an item once.",
            remedy="Drop the rating that does not count.",
        )
    )


def _answers(
    frame: pl.DataFrame, choice: ColumnChoice, categories: Sequence[str] | None, report: CheckReport
) -> tuple[list[pl.Series], tuple[str, ...]]:
    explicit_scale = scale.check_categories(categories) if categories is not None else None
    columns: list[pl.Series] = []
    left_out: list[str] = []
    notes: list[str] = []
    for question in choice.questions:
        column = cells.to_text(frame[question])
        order = explicit_scale or scale.find_scale(frame[question], column)
        if order is not None:
            columns.append(cells.read_answers(column, order, report))
            if explicit_scale is None and (note := scale.describe_assumed_scale(question, order, column)):
                notes.append(note)
        elif choice.optional:
            left_out.append(question)
        else:
            raise scale.unknown_scale_error(question, column)
    if not columns:
        raise scale.unknown_scale_error(left_out[0], cells.to_text(frame[left_out[0]]))
    if all(answers.null_count() == len(answers) for answers in columns):
        raise InvalidInput(
            f"There are no answers in {format_list(choice.questions)}. Name the right one with --answer."
        )
    if left_out:
        notes.append(f"Left out, because the order of their answers is not known: {format_list(left_out)}.")
    return columns, tuple(notes)


def _flag(
    frame: pl.DataFrame, choice: ColumnChoice, rater: NDArray[np.int64], raters: pl.Series, report: CheckReport
) -> tuple[list[pl.Series], tuple[str, ...]]:
    """Return the flag column, if any, from the table or from the list of an official file."""
    if choice.flag is not None:
        return [cells.read_flags(frame[choice.flag], rater, raters, report).alias(names.FLAG)], ()
    for name in published_questionnaires():
        questionnaire = load_questionnaire(name)
        flagged = raters.is_in(questionnaire.flagged_raters)
        if flagged.any() and questionnaire.matches(frame.columns):
            note = (
                f"The columns are those of {name}, so the {flagged.sum()} raters whom its README lists as "
                f"removed are flagged ({names.FLAG}). They are left out only on request (--exclude-flagged)."
            )
            return [flagged.alias(names.FLAG)], (note,)
    return [], ()
