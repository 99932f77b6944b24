"""The long table, one row a rating: the intermediate form of all conversions."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import choose_columns, require_column
from dissensus.schema.ratings.encoding import encode_ratings
from dissensus.schema.ratings.findings import raise_failed_check

QUESTION: Final = "Q_label"
"""What the answers of a file are called that does not name its question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswers:
    """The answers to one question; items and raters are in the order in which they first appear."""

    question: str
    items: pl.DataFrame  # in order of appearance
    raters: pl.DataFrame
    item: NDArray[np.int64]  # row of `items` for each rating
    rater: NDArray[np.int64]  # row of `raters` for each rating
    answers: pl.Series  # text, not null
    notes: tuple[str, ...]


def normalise(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with null for empty texts, without rows that hold nothing."""
    texts = pl.col(pl.String)
    frame = frame.with_columns(pl.when(texts != "").then(texts))
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def check_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a long table, or say that its ids have been made decimal numbers, which may have rounded them."""
    for name in (names.ITEM_ID, names.RATER_ID):
        if name in frame.columns and frame[name].dtype.is_float():
            cells.read_ids(frame[name], raise_failed_check)
    return frame


def read(
    frame: pl.DataFrame, *, item: str | None, rater: str | None, answer: str | None, question: str | None
) -> pl.DataFrame:
    """Return a long table whose ids, and answers if a column is named, are called as ours are."""
    asked = {"item": item, "rater": rater, "answer": answer}
    for option, column in asked.items():
        if column is not None:
            require_column(column, frame.columns, option)
    ours = {item: names.ITEM_ID, rater: names.RATER_ID, answer: question or _question_for(answer)}
    return check_ids(rename_columns(frame, {theirs: name for theirs, name in ours.items() if theirs is not None}))


def rename_columns(frame: pl.DataFrame, ours: dict[str, str]) -> pl.DataFrame:
    """Rename columns, or say which name would be there twice."""
    named = [ours.get(name, name) for name in frame.columns]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        theirs = [name for name in frame.columns if ours.get(name, name) == twice]
        raise InvalidInput(
            f"The columns {format_list(theirs)} would all be called {twice!r}. Rename or drop one of them."
        )
    return frame.rename(ours)


def check_question_name(asked: str | None) -> str:
    """Return what answers are called that a file holds without the name of their question."""
    if asked is not None and not names.is_question(asked):
        raise InvalidInput(f"{asked!r} is no name of a question in a long table: those begin with Q, as {QUESTION}.")
    return asked or QUESTION


def select_question(frame: pl.DataFrame, question: str | None) -> QuestionAnswers:
    """Return the answers to a question, checked as `Ratings.from_frame` checks them."""
    if question is not None and question not in frame.columns:
        raise NotFound(
            f"There is no column {question!r} to write. --question names one of {format_list(frame.columns)}."
        )
    asked = None if question is None else [question]
    choice = choose_columns(
        frame.columns, item=names.ITEM_ID, rater=names.RATER_ID, questions=asked, rater_attributes=()
    )
    question = choice.questions[0]
    answers = cells.to_text(frame[question])
    answered = answers.is_not_null()
    if not answered.any():
        raise InvalidInput(f"There is not one answer in {question!r}. --question names another column.")
    found = answers.drop_nulls().unique().to_list()
    encoded = encode_ratings(frame, replace(choice, flag=None, time=None), found, raise_failed_check)
    assert encoded.rater is not None  # noqa: S101 - raters were asked for above
    item, items = _order_by_appearance(encoded.item, encoded.items, answered)
    rater, raters = _order_by_appearance(encoded.rater, encoded.raters, answered)
    blank = int((~answered).sum())
    note = f"{blank:,} row{'s' * (blank > 1)} without an answer to {question} left out."
    return QuestionAnswers(
        question=question,
        items=items,
        raters=raters,
        item=item,
        rater=rater,
        answers=answers.filter(answered),
        notes=(note,) * bool(blank),
    )


def describe_losses(frame: pl.DataFrame, written: QuestionAnswers, kept: Collection[str], kind: str) -> tuple[str, ...]:
    """Describe what a kind of file cannot hold of a long table."""
    kept = {names.ITEM_ID, names.RATER_ID, written.question, *written.items.columns, *kept}
    left_out = [name for name in frame.columns if name not in kept]
    columns = (f"Left out, because {kind} does not hold them: {format_list(left_out, 50)}.",) * bool(left_out)
    name = f"The name of the question is not in {kind}: read it again with --question {written.question}."
    return (*written.notes, *columns, *((name,) * (written.question != QUESTION)))


def _question_for(answer: str | None) -> str:
    if answer is None or names.is_question(answer):
        return answer or QUESTION
    return f"{names.QUESTION_PREFIX}_{answer}"


def _order_by_appearance(
    codes: NDArray[np.int64], table: pl.DataFrame, answered: pl.Series
) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Return codes and rows in the order in which they first appear among what was answered."""
    kept = codes[answered.to_numpy()]
    order = pl.Series(kept).unique(maintain_order=True).to_numpy()
    place = np.empty(table.height, dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[kept], table[order]
