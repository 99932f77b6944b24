"""Columns of a release: their meaning, the values they may have, and those that a plan publishes."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.scale import MAX_LABELS, USUAL
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cells import FLAG_VALUES
from dissensus.schema.ratings.cleaning import MISSING_ANSWERS, CellCleaner, CleaningRules, fold
from dissensus.schema.ratings.column_guesses import MAX_ANSWERS, has_one_value_each
from dissensus.schema.release.plan import ReleasePlan

ROW_NUMBER: Final = "id"
SIDE: Final = "shown_first"
DURATIONS: Final = (names.ANSWER_TIME, names.OPEN_TIME, names.CORRECTION_TIME)
MOMENTS: Final = ("answer_timestamp", names.CORRECTED_AT)
FLAGS: Final = (names.FLAG, names.REMOVED)
CHECKS: Final = (names.CHECKS_PASSED, names.CHECKS_FAILED)
PLAIN: Final = (
    *(ROW_NUMBER, names.ITEM_ID, names.RATER_ID, names.REPEAT, SIDE),
    *(*FLAGS, *CHECKS, *DURATIONS, *MOMENTS, names.BULK_SHARE),
)
"""Columns that are neither answers, attributes nor texts."""
LARGEST_NUMBER: Final = 1_000
"""Largest number of a scale that is recognised by its answers: a larger one may be a postcode or a year."""
_ALLOWED: Final = {
    **dict.fromkeys((names.REPEAT, *CHECKS), (r"\d{1,9}(\.0+)?", "a whole number")),
    **dict.fromkeys(DURATIONS, (r"-?\d{1,12}(\.\d*)?(e\+?\d)?", "a number of milliseconds")),
    names.BULK_SHARE: (r"0|1|[01]?\.\d+(e-\d+)?", "a share from 0 to 1"),
    **dict.fromkeys(FLAGS, ("|".join(FLAG_VALUES), "true or false")),
    SIDE: ("a|b", "a or b"),
}


def list_quasi_identifiers(columns: Iterable[str]) -> tuple[str, ...]:
    """Return all columns that are counted towards k: attributes of raters, flags and checks.

    Examples
    --------
    >>> list_quasi_identifiers(["item_id", "checks_failed", "rater_age", "rater_flagged"])
    ('rater_age', 'rater_flagged', 'checks_failed')
    """
    columns = tuple(columns)
    attributes = (name for name in columns if names.is_rater_attribute(name))
    return (*attributes, *(name for name in (*FLAGS, *CHECKS) if name in columns))


def select_columns(source: ReleaseSource, plan: ReleasePlan) -> pl.DataFrame:
    """Return the columns of a source that a plan publishes, with clean answers, under the ids of the source."""
    _check_drop(source, plan)
    hidden = {*plan.drop, *(() if plan.with_text else list_texts(source)), *list_unknown_columns(source, plan)}
    table = source.table.drop(name for name in source.table.columns if name in hidden)
    answers = list_answer_columns(source)
    if plan.question in source.table.columns and plan.question not in (*answers, *plan.drop):
        raise InvalidInput(
            f"question: {plan.question} does not have the answers of a known scale. Name another column, or write its "
            "answers as numbers or categories in order."
        )
    for column in table:
        _check_values(column)
    # Blanks around a value would make two raters, or two groups, of one.
    plain = [name for name in table.columns if names.is_rater_attribute(name)]
    categories = [name for name in table.columns if table.schema[name] in (pl.Categorical, pl.Enum)]
    return table.with_columns(
        *(pl.col(name).cast(pl.String) for name in categories if name not in answers),
        *(clean_answers(table[name]) for name in answers if name in table.columns),
    ).with_columns(
        pl.col(name).cast(pl.String).str.strip_chars().replace("", None)
        for name in (names.ITEM_ID, names.RATER_ID, *plain)
    )


def clean_answers(column: pl.Series) -> pl.Series:
    """Return answers as readers of ratings read them: without spaces, words for missing ones and decimals of 1.0.

    Numbers stay numbers, and the order of categories stays.

    Examples
    --------
    >>> clean_answers(pl.Series("Q_overall", ["Yes ", "None", "No"])).to_list()
    ['Yes', None, 'No']
    """
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    clean = CellCleaner(CleaningRules()).clean_answers(column, known_scale(column.name))
    return clean.text if clean.order is None else clean.text.cast(pl.Enum(clean.order))


def fold_answers(column: pl.Series) -> pl.Series:
    """Return answers as text that is the same in every notation, by which those of two releases are compared.

    Examples
    --------
    >>> fold_answers(pl.Series("Q", ["1", "2.50"])).equals(fold_answers(pl.Series("Q", [1.0, 2.5])))
    True
    """
    # The folder of a release does not tell that its campaign declared None as an answer.
    text = clean_answers(column.cast(pl.String))
    values = text.unique().drop_nulls()
    numbers = values.cast(pl.Float64, strict=False).cast(pl.String)
    folded = [fold(value) if number is None else number for value, number in zip(values, numbers, strict=True)]
    return text.replace_strict(values, pl.Series(folded, dtype=pl.String), default=None, return_dtype=pl.String)


def list_texts(source: ReleaseSource) -> tuple[str, ...]:
    """Return the columns with free text of raters; the texts of items do not count."""
    return tuple(
        name
        for name in source.table.columns
        if name in source.texts or (name.endswith(names.OWN_WORDS) and not names.is_item_attribute(name))
    )


def list_answer_columns(source: ReleaseSource) -> tuple[str, ...]:
    """Return the columns with answers: those of the campaign, else those named so whose values are of a scale."""
    if source.questions:
        return tuple(name for name in source.table.columns if name in {*source.questions} - source.texts)
    candidates = filter(names.is_question, source.table.columns)
    return tuple(name for name in candidates if name not in source.texts and _has_scale(source.table, name))


def list_published_answers(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns with answers of a published table, in which the meaning of every column is known.

    Free texts of a campaign count as answers if their names do not end as others do.

    Examples
    --------
    >>> list_published_answers(["item_id", "rater_id", "rater_age", "harmful", "Q_overall", "Q_overall_text"])
    ('harmful', 'Q_overall')
    """
    return tuple(
        name
        for name in columns
        if name not in {*PLAIN, names.TEXT}
        and not name.endswith(names.OWN_WORDS)
        and not names.is_rater_attribute(name)
        and not names.is_item_attribute(name)
    )


