"""Encoding of a ratings table: checked ids, attributes and answers as codes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.questionnaire import scale
from dissensus.schema.questionnaire.shipped import known_scale, load_questionnaire, published_questionnaires
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import AS_WRITTEN, CellCleaner, CleaningRules, Remark, fold
from dissensus.schema.ratings.column_choice import ColumnChoice
from dissensus.schema.ratings.findings import CheckReport, FailedCheck, to_row_indices
from dissensus.schema.ratings.repeats import mark_second_showings


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRatings:
    """The chosen columns of a table, in row order."""

    item: NDArray[np.int64]  # code of each row, -1 if the id is missing
    rater: NDArray[np.int64] | None
    answers: tuple[pl.Series, ...]  # measures, if any, then an Enum series per question
    items: pl.DataFrame  # one row per item, with attributes
    raters: pl.DataFrame
    order: pl.Series  # rows sorted by item, then rater
    second: pl.Series  # True for second ratings of an item by its rater
    notes: tuple[str, ...]
    remarks: tuple[Remark, ...]  # on how cells were cleaned
    blank: pl.Series  # True for rows that answer none of the questions

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions that were read."""
        return tuple(column.name for column in self.answers if column.name not in names.MEASURES)

    def sorted_answers(self, *, second: bool = False) -> pl.DataFrame:
        """Return codes, measures and answers of first or second ratings by item, rater; unknown raters are null."""
        item = pl.Series("item", self.item, dtype=pl.UInt32)
        if self.rater is None:
            rater = pl.Series("rater", [None], dtype=pl.UInt32).new_from_index(0, len(item))
        else:
            rater = pl.Series("rater", self.rater, dtype=pl.UInt32)
        order = self.order.filter(self.second.gather(self.order) == second)
        return pl.DataFrame([item, rater, *self.answers])[order]


def encode_ratings(
    frame: pl.DataFrame,
    choice: ColumnChoice,
    categories: Sequence[str] | None,
    report: CheckReport,
    rules: CleaningRules = AS_WRITTEN,
    *,
    headers: Sequence[str] | None = None,
    repeated: pl.Series | None = None,
) -> EncodedRatings:
    """Encode the chosen columns of a table, and report failed checks.

    `headers` are all columns of the file that the table is from, if it has other ones. Rows that are `repeated` are
    part of the rating in an earlier row: they are checked, and not counted.
    """
    if frame.is_empty():
        raise InvalidInput("The table has a header but no rows, so there is nothing to read.")
    cleaner = CellCleaner(rules)
    items, item = cleaner.encode_ids(frame[choice.item], report)
    attributes = [cells.read_attribute(frame[name], item, items, "item", report) for name in choice.item_attributes]
    if choice.text is not None:
        text = cells.read_attribute(frame[choice.text], item, items, "item", report)
        attributes = [*(column for column in attributes if column.name != names.ITEM_TEXT), text.alias(names.ITEM_TEXT)]
    item_table = pl.DataFrame([items.alias(names.ITEM_ID), *attributes])
    measures = [cells.read_times(frame[choice.time], report)] if choice.time is not None else []
    measures += [cells.read_shares(frame[choice.bulk], report)] if choice.bulk is not None else []
    answers, blank, notes = _answers(frame, choice, categories, report, cleaner)
    second = mark_second_showings(frame)
    if choice.rater is None:
        return EncodedRatings(
            item=item,
            rater=None,
            answers=(*measures, *answers),
            items=item_table,
            raters=pl.DataFrame(schema={names.RATER_ID: pl.String}),
            order=pl.Series(item).arg_sort(),
            second=second,
            notes=(*notes, "The raters of the answers are unknown, so the answers are counts."),
            remarks=tuple(cleaner.remarks()),
            blank=blank,
        )
    raters, rater = cleaner.encode_ids(frame[choice.rater], report)
    pairs = pl.Series(2 * (item * (int(rater.max()) + 1) + rater) + second.to_numpy())
    pairs = pairs if repeated is None else pairs.set(repeated, None)
    is_known = pl.Series((item >= 0) & (rater >= 0))
    order, duplicate_notes = _order(pairs, is_known, frame, choice, blank, report, rules)
    rater_attributes = [
        _rater_attribute(frame[name], rater, raters, report, cleaner) for name in choice.rater_attributes
    ]
    flag, flag_notes = _flag(frame, headers or frame.columns, choice, rater, raters, report)
    return EncodedRatings(
        item=item,
        rater=rater,
        answers=(*measures, *answers),
        items=item_table,
        raters=pl.DataFrame([raters.alias(names.RATER_ID), *rater_attributes, *flag]),
        order=order,
        second=second,
        notes=(*duplicate_notes, *notes, *flag_notes),
        remarks=tuple(cleaner.remarks()),
        blank=blank,
    )


def _rater_attribute(
    column: pl.Series, rater: NDArray[np.int64], raters: pl.Series, report: CheckReport, cleaner: CellCleaner
) -> pl.Series:
    clean = cleaner.clean_attribute(column)
    values = cells.read_attribute(clean.text, rater, raters, "rater", report)
    return values if clean.order is None else values.cast(pl.Enum(clean.order))


