"""Selection of the columns of a table: ids, answers, attributes, flag, time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list, quote_option, quote_options, suggest
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_guesses import (
    describe_guesses,
    find_attributes,
    guess_attributes,
    guess_column,
    has_one_value_each,
)

ALL: Literal["all"] = "all"
AUTO = "auto"
"""Name for all columns that have one value for each rater, but not for each item."""

_WIDE = " To turn one column per rater into one rating per row: dissensus convert."
_PURPOSE = {
    "item": "the ids of the items",
    "rater": "the ids of the raters; they are needed to compare groups of people, and without them "
    "--no-raters (in Python: rater=None) reads the answers as counts",
    "answer": "the answers",
}
_SITE_PURPOSE = {
    "item": f"Rename the column with the ids of the items to {names.ITEM_ID}.",
    "rater": f"Rename the column with the ids of the raters to {names.RATER_ID}; they are needed to compare groups of "
    "people.",
    "answer": f"Rename the column with the answers to {names.OVERALL}.",
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
    text: str | None = None  # column with the texts of items, read as `item_text`
    flag: str | None  # column that flags raters
    time: str | None
    bulk: str | None = None  # column with the share of answers given in bulk

    def require_question(self, option: str) -> str:
        """Return the only question; raise if an option needs one and there are several."""
        if len(self.questions) != 1:
            raise InvalidInput(
                f"{option} reads one question, and there are several: {format_list(self.questions)}. Name one with "
                "--answer (in Python: answer=...)."
            )
        return self.questions[0]


def choose_columns(
    columns: Sequence[str],
    *,
    item: str,
    rater: str | None,
    questions: Sequence[str] | Literal["all"] | None,
    answer: str | None = None,
    rater_attributes: Sequence[str] | Literal["auto"] = (),
    text: str | None = None,
    frame: pl.DataFrame | None = None,
) -> ColumnChoice:
    """Choose the columns of a table to read; with its frame, errors list guesses."""
    if answer is not None and questions not in (None, answer, [answer], (answer,)):
        raise InvalidInput(f"Both answer={answer!r} and questions={questions!r} were given. Give one of them.")
    questions = questions if answer is None else [answer]
    attributes = _split_attributes(rater_attributes, columns)
    _check_columns(columns, item, rater, questions, attributes, frame)
    answers = _choose_questions(columns, questions)
    if not answers:
        raise InvalidInput("questions is empty. Name at least one column with answers, or leave it out.")
    if AUTO in attributes and AUTO not in columns:
        used = [
            item,
            *answers,
            *names.ITEM_ATTRIBUTES,
            names.ANSWER_TIME,
            names.OPEN_TIME,
            names.BULK_QUESTIONS,
            names.BULK_SHARE,
            names.CORRECTION_TIME,
            names.CORRECTED_AT,
            names.FLAG,
            names.REMOVED,
        ]
        others = find_attributes(frame, item, rater, [*used, rater]) if frame is not None and rater else ()
        attributes = tuple(dict.fromkeys((*(name for name in attributes if name != AUTO), *others)))
    explicit = tuple(name for name in attributes if name not in (names.FLAG, names.REMOVED))
    ids = [item] if rater is None else [item, rater]
    _check_unique(ids, [*answers, *explicit])
    used_names = {*ids, *answers, names.ITEM_ID, names.RATER_ID, names.REMOVED}
    unused = [name for name in columns if name not in used_names]
    about_raters = [name for name in unused if name in explicit or names.is_rater_attribute(name)]
    about_items = [name for name in unused if names.is_item_attribute(name) and name not in about_raters]
    return ColumnChoice(
        item=item,
        rater=rater,
        questions=answers,
        optional=questions == ALL,
        rater_attributes=() if rater is None else tuple(about_raters),
        item_attributes=tuple(about_items),
        text=_choose_text(text, unused, about_items, item, frame),
        flag=None if rater is None else next((name for name in (names.FLAG, names.REMOVED) if name in columns), None),
        time=names.ANSWER_TIME if names.ANSWER_TIME in unused else None,
        bulk=names.BULK_SHARE if names.BULK_SHARE in unused else None,
    )


def _split_attributes(attributes: Sequence[str], columns: Collection[str]) -> tuple[str, ...]:
    """Return the named attributes; one that is not a column may name several, separated by commas."""
    texts = [attributes] if isinstance(attributes, str) else list(attributes)
    parts = [[part.strip() for part in text.split(",")] if text not in columns else [text] for text in texts]
    return tuple(dict.fromkeys(part for listed in parts for part in listed))


def _choose_text(
    text: str | None, unused: Collection[str], about_items: Collection[str], item: str, frame: pl.DataFrame | None
) -> str | None:
    """Return the column with the texts of items; a column `text` by default, if it has one text for each item."""
    if text is not None:
        if text not in (*unused, *about_items):
            raise NotFound(
                f"There is no unused column {text!r} with the texts of items. Other columns are "
                f"{format_list(list(unused))}."
            )
        return text
    is_default = frame is not None and names.TEXT in unused and not {*names.TEXTS} & set(about_items)
    return names.TEXT if is_default and has_one_value_each(frame, names.TEXT, item) else None  # type: ignore[arg-type]


def _check_columns(
    columns: Sequence[str],
    item: str,
    rater: str | None,
    questions: Sequence[str] | None,
    attributes: Sequence[str],
    frame: pl.DataFrame | None,
) -> None:
    """Raise one error for all missing columns, with guesses."""
    named = [questions] if isinstance(questions, str) and questions != ALL else questions
    wanted = {"item": [item], "rater": [rater] if rater is not None else []}
    wanted["answer"] = list(named) if named is not None and named != ALL else []
    missing = {kind: [name for name in wanted[kind] if name not in columns] for kind in wanted}
    unknown = [name for name in attributes if name not in columns and name != AUTO]
    no_question = not wanted["answer"] and not any(names.is_question(name) for name in columns)
    sentences = [_describe_missing(name, columns) for listed in missing.values() for name in listed]
    if no_question:
        sentences.append("No column has a name like Q_overall, so it is not known which has the answers.")
    sentences += [f"There is no column {name!r} to read as an attribute of raters." for name in unknown]
    if not sentences:
        return
    kinds = [*(kind for kind, listed in missing.items() if listed), *(["answer"] if no_question else [])]
    purposes = [f"Use --{kind} (in Python: {kind}=...) to name the column with {_PURPOSE[kind]}." for kind in kinds]
    wide = _WIDE if {"item", "rater"} & set(kinds) else ""
    options, guess = _guess(frame, item, rater, kinds, unknown)
    remedy = guess or f" {' '.join(purposes)}{wide}"
    reason = f"{' '.join(sentences)} {_list_columns(columns)}"
    site = " ".join([reason, *(_SITE_PURPOSE[kind] for kind in kinds)])
    raise NotFound(Advice(f"{reason}{remedy}".strip(), site=site), options=options)


def _describe_missing(column: str, columns: Collection[str]) -> str:
    candidates = [name for name in columns if name not in (names.ITEM_ID, names.RATER_ID)]
    return f"There is no column {column!r}.{suggest(column, candidates)}"


def _guess(
    frame: pl.DataFrame | None, item: str, rater: str | None, kinds: Sequence[str], unknown: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return options with guessed columns, if all that are missing are guessed, and a sentence."""
    if frame is None or unknown:
        return (), ""
    used = [name for name in (item, rater) if name in frame.columns]
    guesses: dict[str, str] = {}
    for kind in kinds:
        column = guess_column(kind, frame, [*used, *guesses.values()])
        if column is None:
            return (), ""
        guesses[kind] = column
    owner = guesses.get("rater", rater)
    attributes = () if owner is None else guess_attributes(frame, owner, [*used, *guesses.values()])
    options, arguments = describe_guesses(guesses, attributes)
    return options, f" By their names they may be {quote_options(options)} (in Python: {arguments})."


