"""Selection of the columns of a table: ids, answers, attributes, flag, time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.ratings import columns as names

ALL: Literal["all"] = "all"

_WIDE = " To turn one column per rater into one rating per row: dissensus convert."
_PURPOSE = {
    "item": "the ids of the items",
    "rater": "the ids of the raters; they are needed to compare groups of people, and without them "
    "--no-raters (in Python: rater=None) reads the answers as counts",
    "answer": "the answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoice:
    """The columns to read."""

    item: str
    rater: str | None  # None for anonymous counts
    questions: tuple[str, ...]
    optional: bool  # leave out questions of unknown scale
    rater_attributes: tuple[str, ...]
    item_attributes: tuple[str, ...]
    flag: str | None  # column that flags raters
    time: str | None


def choose_columns(
    columns: Sequence[str],
    *,
    item: str,
    rater: str | None,
    questions: Sequence[str] | Literal["all"] | None,
    answer: str | None = None,
    rater_attributes: Sequence[str] = (),
) -> ColumnChoice:
    """Choose the columns of a table to read."""
    if answer is not None and questions not in (None, answer, [answer], (answer,)):
        raise InvalidInput(f"Both answer={answer!r} and questions={questions!r} were given. Give one of them.")
    rater_attributes = [rater_attributes] if isinstance(rater_attributes, str) else rater_attributes
    require_column(item, columns, "item")
    if rater is not None:
        require_column(rater, columns, "rater")
    chosen = _choose_questions(columns, questions if answer is None else [answer])
    if not chosen:
        raise InvalidInput("questions is empty. Name at least one column with answers, or leave it out.")
    for question in chosen:
        require_column(question, columns, "answer")
    for attribute in rater_attributes:
        if attribute not in columns:
            raise NotFound(
                f"There is no column {attribute!r} to read as an attribute of raters. {_list_columns(columns)}"
            )
    explicit = tuple(name for name in rater_attributes if name not in (names.FLAG, names.REMOVED))
    ids = [item] if rater is None else [item, rater]
    _check_unique([*ids, *chosen, *explicit])
    used = {*ids, *chosen, names.ITEM_ID, names.RATER_ID, names.REMOVED}
    unused = [name for name in columns if name not in used]
    about_raters = [name for name in unused if name in explicit or names.is_rater_attribute(name)]
    return ColumnChoice(
        item=item,
        rater=rater,
        questions=chosen,
        optional=questions == ALL,
        rater_attributes=() if rater is None else tuple(about_raters),
        item_attributes=tuple(n for n in unused if names.is_item_attribute(n) and n not in about_raters),
        flag=None if rater is None else next((n for n in (names.FLAG, names.REMOVED) if n in columns), None),
        time=names.ANSWER_TIME if names.ANSWER_TIME in unused else None,
    )


def require_column(column: str, columns: Collection[str], option: str) -> None:
    """Raise unless a column exists; the message names the option for it."""
    if column not in columns:
        candidates = [name for name in columns if name not in (names.ITEM_ID, names.RATER_ID)]
        raise NotFound(
            f"There is no column {column!r}.{suggest(column, candidates)} {_list_columns(columns)} "
            f"Use --{option} (in Python: {option}=...) to name the column with {_PURPOSE[option]}."
            f"{_WIDE if option != 'answer' else ''}"
        )


def _list_columns(columns: Collection[str]) -> str:
    return f"The columns are {format_list(list(columns))}."


def _choose_questions(columns: Sequence[str], questions: Sequence[str] | None) -> tuple[str, ...]:
    if questions is not None and questions != ALL:
        return (questions,) if isinstance(questions, str) else tuple(questions)
    candidates = tuple(name for name in columns if names.is_question(name))
    if not candidates:
        raise NotFound(
            f"No column has a name like Q_overall, so it is not known which has the answers. "
            f"{_list_columns(columns)} Name their column with --answer (in Python: answer=...)."
        )
    if questions == ALL or len(candidates) == 1:
        return candidates
    if names.OVERALL in candidates:
        return (names.OVERALL,)
    raise InvalidInput(
        f"There is no {names.OVERALL}, and several columns could have the answers: {format_list(candidates, 30)}. "
        "Name one with --question (in Python: questions=[...])."
    )


def _check_unique(columns: list[str]) -> None:
    duplicate = next((name for name in columns if columns.count(name) > 1), None)
    if duplicate is not None:
        raise InvalidInput(
            f"Column {duplicate!r} is named for two things; --item, --rater, --answer and attributes of raters "
            "each need a different column."
        )
    # Index columns of the encoded table.
    clash = next((name for name in columns[2:] if name in {"item", "rater"}), None)
    if clash is not None:
        raise InvalidInput(f"Column {clash!r} cannot be a question or an attribute under that name. Rename it.")
