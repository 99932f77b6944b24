"""Guesses of the columns of a table from usual names and from their values."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from dissensus.schema.ratings import columns as names

_ITEM: Final = (
    *("item_id", "item", "instance_id", "instance", "example_id", "post_id", "comment_id", "tweet_id", "text_id"),
    *("conversation_id", "dialog_id", "dialogue_id", "prompt_id", "document_id", "doc_id", "sentence_id"),
    *("message_id", "utterance_id", "sample_id", "stimulus_id", "question_id", "image_id", "unit_id", "task_id"),
    *("hit_id", "uid", "id", "idx", "index", "text", "comment", "prompt"),
)
_RATER: Final = (
    *("rater_id", "rater", "annotator_id", "annotator", "worker_id", "worker", "user_id", "user", "participant_id"),
    *("participant", "coder_id", "coder", "judge_id", "judge", "respondent_id", "respondent", "evaluator_id"),
    *("evaluator", "subject_id", "subject", "labeler_id", "labeller_id", "person_id", "person", "prolific_id"),
    *("prolific_pid", "crowdworker_id", "ann_id", "reviewer_id", "reviewer"),
)
_ANSWER: Final = (
    *("answer", "label", "rating", "annotation", "score", "judgment", "judgement", "verdict", "vote", "choice"),
    *("class", "category", "value", "response_value", "decision"),
)
_ANSWER_ENDS: Final = tuple(f"_{name}" for name in _ANSWER[: _ANSWER.index("choice")])
"""Ends of longer names of columns with answers, such as safety_rating; other usual names say too little there."""
_ABOUT_PEOPLE: Final = re.compile(
    r"(.*_)?(gender|sex|age|age_group|race|ethnicity|education|nationality|country|religion|occupation|politics|"
    r"political_\w+|locale|language|income|disability|sexual_orientation)(_.*)?"
)
_KINDS: Final = {"item": _ITEM, "rater": _RATER, "answer": _ANSWER}
MAX_ANSWERS: Final = 200
"""Most distinct values of a column that is guessed to hold answers."""


def simplify_name(column: str) -> str:
    """Return a column name in lower case with underscores between words.

    Examples
    --------
    >>> simplify_name("WorkerId"), simplify_name(" Annotator ID ")
    ('worker_id', 'annotator_id')
    """
    words = re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", column.strip())
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def guess_column(kind: str, frame: pl.DataFrame, used: Sequence[str] = ()) -> str | None:
    """Return the column of item ids, rater ids or answers by its name; None if no unused one has a usual name."""
    simple = {simplify_name(column): column for column in reversed(frame.columns) if column not in used}
    candidates = [simple[name] for name in _KINDS[kind] if name in simple]
    if kind == "answer":
        candidates += [
            column
            for name, column in reversed(simple.items())
            if name.endswith(_ANSWER_ENDS) and column not in candidates
        ]
    return next((column for column in candidates if _fits(kind, frame[column])), None)


def guess_attributes(frame: pl.DataFrame, rater: str, used: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that describe people by their names, and have one value for each rater."""
    candidates = [
        name
        for name in frame.columns
        if name not in used and not names.is_rater_attribute(name) and _ABOUT_PEOPLE.fullmatch(simplify_name(name))
    ]
    return tuple(name for name in candidates if has_one_value_each(frame, name, rater))


def find_attributes(frame: pl.DataFrame, item: str, rater: str, used: Sequence[str]) -> tuple[str, ...]:
    """Return the unused columns that have one value for each rater, but not for each item."""
    return tuple(
        name
        for name in frame.columns
        if name not in used
        and not frame[name].dtype.is_nested()
        and frame[name].drop_nulls().n_unique() > 1
        and has_one_value_each(frame, name, rater)
        and not has_one_value_each(frame, name, item)
    )


def has_one_value_each(frame: pl.DataFrame, column: str, owner: str) -> bool:
    """Return whether each owner, an item or a rater, has one value in a column, if any."""
    known = frame.select(pl.col(owner).alias("owner"), pl.col(column).alias("value")).drop_nulls()
    return known.unique().height == known["owner"].n_unique()


def describe_guesses(guesses: Mapping[str, str], attributes: Sequence[str] = ()) -> tuple[tuple[str, ...], str]:
    """Return guessed columns as command-line options, and as arguments in Python."""
    options = [part for name, column in guesses.items() for part in (f"--{name}", column)]
    options += [part for column in attributes for part in ("--rater-attribute", column)]
    arguments = [f"{name}={column!r}" for name, column in guesses.items()]
    arguments += [f"rater_attributes={list(attributes)!r}"] * bool(attributes)
    return tuple(options), ", ".join(arguments)


def _fits(kind: str, column: pl.Series) -> bool:
    """Return whether the values of a column can be of a kind: ids repeat, answers are few and repeat."""
    if column.dtype.is_nested() or (column.dtype.is_float() and kind != "answer"):
        return False
    n_values, n_filled = column.drop_nulls().n_unique(), len(column) - column.null_count()
    return 0 < n_values <= MAX_ANSWERS if kind == "answer" else 0 < n_values < n_filled
