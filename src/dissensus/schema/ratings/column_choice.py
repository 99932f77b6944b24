"""Selection of the columns of a table: ids, answers, attributes, flag, time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.ratings import columns as names

ALL: Literal["all"] = "all"

_WIDE = " A table with one column a rater is turned into one rating a row by: dissensus convert."
_PURPOSE = {
    "item": "the ids of the items",
    "rater": "the ids of the raters; who gave an answer must be known to compare groups of people, and without it "
    "--no-raters (in Python: rater=None) reads the answers as counts",
    "answer": "the answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoice:
    """The columns to read."""

    item: str
    rater: str | None  # None where it is not known who gave an answer
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
    """Find the columns to read among those of a table."""
    if answer is not None and questions not in (None, answer, [answer], (answer,)):
        raise InvalidInput(f"Both answer={answer!r} and questions={questions!r} were given. Give one of them.")
    rater_attributes = [rater_attributes] if isinstance(rater_attributes, str) else rater_attributes
    require_column(item, columns, "item")
    if rater is not None:
        require_column(rater, columns, "rater")
    chosen = _questions(columns, questions if answer is None else [answer])
    if not chosen:
        raise InvalidInput("questions is empty. Name at least one column with answers, or leave it out.")
    for question in chosen:
        require_column(question, columns, "answer")
    for attribute in rater_attributes:
        if attribute not in columns:
            raise NotFound(f"There is no column {attribute!r} to read as an attribute of raters. {_have(columns)}")
    explicit = tuple(name for name in rater_attributes if name not in (names.FLAG, names.REMOVED))
    ids = [item] if rater is None else [item, rater]
    _each_once([*ids, *chosen, *explicit])
    taken = {*ids, *chosen, names.ITEM_ID, names.RATER_ID, names.REMOVED}
    free = [name for name in columns if name not in taken]
    about_raters = [name for name in free if name in explicit or names.is_rater_attribute(name)]
    of_rater = () if rater is None else tuple(about_raters)
    return ColumnChoice(
        item=item,
        rater=rater,
        questions=chosen,
        optional=questions == ALL,
        rater_attributes=of_rater,
        item_attributes=tuple(n for n in free if names.is_item_attribute(n) and n not in about_raters),
        flag=None if rater is None else next((n for n in (names.FLAG, names.REMOVED) if n in columns), None),
        time=names.ANSWER_TIME if names.ANSWER_TIME in free else None,
    )


def require_column(column: str, columns: Collection[str], option: str) -> None:
    """Make sure that a column is there, or say which option names it."""
    if column not in columns:
        others = [name for name in columns if name not in (names.ITEM_ID, names.RATER_ID)]
        raise NotFound(
            f"There is no column {column!r}.{suggest(column, others)} {_have(columns)} "
            f"Use --{option} (in Python: {option}=...) to name the column with {_PURPOSE[option]}."
            f"{_WIDE if option != 'answer' else ''}"
        )


def _have(columns: Collection[str]) -> str:
    return f"The columns are {format_list(list(columns))}."


def _questions(columns: Sequence[str], asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked is not None and asked != ALL:
        return (asked,) if isinstance(asked, str) else tuple(asked)
    candidates = tuple(name for name in columns if names.is_question(name))
    if not candidates:
        raise NotFound(
            f"No column has a name like Q_overall, so it is not known which has the answers. "
            f"{_have(columns)} Name their column with --answer (in Python: answer=...)."
        )
    if asked == ALL or len(candidates) == 1:
        return candidates
    if names.OVERALL in candidates:
        return (names.OVERALL,)
    raise InvalidInput(
        f"There is no {names.OVERALL}, and several columns could have the answers: {format_list(candidates, 30)}. "
        "Name one with --question (in Python: questions=[...])."
    )


def _each_once(wanted: list[str]) -> None:
    twice = next((name for name in wanted if wanted.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(
            f"Column {twice!r} is named for two things; --item, --rater, --answer and attributes of raters "
            "each need a column of their own."
        )
    # the encoded table calls its two index columns so
    clash = next((name for name in wanted[2:] if name in {"item", "rater"}), None)
    if clash is not None:
        raise InvalidInput(f"Column {clash!r} cannot be a question or an attribute under that name. Rename it.")