def require_column(column: str, columns: Collection[str], option: str) -> None:
    """Raise unless a column exists; the message names the option for it."""
    if column not in columns:
        candidates = [name for name in columns if name not in (names.ITEM_ID, names.RATER_ID)]
        reason = f"There is no column {column!r}.{suggest(column, candidates)} {_list_columns(columns)}"
        raise NotFound(
            Advice(
                f"{reason} Use --{option} (in Python: {option}=...) to name the column with {_PURPOSE[option]}."
                f"{_WIDE if option != 'answer' else ''}",
                site=f"{reason} {_SITE_PURPOSE[option]}",
            )
        )


def _list_columns(columns: Collection[str]) -> str:
    return f"The columns are {format_list(list(columns))}."


def _choose_questions(columns: Sequence[str], questions: Sequence[str] | None) -> tuple[str, ...]:
    if questions is not None and questions != ALL:
        return (questions,) if isinstance(questions, str) else tuple(questions)
    candidates = tuple(name for name in columns if names.is_question(name))
    if questions == ALL or len(candidates) == 1:
        return candidates
    if names.OVERALL in candidates:
        return (names.OVERALL,)
    reason = f"There is no {names.OVERALL}, and several columns could have the answers: {format_list(candidates, 30)}."
    example = f"--question {quote_option(candidates[0])} (in Python: questions=[...])"
    raise InvalidInput(
        Advice(
            f"{reason} Name one with --question, such as {example}.",
            site=f"{reason} Rename the one that is meant to {names.OVERALL}, or leave the others out.",
        )
    )


def _check_unique(ids: Sequence[str], others: Sequence[str]) -> None:
    columns = [*ids, *others]
    duplicate = next((name for name in columns if columns.count(name) > 1), None)
    if duplicate is not None:
        raise InvalidInput(
            f"Column {duplicate!r} is named for two things; --item, --rater, --answer and attributes of raters "
            "each need a different column."
        )
    # Index columns of the encoded table.
    clash = next((name for name in others if name in {"item", "rater"}), None)
    if clash is not None:
        raise InvalidInput(f"Column {clash!r} cannot be a question or an attribute under that name. Rename it.")
