"""Distinct answers and raters of a folder, cleaned and checked as those of a table in memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.files.ratings.partitions.folder import ParquetFolder
from dissensus.files.ratings.partitions.hash_index import IdIndex
from dissensus.files.ratings.partitions.row_counts import N_ROWS, count_rows
from dissensus.pipeline.engine.stream import MapParts, map_ahead
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire.scale import check_categories
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import CellCleaner, CleaningRules
from dissensus.schema.ratings.column_choice import ColumnChoice
from dissensus.schema.ratings.encoding import EncodedRatings, encode_ratings
from dissensus.schema.ratings.findings import FailedCheck
from dissensus.schema.ratings.repeats import describe_second_showings, mark_second_showings
from dissensus.schema.ratings.table import Ratings

MOST_ANSWERS: Final = 1000
ALL_ITEMS: Final = "all items"
_ROW: Final = re.compile(r"""(?<!\w)(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\b[Rr]ow ([\d,]+)\b""")
"""A quoted value, or the number of a row."""


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The answers and raters of a folder."""

    pool: Ratings  # Raters with an answer, each with one rating of an item that stands for all
    loads: NDArray[np.int64]  # Rows with an answer of each rater of the pool
    rater_ids: pl.Series  # Of all raters, sorted
    rater_index: IdIndex  # Of those ids
    answers: pl.Series  # Distinct answers as written
    codes: NDArray[np.int16]  # Code of each answer, -1 for a missing one
    second: pl.Expr  # True for second ratings of repeated items


def read_distinct_values(
    folder: ParquetFolder,
    choice: ColumnChoice,
    categories: Sequence[str] | None,
    rules: CleaningRules,
    run: MapParts = map_ahead,
) -> DistinctValues:
    """Read the distinct answers and raters by a mapping over slices of the rows, and check them."""
    assert choice.rater is not None  # noqa: S101 - folders without raters are refused
    question = choice.questions[0]
    answers = _read_answers(folder, question, run)
    columns = [choice.rater, *choice.rater_attributes, *([choice.flag] if choice.flag else [])]
    declared = check_categories(categories, rules) if categories is not None else known_scale(question)
    known = answers.filter(CellCleaner(rules).clean_answers(answers, declared).text.is_not_null())
    second, n_second = _read_showings(folder, run)

    def encode(raters: pl.DataFrame) -> EncodedRatings:
        return _encode(folder, raters.sort(columns, nulls_last=True), answers, choice, categories, rules)

    answered = pl.col(question).is_in(known.implode()) & ~second
    raters = count_rows(folder, columns, answered, check=encode, run=run).sort(columns, nulls_last=True)
    encoded = encode(raters)
    codes = encoded.answers[0].slice(raters.height).to_physical().cast(pl.Int16).fill_null(-1).to_numpy()
    assert encoded.rater is not None  # noqa: S101 - folders without raters are refused
    loads = np.bincount(encoded.rater[: raters.height], weights=raters[N_ROWS].to_numpy()).astype(np.int64)
    pool = _build_pool(encoded, np.flatnonzero(loads), describe_second_showings(n_second))
    rater_ids = encoded.raters[names.RATER_ID]
    return DistinctValues(pool, loads[loads > 0], rater_ids, IdIndex.build(rater_ids), answers, codes, second)


def _encode(
    folder: ParquetFolder,
    raters: pl.DataFrame,
    answers: pl.Series,
    choice: ColumnChoice,
    categories: Sequence[str] | None,
    rules: CleaningRules,
) -> EncodedRatings:
    """Check and encode distinct rows of raters, and below them the distinct answers."""
    columns, question = raters.columns[:-1], choice.questions[0]
    of_first = raters.head(1).select(columns).select(pl.all().repeat_by(len(answers)).explode())
    frame = pl.concat(
        [raters.select(*columns, pl.lit(None, answers.dtype).alias(question)), of_first.with_columns(answers)]
    ).with_columns(pl.int_range(pl.len()).alias(choice.item))
    place = _Places(folder, frame, columns, question)
    return encode_ratings(frame, choice, categories, place.raise_error, rules, headers=list(folder.schema))


def _read_answers(folder: ParquetFolder, question: str, run: MapParts) -> pl.Series:
    def check(table: pl.DataFrame) -> None:
        if table[question].drop_nulls().len() > MOST_ANSWERS:
            raise InvalidInput(
                f"{question} has more than {MOST_ANSWERS:,} different answers, such as "
                f"{format_list(table[question].drop_nulls().sort().head(3).to_list())}, which is the most that is "
                "read. Is it the column with the answers? Name another with --answer."
            )

    table = count_rows(folder, [question], pl.lit(value=True), check=check, run=run)
    check(table)
    answers = table[question].drop_nulls().sort()
    if not len(answers):
        raise InvalidInput(f"There are no answers in {question}. Name the right column with --answer.")
    return answers


def _read_showings(folder: ParquetFolder, run: MapParts) -> tuple[pl.Expr, int]:
    """Return which rows are second ratings of repeated items, and their number."""
    if names.REPEAT not in folder.schema:
        return pl.lit(value=False), 0
    showing = pl.col(names.REPEAT)
    showings = count_rows(folder, [names.REPEAT], pl.lit(value=True), run=run)
    values = showings[names.REPEAT]
    second = showings.filter(
        mark_second_showings(showings, lambda row: folder.name_row(showing.eq_missing(values[row])))
    )
    return showing.is_in(second[names.REPEAT].implode(), nulls_equal=True), int(second[N_ROWS].sum())


def _build_pool(encoded: EncodedRatings, chosen: NDArray[np.intp], notes: tuple[str, ...]) -> Ratings:
    """Return the chosen raters."""
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
    return Ratings(table, encoded.raters[chosen], items, table.clear(), (*notes, *remarks, *encoded.notes))


class _Places:
    """Rows of the folder for rows of distinct values, in errors of the checks."""

    def __init__(self, folder: ParquetFolder, frame: pl.DataFrame, columns: Sequence[str], question: str) -> None:
        self._folder, self._frame, self._columns, self._question = folder, frame, columns, question

    def raise_error(self, finding: FailedCheck) -> None:
        """Raise a failed check with file and row of the folder."""
        of_answers = finding.column == self._question
        columns = [self._question] if of_answers else self._columns

        def place(match: re.Match[str]) -> str:
            if match[1] is None or (number := int(match[1].replace(",", ""))) > self._frame.height:
                return match[0]
            row = self._frame.row(number - 1, named=True)
            condition = pl.all_horizontal(pl.col(name).eq_missing(row[name]) for name in columns)
            place = self._folder.name_row(condition)
            return place if match[0][0] == "R" else place[0].lower() + place[1:]

        message = _ROW.sub(place, finding.message(int(finding.rows[0])))
        raise InvalidInput(f"{message} {finding.allowed} {finding.remedy}", options=finding.options)


def leave_out_items(choice: ColumnChoice) -> ColumnChoice:
    """Return a choice of columns without those of items and times, which are not read from folders."""
    return replace(choice, item_attributes=(), text=None, time=None, bulk=None)
