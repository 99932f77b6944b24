"""Scores of items by models: predicted probabilities of an unsafe answer, or labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_rest, format_list, format_value, suggest
from dissensus.schema.ratings.columns import ITEM_ID

LABELS: Final[Mapping[str, float]] = {"unsafe": 1.0, "safe": 0.0, "true": 1.0, "false": 0.0}
"""Labels that need no scale, in lower case."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Scores of items by one or more models, checked.

    Parameters
    ----------
    table
        ``item_id`` (text), unique, and one Float64 column for each model: from 0 for safe to 1 for unsafe, null where
        a model has no score.
    label_models
        Models whose scores are labels.
    notes
        Remarks on how the scores were read.

    Examples
    --------
    >>> build_item_scores(pl.DataFrame({"item_id": ["1", "2"], "guard": ["unsafe", "safe"]})).label_models
    ('guard',)
    """

    table: pl.DataFrame
    label_models: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(name for name in self.table.columns if name != ITEM_ID)

    def describe_unrated(self, item_ids: pl.Series) -> str:
        """Return a caveat about scores of other items than the rated ones; empty without any."""
        unrated = int((~self.table[ITEM_ID].is_in(item_ids.implode())).sum())
        return describe_unrated(unrated, self.table.height) if unrated else ""


def describe_unrated(n: int, n_scored: int) -> str:
    """Return a caveat about scored items without a rating."""
    return f"{n:,} of {n_scored:,} scored items without a rating: not used."


def describe_unscored(model: str, n: int, n_items: int) -> str:
    """Return a caveat about rated items without a score of a model."""
    return f"{n:,} of {n_items:,} rated items without a score of {format_value(model)}: left out for all models."


def refuse_unscored(scores: ItemScores, item_ids: Sequence[str]) -> NoReturn:
    """Raise the error that no rated item has a score of every model; `item_ids` are those of the first rated items."""
    raise InvalidInput(
        f"No rated item has a score of {'every model' if len(scores.models) > 1 else scores.models[0]}. Items are "
        f"rated as {format_list(item_ids, 3)} and scored as {format_list(scores.table[ITEM_ID].to_list(), 3)}; "
        f"{ITEM_ID} must be the same in both."
    )


def build_item_scores(
    frame: pl.DataFrame,
    *,
    item: str = ITEM_ID,
    models: Sequence[str] | None = None,
    labels: Mapping[str, float] | None = None,
    reverse: Sequence[str] = (),
) -> ItemScores:
    """Check a table with one row per item and one column per model; `labels` has the values of further labels by name.

    All columns that hold scores or labels are read, unless models are named. Scores of models in `reverse` are 1 for
    safe.
    """
    ids = _check_ids(frame, item)
    known = {**LABELS, **{name.strip().lower(): value for name, value in (labels or {}).items()}}
    columns, label_models, unread = [ids], [], []
    names = list(dict.fromkeys(models if models is not None else (name for name in frame.columns if name != item)))
    check_model_names(names)
    check_columns(names, frame.columns)
    for name in names:
        if models is not None:
            _require_values(frame[name])
        numbers = _read_numbers(frame[name])
        answers = None if numbers is None else _read_numeric_labels(numbers, ids, labels or {})
        if answers is not None:
            columns.append(answers)
            label_models.append(name)
        elif numbers is not None:
            columns.append(_check_range(numbers.alias(name), ids))
        elif models is not None or _is_label(frame[name], known):
            columns.append(_read_labels(frame[name], ids, known))
            label_models.append(name)
        else:
            unread.append(name)
    if len(columns) == 1:
        raise InvalidInput(
            f"No column holds scores from 0 to 1 or labels; columns are {format_list(frame.columns)}. Labels are "
            f"{format_list(list(known))}. Write scores, or these labels."
        )
    reversed_models = [column.name for column in columns[1:] if column.name in reverse]
    for name in reversed_models:
        _check_reversible(frame[name], is_label=name in label_models)
    columns = [1 - column if column.name in reversed_models else column for column in columns]
    notes = []
    if reversed_models:
        notes.append(f"Reversed, since 1 means safe: {format_list(reversed_models)}.")
    if unread:
        notes.append(f"Columns that are neither scores nor labels are not read: {format_list(unread)}.")
    return ItemScores(pl.DataFrame(columns), tuple(label_models), tuple(notes))


def _require_values(values: pl.Series) -> None:
    if _fold(values).null_count() == len(values):
        raise InvalidInput(
            f"{format_value(values.name)} has no value. Fill in its scores, or name other columns: --score-column "
            "COLUMN (in Python: models=[...])."
        )


def _check_reversible(values: pl.Series, *, is_label: bool) -> None:
    """Refuse to reverse labels that tell by themselves what is unsafe; true and false do not."""
    if not is_label:
        return
    for label in _fold(values).drop_nulls().unique(maintain_order=True):
        if label not in ("true", "false"):
            raise InvalidInput(
                f"{format_value(values.name)} has the label {format_value(label)}, which tells by itself what is "
                "unsafe. Only scores, and the labels true and false, are reversed: leave it out of --reverse (in "
                "Python: reverse=[...])."
            )


def check_columns(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse names that are not among the columns of scores."""
    for name in names:
        if name not in columns:
            raise InvalidInput(
                f"There is no column {format_value(name)} of scores.{suggest(name, columns)} Columns are "
                f"{format_list(columns)}."
            )


