"""Reader and validator of ratings."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.ratings.kinds import RatingsFileOptions
from dissensus.files.ratings.source import load_source
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.bins import suggest_bins
from dissensus.schema.ratings.cleaning import CleaningRules, Duplicates, check_rules
from dissensus.schema.ratings.column_choice import ALL
from dissensus.schema.ratings.findings import FailedCheck
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.ratings.validation import Validation, unreadable_validation, validate_table


def read_ratings(  # noqa: PLR0913 - options are keyword-only
    source: Any,
    *,
    items: Any = None,
    raters: Any = None,
    item: str = names.ITEM_ID,
    rater: str | None = names.RATER_ID,
    answer: str | None = None,
    questions: Sequence[str] | Literal["all"] | None = None,
    rater_attributes: Sequence[str] | Literal["auto"] = (),
    categories: Sequence[str] | None = None,
    text: str | None = None,
    has_label: str | None = None,
    missing: Sequence[str] = (),
    normalise: bool = False,
    duplicates: Duplicates = "refuse",
    bins: Mapping[str, Sequence[float]] | None = None,
    sets: Sequence[str] = (),
    kind: str | None = None,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    annotators: str | os.PathLike[str] | None = None,
) -> Ratings:
    """Read and check ratings.

    Parameters
    ----------
    source
        Path of a file; a pandas, polars or Arrow table; or a list of dicts. One row per rating, a wide table, or a
        LeWiDi file.
    items
        Path or table with one row per item, joined to `Ratings.items`.
    raters
        Path or table with one row per rater, whose ``rater_*`` columns are joined to `Ratings.raters`.
    item, rater, answer, questions, rater_attributes, categories, text, has_label, missing, normalise, duplicates
        As for `Ratings.from_frame`.
    bins
        Lowest values of the intervals of numeric attributes: ``{"age": [18, 30, 45]}``; see `Ratings.with_bins`.
    sets
        Attributes of items whose cells hold several values, besides ``harm_type`` and ``topic``; see
        `Ratings.with_sets`.
    kind, rater_columns, item_columns, annotators
        As for `read_long`; the kind is detected by default.

    Raises
    ------
    DissensusError
        As for `read_frame` and `Ratings.from_frame`.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"post": ["a", "a"], "who": ["1", "2"], "label": ["Yes", "No"]})
    >>> read_ratings(table, item="post", rater="who", answer="label")
    Ratings(2 ratings of 1 items by 2 raters; questions: label; axes: none)
    """
    if isinstance(source, Ratings):
        raise InvalidInput("These ratings have been read. Give the path of a file, or a table in memory.")
    options = _file_options(item, rater, answer, questions, rater_columns, item_columns, annotators)
    loaded = load_source(source, options, kind=kind)
    with name_source(source):
        ratings = Ratings.from_frame(
            loaded.frame,
            item=item if loaded.kind is None else names.ITEM_ID,
            rater=rater if loaded.kind is None else names.RATER_ID,
            questions=questions,
            answer=answer,
            rater_attributes=rater_attributes,
            categories=categories,
            text=text,
            has_label=has_label,
            missing=missing,
            normalise=normalise,
            duplicates=duplicates,
        )
    ratings = replace(ratings, notes=(*loaded.notes, *ratings.notes))
    rules = check_rules(missing, normalise, duplicates)
    ratings = _join(ratings, items, raters, item, rater, rules, bins, sets)
    return replace(ratings, notes=(*ratings.notes, *_suggest_bins(ratings)))


def _join(
    ratings: Ratings,
    items: Any,
    raters: Any,
    item: str,
    rater: str | None,
    rules: CleaningRules,
    bins: Mapping[str, Sequence[float]] | None,
    sets: Sequence[str],
) -> Ratings:
    """Return ratings with the attributes of tables of items and raters, and with intervals."""
    if items is not None:
        table = to_frame(items)
        with name_source(items):
            ratings = ratings.with_items(table, item=item if item in table.columns else names.ITEM_ID)
    if raters is not None:
        table = to_frame(raters)
        with name_source(raters):
            column = rater if rater in table.columns else names.RATER_ID
            ratings = ratings.with_raters(table, rater=column, missing=rules.missing, normalise=rules.normalise)
    for axis, edges in (bins or {}).items():
        ratings = ratings.with_bins(axis, edges)
    return ratings.with_sets([sets] if isinstance(sets, str) else sets)


def _suggest_bins(ratings: Ratings) -> Iterator[str]:
    """Yield a note for each attribute of many numbers, which are as many groups."""
    for axis in ratings.axes:
        edges = suggest_bins(ratings.raters[axis])
        if edges:
            n = ratings.raters[axis].drop_nulls().n_unique()
            name = axis.removeprefix(names.RATER_PREFIX)
            listed = ",".join(map(str, edges))
            yield (
                f"{axis} has {n:,} different numbers, which are as many groups. For intervals: --bins {name}={listed} "
                f"(in Python: bins={{{name!r}: {edges}}})."
            )


def _file_options(
    item: str,
    rater: str | None,
    answer: str | None,
    questions: Sequence[str] | None,
    rater_columns: str | None,
    item_columns: str | None,
    annotators: str | os.PathLike[str] | None,
) -> RatingsFileOptions:
    listed = [questions] if isinstance(questions, str) else list(questions or ())
    return RatingsFileOptions(
        item=item,
        rater=rater,
        answer=answer,
        question=listed[0] if len(listed) == 1 and listed != [ALL] else None,
        rater_columns=rater_columns,
        item_columns=item_columns,
        annotators=None if annotators is None else Path(annotators),
    )


def validate(  # noqa: PLR0913 - options are keyword-only
    source: Any,
    *,
    items: Any = None,
    raters: Any = None,
    item: str = names.ITEM_ID,
    rater: str | None = names.RATER_ID,
    answer: str | None = None,
    questions: Sequence[str] | Literal["all"] = "all",
    rater_attributes: Sequence[str] | Literal["auto"] = (),
    categories: Sequence[str] | None = None,
    text: str | None = None,
    has_label: str | None = None,
    missing: Sequence[str] = (),
    normalise: bool = False,
    duplicates: Duplicates = "refuse",
    bins: Mapping[str, Sequence[float]] | None = None,
    sets: Sequence[str] = (),
    kind: str | None = None,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    annotators: str | os.PathLike[str] | None = None,
) -> Validation:
    """List all problems of a table of ratings.

    Parameters
    ----------
    source
        As for `read_ratings`.
    items, raters, bins, sets
        As for `read_ratings`; checked if the table itself has no errors.
    item, rater, answer, questions, rater_attributes, categories, text, has_label, missing, normalise, duplicates
        As for `read_ratings`; by default all questions are checked.
    kind, rater_columns, item_columns, annotators
        As for `read_ratings`.

    Returns
    -------
    Validation
        Every problem with row, column, value, allowed values and remedy. A file that cannot be read has that as its
        only problem.

    Notes
    -----
    Errors are what `read_ratings` rejects: missing ids, duplicate ratings, answers that are not on the scale, an item
    with two texts, a rater with two ages, invalid times; and overall answers that contradict the questions they are
    made from. Warnings are readable but suspicious: missing demographics, rows without an answer, one conversation
    under two ids, values that usually mean a missing one, one group in two spellings.

    Examples
    --------
    >>> import polars as pl
    >>> result = validate(pl.DataFrame({
    ...     "item_id": ["1", "1"], "rater_id": ["ann", "ann"], "Q_overall": ["Yes", "yes"],
    ... }))
    >>> result.ok, [(problem.check, problem.row) for problem in result.problems()]
    (False, [('unknown answer', 2), ('duplicate rating', 2)])
    """
    name = str(Path(source)) if is_path(source) else "table"
    faults: list[InvalidInput] = []
    try:
        options = _file_options(item, rater, answer, questions, rater_columns, item_columns, annotators)
        loaded = load_source(source, options, kind=kind, report=faults.append)
        rules = check_rules(missing, normalise, duplicates)
    except DissensusError as error:
        unreadable = unreadable_validation(name, error)
        return replace(unreadable, findings=(*_describe_entries(faults), *unreadable.findings))
    result = validate_table(
        loaded.frame,
        source=name,
        item=item if loaded.kind is None else names.ITEM_ID,
        rater=rater if loaded.kind is None else names.RATER_ID,
        answer=answer,
        questions=questions,
        rater_attributes=rater_attributes,
        categories=categories,
        text=text,
        has_label=has_label,
        rules=rules,
    )
    joined: tuple[FailedCheck, ...] = ()
    if result.ok and (items is not None or raters is not None or bins or sets):
        try:
            ratings = Ratings.from_frame(
                loaded.frame,
                item=item if loaded.kind is None else names.ITEM_ID,
                rater=rater if loaded.kind is None else names.RATER_ID,
                answer=answer,
                questions=None if answer is not None and questions == ALL else questions,
                rater_attributes=rater_attributes,
                categories=categories,
                has_label=has_label,
                missing=missing,
                normalise=normalise,
                duplicates=duplicates,
            )
            _join(ratings, items, raters, item, rater, rules, bins, sets)
        except DissensusError as error:
            joined = unreadable_validation(name, error).findings
    return replace(
        result,
        kind=result.kind if loaded.kind is None else f"{loaded.kind} file",
        findings=(*_describe_entries(faults), *joined, *result.findings),
        notes=(*loaded.notes, *result.notes),
    )


def _describe_entries(faults: Sequence[InvalidInput]) -> tuple[FailedCheck, ...]:
    """Return the faults of LeWiDi entries as a failed check."""
    if not faults:
        return ()
    return (
        FailedCheck(
            check="faulty entry",
            column=None,
            rows=np.arange(len(faults), dtype=np.int64),
            value=lambda _: None,
            message=lambda row: str(faults[row]),
            allowed="Each entry has one annotation by each of its annotators.",
            remedy="Correct the entry or leave it out.",
        ),
    )
