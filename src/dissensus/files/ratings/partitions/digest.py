"""Digest of a folder: its distinct answers and raters, cleaned and checked as those of a table in memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.files.ratings.partitions.folder import ParquetFolder
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire.scale import check_categories
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import CellCleaner, CleaningRules
from dissensus.schema.ratings.column_choice import ColumnChoice
from dissensus.schema.ratings.encoding import EncodedRatings, encode_ratings
from dissensus.schema.ratings.findings import FailedCheck
from dissensus.schema.ratings.repeats import mark_second_showings
from dissensus.schema.ratings.table import Ratings

MOST_ANSWERS: Final = 1000
ALL_ITEMS: Final = "all items"
_ROW: Final = re.compile(r"\b[Rr]ow ([\d,]+)\b")


@dataclass(frozen=True, slots=True, eq=False)
class Digest:
    """The answers and raters of a folder."""

    pool: Ratings  # Raters with an answer, each with one rating of an item that stands for all
    rater_ids: pl.Series  # Of all raters, sorted
    answers: pl.Series  # Distinct answers as written
    codes: NDArray[np.int16]  # Code of each answer, -1 for a missing one


def read_digest(
    folder: ParquetFolder, choice: ColumnChoice, categories: Sequence[str] | None, rules: CleaningRules
) -> Digest:
    """Read the distinct answers and raters, and check them."""
    assert choice.rater is not None  # noqa: S101 - folders without raters are refused
    question = choice.questions[0]
    answers = _read_answers(folder, question)
    columns = [choice.rater, *choice.rater_attributes, *([choice.flag] if choice.flag else [])]
    declared = check_categories(categories, rules) if categories is not None else known_scale(question)
    known = answers.filter(CellCleaner(rules).clean_answers(answers, declared).text.is_not_null())
    raters = (
        folder.scan()
        .group_by(columns)
        .agg((pl.col(question).is_in(known.implode()) & ~is_second(folder)).any().alias("answered"))
        .sort(choice.rater, *columns[1:], nulls_last=True)
        .collect(engine="streaming")
    )
    of_first = raters.head(1).select(columns).select(pl.all().repeat_by(len(answers)).explode())
    frame = pl.concat(
        [raters.select(*columns, pl.lit(None, answers.dtype).alias(question)), of_first.with_columns(answers)]
    ).with_columns(pl.int_range(pl.len()).alias(choice.item))
    place = _Places(folder, frame, columns, question)
    encoded = encode_ratings(frame, choice, categories, place.raise_error, rules)
    codes = encoded.answers[0].slice(raters.height).to_physical().cast(pl.Int16).fill_null(-1).to_numpy()
    pool = _build_pool(encoded, raters["answered"].fill_null(value=False).to_numpy())
    return Digest(pool, encoded.raters[names.RATER_ID], answers, codes)


def _read_answers(folder: ParquetFolder, question: str) -> pl.Series:
    distinct = folder.scan().select(pl.col(question).unique()).collect(engine="streaming").to_series()
    answers = distinct.drop_nulls().sort()
    if len(answers) > MOST_ANSWERS:
        raise InvalidInput(
            f"{question} has {len(answers):,} different answers, such as {format_list(answers.head(3).to_list())}, and "
            f"at most {MOST_ANSWERS:,} are read. Is it the column with the answers? Name another with --answer."
        )
    if not len(answers):
        raise InvalidInput(f"There are no answers in {question}. Name the right column with --answer.")
    return answers


def is_second(folder: ParquetFolder) -> pl.Expr:
    """Return which rows are second ratings of repeated items."""
    if names.REPEAT not in folder.schema:
        return pl.lit(value=False)
    showings = folder.scan().select(pl.col(names.REPEAT).unique()).collect(engine="streaming")
    second = showings.filter(mark_second_showings(showings)).to_series()
    return pl.col(names.REPEAT).is_in(second.implode(), nulls_equal=True)


def _build_pool(encoded: EncodedRatings, answered: NDArray[np.bool_]) -> Ratings:
    """Return the raters of the rows that have an answer."""
    assert encoded.rater is not None  # noqa: S101 - folders without raters are refused
    chosen = np.unique(encoded.rater[: answered.size][answered])
    if not chosen.size:
        raise InvalidInput("No ratings are left.")
    (scale,) = encoded.answers
    table = pl.DataFrame(
        {
            "item": pl.zeros(chosen.size, pl.UInt32, eager=True),
            "rater": pl.int_range(chosen.size, dtype=pl.UInt32, eager=True),
            scale.name: scale.drop_nulls().head(1).new_from_index(0, chosen.size),
        }
    )
    remarks = tuple(f"By distinct values: {remark.note}" for remark in encoded.remarks)
    items = pl.DataFrame({names.ITEM_ID: [ALL_ITEMS]})
    return Ratings(table, encoded.raters[chosen], items, table.clear(), (*remarks, *encoded.notes))


class _Places:
    """Rows of the folder for rows of the digest, in errors of the checks."""

    def __init__(self, folder: ParquetFolder, frame: pl.DataFrame, columns: Sequence[str], question: str) -> None:
        self._folder, self._frame, self._columns, self._question = folder, frame, columns, question

    def raise_error(self, finding: FailedCheck) -> None:
        """Raise a failed check with file and row of the folder."""
        of_answers = finding.column == self._question
        columns = [self._question] if of_answers else self._columns

        def place(match: re.Match[str]) -> str:
            row = self._frame.row(int(match[1].replace(",", "")) - 1, named=True)
            condition = pl.all_horizontal(pl.col(name).eq_missing(row[name]) for name in columns)
            place = self._folder.name_row(condition)
            return place if match[0][0] == "R" else place[0].lower() + place[1:]

        message = _ROW.sub(place, finding.message(int(finding.rows[0])))
        raise InvalidInput(f"{message} {finding.allowed} {finding.remedy}", options=finding.options)


def leave_out_items(choice: ColumnChoice) -> ColumnChoice:
    """Return a choice of columns without those of items and times, which are not read from folders."""
    return replace(choice, item_attributes=(), text=None, time=None, bulk=None)