def list_unknown_columns(source: ReleaseSource, plan: ReleasePlan) -> list[str]:
    """Return the columns of unknown meaning, which may hold anything.

    A side that is the same in all rows of each rater is an attribute of raters under another name.
    """
    plain = {*PLAIN} - ({SIDE} if _is_side_of_raters(source.table) else set())
    known = {*plain, *list_answer_columns(source), *list_texts(source), *plan.drop, names.TEXT}
    return [
        name
        for name in source.table.columns
        if name not in known and not names.is_rater_attribute(name) and not names.is_item_attribute(name)
    ]


def _has_scale(table: pl.DataFrame, question: str) -> bool:
    """Return whether the values of a column are answers: of a known scale, or few that say nothing of their rater."""
    column = table[question]
    if known_scale(question) is not None:
        return True  # readers of ratings refuse other values
    if not _has_text_form(column):
        return False
    rows = _filled_rows(table, question)
    values = rows["answer"].unique()
    if any(set(values) <= {name.casefold() for name in scale} for scale in USUAL):
        return True
    if len(values) > 1 and _is_constant(rows):
        return False
    numbers = values.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        return len(values) <= MAX_ANSWERS and bool((numbers.abs() <= LARGEST_NUMBER).all())
    shared = rows.group_by("answer").agg(pl.col(names.RATER_ID).n_unique())[names.RATER_ID]
    return len(values) <= MAX_LABELS and (column.dtype == pl.Enum or bool((shared > 1).all()))


def _is_side_of_raters(table: pl.DataFrame) -> bool:
    """Return whether sides differ by rater alone."""
    if SIDE not in table.columns or not _has_text_form(table[SIDE]):
        return False
    rows = _filled_rows(table, SIDE)
    return rows["answer"].n_unique() > 1 and _is_constant(rows)


def _filled_rows(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the raters and values of the rows with one, in lower case."""
    text = table[column].cast(pl.String).str.strip_chars().str.to_lowercase()
    return pl.DataFrame({names.RATER_ID: table[names.RATER_ID], "answer": text}).filter(
        pl.col("answer").is_not_null() & ~pl.col("answer").is_in(["", *MISSING_ANSWERS])
    )


def _is_constant(rows: pl.DataFrame) -> bool:
    """Return whether raters of several rows have the same value in all of them."""
    several = rows.filter(pl.len().over(names.RATER_ID) > 1)
    return bool(several.height) and has_one_value_each(several, "answer", names.RATER_ID)


def _check_drop(source: ReleaseSource, plan: ReleasePlan) -> None:
    columns = source.table.columns
    for name in plan.drop:
        if name not in columns:
            raise InvalidInput(
                f"drop: There is no column {format_value(name)}.{suggest(name, columns)} Columns are "
                f"{format_list(columns, 60)}."
            )
        if name in (names.RATER_ID, names.ITEM_ID):
            raise InvalidInput(f"drop: {name} tells ratings apart, and is needed. Ids of raters are replaced anyway.")


def _has_text_form(column: pl.Series) -> bool:
    """Return whether cells can be cast to text, by which they are checked."""
    return not (column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration))


def _check_values(column: pl.Series) -> None:
    """Raise for a column whose cells cannot be looked through, or are not what its name says."""
    if not _has_text_form(column):
        raise InvalidInput(
            f"{column.name} has lists, records, bytes or durations in its cells. Write them as text or numbers, or "
            "drop it."
        )
    if column.name not in _ALLOWED:
        return
    pattern, allowed = _ALLOWED[column.name]
    text = column.cast(pl.String).drop_nulls()
    invalid = text.filter(~text.str.strip_chars().str.contains(f"^(?i:{pattern})?$"))
    if len(invalid):
        raise InvalidInput(
            f"{column.name}: {format_value(invalid[0])} is not {allowed}. Correct it, or drop the column."
        )