def _order(
    pairs: pl.Series,
    is_known: pl.Series,
    frame: pl.DataFrame,
    choice: ColumnChoice,
    blank: pl.Series,
    report: CheckReport,
    rules: CleaningRules,
) -> tuple[pl.Series, tuple[str, ...]]:
    """Return the indices of rows that count, sorted by item, then rater, and notes.

    A pair of item, rater and showing is a duplicate if it repeats; it is null in rows that do not count.
    """
    order = pairs.arg_sort().slice(pairs.null_count())  # nulls are first
    if not pairs.gather(order).diff().eq(0).any():
        return order, ()
    if rules.duplicates == "refuse":
        _report_duplicates(pairs.set(~is_known, None), frame, choice, report)
        return order, ()
    answered = pairs.filter(~blank)
    is_retained = {
        "first": answered.is_first_distinct,
        "last": answered.is_last_distinct,
        "drop": answered.is_unique,
    }[rules.duplicates]()
    retained = blank.clone().scatter(blank.not_().arg_true(), is_retained)
    dropped = int((~retained.gather(order)).sum())
    left_out = f"{count_noun(dropped, 'rating')} left out, because a rater rated an item more than once"
    note = Advice(f"{left_out} (--duplicates {rules.duplicates}).", site=f"{left_out}.")
    return order.filter(retained.gather(order)), (note,) * bool(dropped)


def _report_duplicates(pairs: pl.Series, frame: pl.DataFrame, choice: ColumnChoice, report: CheckReport) -> None:
    duplicates = to_row_indices((pairs.is_not_null() & ~pairs.is_first_distinct()).arg_true())
    if not duplicates.size:
        return
    first = pl.DataFrame({"pair": pairs}).with_row_index("row").select(pl.col("row").first().over("pair")).to_series()
    item, rater = frame[choice.item], frame[choice.rater or names.RATER_ID]
    answers = frame.select(choice.questions)
    identical = answers[duplicates].equals(answers[first.gather(pl.Series(duplicates))])
    retained = "first, which is the same" if identical else "first or last"
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
            remedy=Advice(
                f"Drop the rating that does not count, or keep the {retained}, or none (drop): --duplicates "
                "first|last|drop (in Python: duplicates=...). If raters gave several labels to an item, "
                "--has-label LABEL reads whether one is among them.",
                site="Drop the rating that does not count.",
            ),
            options=("--duplicates", "first") if identical else (),
        )
    )


def _answers(
    frame: pl.DataFrame,
    choice: ColumnChoice,
    categories: Sequence[str] | None,
    report: CheckReport,
    cleaner: CellCleaner,
) -> tuple[list[pl.Series], pl.Series, tuple[str, ...]]:
    """Return the answers, whether each row has none, and notes."""
    explicit_scale = scale.check_categories(categories, cleaner.rules) if categories is not None else None
    columns: list[pl.Series] = []
    left_out: list[pl.Series] = []
    inferred: list[str] = []
    unused: dict[str, list[str]] = {}
    blank = pl.repeat(value=True, n=frame.height, dtype=pl.Boolean, eager=True)
    cleaned = [cleaner.clean_answers(frame[name], explicit_scale or known_scale(name)) for name in choice.questions]
    orders = scale.complete_scales([explicit_scale or scale.find_scale(clean) for clean in cleaned])
    for question, clean, order in zip(choice.questions, cleaned, orders, strict=True):
        if order is None and not choice.optional:
            raise scale.unknown_scale_error(question, clean.text)
        if order is None:
            left_out.append(clean.text)
            continue
        blank &= clean.text.is_null()
        differs = _differ_in_spelling(clean.values, order)
        columns.append(cells.read_answers(clean.text, order, report, spelling_differs=differs))
        # An enumeration declares its answers.
        if explicit_scale is None and not isinstance(frame[question].dtype, pl.Enum):
            answers = set(clean.values)
            unused[question] = [answer for answer in order if answer not in answers]
            note = None if unused[question] or known_scale(question) else scale.describe_inferred_scale(question, order)
            inferred += [] if note is None else [note]
    if not columns:
        raise scale.unknown_scale_error(left_out[0].name, left_out[0])
    if blank.all():
        reason = f"There are no answers in {format_list(choice.questions)}."
        raise InvalidInput(Advice(f"{reason} Name the right one with --answer.", site=reason))
    notes = [*scale.describe_unused_answers(unused), *inferred]
    if left_out:
        listed = format_list([column.name for column in left_out])
        notes.append(f"Left out, because the order of their answers is not known: {listed}.")
    return columns, blank, tuple(notes)


def _differ_in_spelling(values: pl.Series, order: Sequence[str]) -> bool:
    """Return whether all answers that are not on the scale are other spellings of answers that are."""
    if len(values) > cells.MANY_VALUES:
        return False
    unknown = [value for value in values if value not in order]
    return bool(unknown) and {fold(value) for value in unknown} <= {fold(value) for value in order}


def _flag(
    frame: pl.DataFrame,
    headers: Sequence[str],
    choice: ColumnChoice,
    rater: NDArray[np.int64],
    raters: pl.Series,
    report: CheckReport,
) -> tuple[list[pl.Series], tuple[str, ...]]:
    """Return the flag column, if any, from the table or from the raters that a published questionnaire lists."""
    if choice.flag is not None:
        return [cells.read_flags(frame[choice.flag], rater, raters, report).alias(names.FLAG)], ()
    for name in published_questionnaires():
        questionnaire = load_questionnaire(name)
        flagged = raters.is_in(questionnaire.flagged_raters)
        if flagged.any() and questionnaire.matches(headers):
            n = int(flagged.sum())
            listed = (
                f"The columns are those of {name}, so the {count_noun(n, 'rater')} whom its README lists as removed "
                f"{'is' if n == 1 else 'are'} flagged ({names.FLAG}), and left out only on request"
            )
            note = Advice(f"{listed} (--exclude-flagged).", site=f"{listed}.")
            return [flagged.alias(names.FLAG)], (note,)
    return [], ()