def check_model_names(names: Sequence[object]) -> None:
    """Refuse models without a name, or with that of the column of ids."""
    for name in names:
        if name is None or str(name).strip() in ("", ITEM_ID):
            raise InvalidInput(
                f"A model is named {format_value('' if name is None else name)}. Give each a name, other than "
                f"{ITEM_ID}, which holds the ids of items."
            )


def join_item_scores(parts: Sequence[ItemScores]) -> ItemScores:
    """Return the scores of several tables as one; models must have different names."""
    if not parts:
        raise InvalidInput("There are no scores. Give one file of scores or more.")
    table = parts[0].table
    for part in parts[1:]:
        if clash := sorted(set(part.models) & set(table.columns)):
            raise InvalidInput(
                f"Two files have scores of {format_value(clash[0])}. Rename the column in one of them, so that each "
                "model has a name of its own."
            )
        table = table.join(part.table, on=ITEM_ID, how="full", coalesce=True, maintain_order="left_right")
    label_models = tuple(name for part in parts for name in part.label_models)
    return ItemScores(table, label_models, tuple(note for part in parts for note in part.notes))


def _check_ids(frame: pl.DataFrame, item: str) -> pl.Series:
    if item not in frame.columns:
        raise InvalidInput(
            f"The scores have no column {format_value(item)} with the ids of items.{suggest(item, frame.columns)} "
            f"Columns are {format_list(frame.columns)}. Rename the one that has them."
        )
    ids = frame[item].cast(pl.String).str.strip_chars().alias(ITEM_ID)
    blank = (ids.is_null() | (ids == "").fill_null(value=True)).arg_true()
    if len(blank):
        raise InvalidInput(f"Row {blank[0] + 1:,} of the scores has no id of an item ({item}). Give every row one.")
    repeated = ids.filter(ids.is_duplicated())
    if len(repeated):
        raise InvalidInput(
            f"Item {format_value(repeated[0])} has several rows of scores. Give one row for each item."
            f"{count_rest(repeated.n_unique() - 1, 'such item')}"
        )
    return ids


def _read_numbers(values: pl.Series) -> pl.Series | None:
    """Return a column as numbers; None if a value is not a number."""
    if values.dtype == pl.Boolean:
        return None
    if values.dtype == pl.String:
        values = values.str.strip_chars()
        values = values.set(values == "", None)
    numbers = values.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == values.null_count() and numbers.null_count() < len(numbers) else None


def _read_numeric_labels(numbers: pl.Series, ids: pl.Series, labels: Mapping[str, float]) -> pl.Series | None:
    """Return the values of labels that are numbers, such as answers from 1 to 5; None if they are scores.

    Numbers from 0 to 1 that mean one thing as labels and another as scores are refused.
    """
    numeric = pl.Series(list(labels), dtype=pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    values = {number: labels[name] for name, number in zip(labels, numeric, strict=True) if number is not None}
    if not numbers.drop_nulls().is_in(list(values)).all():
        return None
    read = numbers.replace_strict(values, default=None, return_dtype=pl.Float64)
    differs = (read != numbers).fill_null(value=False).arg_true()
    if len(differs) and numbers.is_between(0, 1).all():
        row = int(differs[0])
        raise InvalidInput(
            f"Item {format_value(ids[row])} has {numbers[row]:g} of {format_value(numbers.name)}, which may be a "
            "probability or an answer of the scale. Write answers as safe and unsafe, or give probabilities that are "
            "not all answers."
        )
    return read if len(differs) else None


def _check_range(scores: pl.Series, ids: pl.Series) -> pl.Series:
    wrong = (~scores.is_finite() | (scores < 0) | (scores > 1)).fill_null(value=False).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInput(
            f"Item {format_value(ids[row])} has the score {scores[row]} of {format_value(scores.name)}; scores are "
            "probabilities from 0 to 1, and cells without one are empty. If the column holds something else, name the "
            f"others: --score-column COLUMN (in Python: models=[...]).{count_rest(len(wrong) - 1, 'such item')}"
        )
    return scores


def _fold(values: pl.Series) -> pl.Series:
    folded = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    return folded.set(folded == "", None)


def _is_label(values: pl.Series, known: Mapping[str, float]) -> bool:
    """Return whether a column holds labels, a few of which may be unknown: those are an error, not another column."""
    folded = _fold(values).drop_nulls()
    return len(folded) > 0 and bool(folded.is_in(list(known)).any()) and folded.n_unique() <= len(known) + 3


def _read_labels(values: pl.Series, ids: pl.Series, known: Mapping[str, float]) -> pl.Series:
    folded = _fold(values)
    wrong = (~folded.is_in(list(known))).fill_null(value=False).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInput(
            f"Item {format_value(ids[row])} has the label {format_value(values[row])} of {format_value(values.name)}; "
            f"labels are {format_list(list(known))}.{suggest(str(values[row]), list(known))}"
            f"{count_rest(len(wrong) - 1, 'such item')}"
        )
    return folded.replace_strict(known, default=None, return_dtype=pl.Float64).alias(values.name)
