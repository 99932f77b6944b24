"""The long table, one row per rating: the intermediate form of all conversions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import choose_columns, require_column
from dissensus.schema.ratings.encoding import encode_ratings
from dissensus.schema.ratings.findings import raise_failed_check
from dissensus.schema.ratings.repeats import describe_second_showings, mark_second_showings

QUESTION: Final = "Q_label"
"""Name of the answers of a file that does not name its question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswers:
    """The answers to one question."""

    question: str
    items: pl.DataFrame  # in order of appearance
    raters: pl.DataFrame  # in order of appearance
    item: NDArray[np.int64]  # row of `items` for each rating
    rater: NDArray[np.int64]  # row of `raters` for each rating
    answers: pl.Series  # text, not null
    notes: tuple[str, ...]


def normalise(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with null for empty texts, without empty rows."""
    texts = pl.col(pl.String)
    frame = frame.with_columns(pl.when(texts != "").then(texts))
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def check_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a long table; raise if its ids are decimal numbers, which may be rounded."""
    for name in (names.ITEM_ID, names.RATER_ID):
        if name in frame.columns and frame[name].dtype.is_float():
            cells.read_ids(frame[name], raise_failed_check, trim=False)
    return frame


def read(
    frame: pl.DataFrame,
    *,
    item: str | None,
    rater: str | None,
    answer: str | None,
    question: str | None,
    rater_attributes: Sequence[str] = (),
) -> pl.DataFrame:
    """Return a long table with the standard names of ids, and of answers if their column is given."""
    options = {"item": item, "rater": rater, "answer": answer}
    for option, column in options.items():
        if column is not None:
            require_column(column, frame.columns, option)
    for attribute in rater_attributes:
        if attribute not in frame.columns:
            raise NotFound(
                f"There is no column {attribute!r} to write as an attribute of raters. The columns are "
                f"{format_list(frame.columns)}."
            )
    described = {
        name: name if names.is_rater_attribute(name) else f"{names.RATER_PREFIX}{name}" for name in rater_attributes
    }
    new_names = described | {item: names.ITEM_ID, rater: names.RATER_ID, answer: question or _question_for(answer)}
    return check_ids(rename_columns(frame, {column: name for column, name in new_names.items() if column is not None}))


def rename_columns(frame: pl.DataFrame, renamed: dict[str, str]) -> pl.DataFrame:
    """Rename columns; raise if a name would appear twice."""
    new_names = [renamed.get(name, name) for name in frame.columns]
    twice = next((name for name in new_names if new_names.count(name) > 1), None)
    if twice is not None:
        clashing = [name for name in frame.columns if renamed.get(name, name) == twice]
        raise InvalidInput(
            f"The columns {format_list(clashing)} would all be called {twice!r}. Rename or drop one of them."
        )
    return frame.rename(renamed)


def check_question_name(name: str | None) -> str:
    """Return a valid question name for the answers of a file; `QUESTION` by default."""
    if name is not None and not names.is_question(name):
        raise InvalidInput(f"{name!r} is not a question name of a long table: those begin with Q, as {QUESTION}.")
    return name or QUESTION


def select_question(frame: pl.DataFrame, question: str | None) -> QuestionAnswers:
    """Return the answers to a question, checked as `Ratings.from_frame` checks them."""
    if question is not None and question not in frame.columns:
        raise NotFound(
            f"There is no column {question!r} to write. --question names one of {format_list(frame.columns)}."
        )
    second = mark_second_showings(frame)
    frame = frame.filter(~second)
    questions = None if question is None else [question]
    choice = choose_columns(
        frame.columns, item=names.ITEM_ID, rater=names.RATER_ID, questions=questions, rater_attributes=()
    )
    question = choice.questions[0]
    answers = cells.to_text(frame[question])
    answered = answers.is_not_null()
    if not answered.any():
        raise InvalidInput(f"There are no answers in {question!r}. --question names another column.")
    categories = answers.drop_nulls().unique().to_list()
    encoded = encode_ratings(frame, replace(choice, flag=None, time=None), categories, raise_failed_check)
    assert encoded.rater is not None  # noqa: S101 - rater ids are required above
    item, items = _order_by_appearance(encoded.item, encoded.items, answered)
    rater, raters = _order_by_appearance(encoded.rater, encoded.raters, answered)
    blank = int((~answered).sum())
    note = f"{count_noun(blank, 'row')} without an answer to {question} left out."
    return QuestionAnswers(
        question=question,
        items=items,
        raters=raters,
        item=item,
        rater=rater,
        answers=answers.filter(answered),
        notes=(*(note,) * bool(blank), *describe_second_showings(int(second.sum()))),
    )


def describe_losses(
    frame: pl.DataFrame, answers: QuestionAnswers, written_columns: Collection[str], kind: str
) -> tuple[str, ...]:
    """Describe what a kind of file cannot hold of a long table."""
    written_columns = {names.ITEM_ID, names.RATER_ID, answers.question, *answers.items.columns, *written_columns}
    left_out = [name for name in frame.columns if name not in written_columns]
    columns = (f"Left out, because {kind} does not hold them: {format_list(left_out, 50)}.",) * bool(left_out)
    name = f"The name of the question is not in {kind}: read it again with --question {answers.question}."
    return (*answers.notes, *columns, *((name,) * (answers.question != QUESTION)))


def _question_for(answer: str | None) -> str:
    if answer is None or names.is_question(answer):
        return answer or QUESTION
    return f"{names.QUESTION_PREFIX}_{answer}"


def _order_by_appearance(
    codes: NDArray[np.int64], table: pl.DataFrame, answered: pl.Series
) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Renumber codes and rows in the order of their first answer."""
    answered_codes = codes[answered.to_numpy()]
    order = pl.Series(answered_codes).unique(maintain_order=True).to_numpy()
    ranks = np.empty(table.height, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[answered_codes], table[order]
