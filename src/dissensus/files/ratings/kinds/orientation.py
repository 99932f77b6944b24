"""Orientation of wide tables: detection of rater columns, and the check that rows are items."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import cells

MAX_ANSWERS: Final = 20
"""Maximum number of distinct values of columns that are detected as answers."""

_RATER = r"label|labels|rating|ratings|rater|raters|annotator|annotators|annotation|ann|worker|coder|judge"
_RATER_LIKE = re.compile(rf"({_RATER})([\W_\d].*)?", re.IGNORECASE | re.DOTALL)
_ITEM_LIKE = re.compile(r"(item|post|text|tweet|comment|conversation|question|q)?[\W_]*\d+", re.IGNORECASE)
_ITEM_ID = re.compile(r"items?([\W_]?id)?|(post|text|tweet|comment|conversation)[\W_]?id", re.IGNORECASE)
_RATER_ID = re.compile(rf"({_RATER}|user|participant)([\W_]?id)?", re.IGNORECASE)
_ABOUT_PEOPLE = {"gender", "sex", "age", "race", "ethnicity", "education", "nationality", "religion", "occupation"}
_WORDS_OF_A_TEXT = 3

ONE_RATING_PER_ROW = (
    "Choose a table with one rating per row, in columns such as item_id, rater_id and, for the answers, Q_overall."
)
"""Remedy on the site, where nobody can name the columns."""


class OrientationEvidence(NamedTuple):
    """Evidence for and against rows being items, in words."""

    for_items: tuple[str, ...]
    against: tuple[str, ...]


def answer_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns of answers: the largest set of columns connected by common values, if these are few."""
    values = {
        column.name: frozenset(cells.to_text(column).drop_nulls().unique())
        for column in frame
        if _may_be_answers(column)
    }
    groups: list[tuple[list[str], frozenset[str]]] = []
    for name, distinct in values.items():
        tied = [group for group in groups if group[1] & distinct]
        groups = [group for group in groups if group not in tied]
        columns = [column for group in tied for column in group[0]] + [name]
        groups.append((columns, distinct.union(*(group[1] for group in tied))))
    columns, answers = max(groups, key=lambda group: len(group[0]), default=([], frozenset()))
    if len(columns) < 2 or len(answers) > MAX_ANSWERS:
        return []
    return [name for name in frame.columns if name in columns]


def gather_evidence(frame: pl.DataFrame, row_id: str, answers: Sequence[str]) -> OrientationEvidence:
    """Collect evidence about rows from the names and values of a table."""
    attributes = [name for name in frame.columns if name not in answers and name != row_id]
    texts = [name for name in attributes if _is_text(frame[name])]
    about_people = [name for name in attributes if _ABOUT_PEOPLE & set(re.split(r"[\W_]+", name.lower()))]
    rater_like = [name for name in answers if _RATER_LIKE.fullmatch(name)]
    item_like = [name for name in answers if _ITEM_LIKE.fullmatch(name)]
    mixed = 0 < len(rater_like) < len(answers)
    for_items = {
        f"column {row_id!r} is named like ids of items": bool(_ITEM_ID.fullmatch(row_id)),
        f"there are texts beside it, in {format_list(texts, 3)}": bool(texts),
        f"the columns with answers are named like raters, {format_list(rater_like, 3)}": bool(rater_like) and not mixed,
    }
    against = {
        f"column {row_id!r} is named like ids of raters": bool(_RATER_ID.fullmatch(row_id)),
        f"there are attributes of people, {format_list(about_people, 3)}": bool(about_people),
        f"columns with answers are named like items, {format_list(item_like, 3)}": bool(item_like),
        f"only some columns with answers are named like raters, {format_list(rater_like, 3)}": mixed,
    }
    return OrientationEvidence(*(tuple(text for text, holds in side.items() if holds) for side in (for_items, against)))


def check_rows_are_items(frame: pl.DataFrame, row_id: str, answers: Sequence[str]) -> None:
    """Raise unless the rows of a table are clearly items."""
    for_items, against = gather_evidence(frame, row_id, answers)
    if for_items and not against:
        return
    evidence = "; ".join((*for_items, *against)) or "no evidence in names and values"
    contradiction = "the evidence is contradictory" if for_items and against else "rows could be items or raters"
    reason = f"Of the table with answers in {format_list(answers, 3)}, {contradiction}: {evidence}."
    remedy = (
        "If the columns are raters, give their names as --rater-columns 'label_{rater_id}'; if the rows are raters, "
        "give the columns as --item-columns 'item_{item_id}' (in Python: rater_columns=..., item_columns=...)."
    )
    raise InvalidInput(Advice(f"{reason} {remedy}", site=f"{reason} {ONE_RATING_PER_ROW}"))


def _may_be_answers(column: pl.Series) -> bool:
    return not column.dtype.is_nested() and 0 < column.drop_nulls().n_unique() <= MAX_ANSWERS


def _is_text(column: pl.Series) -> bool:
    if column.dtype != pl.String:
        return False
    words = column.drop_nulls().str.count_matches(r"\S+").mean()
    return isinstance(words, float) and words >= _WORDS_OF_A_TEXT
