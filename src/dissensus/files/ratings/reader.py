"""Reader and validator of ratings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from dissensus.errors import DissensusError
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.schema.ratings import columns as names
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
    rater_attributes: Sequence[str] = (),
    categories: Sequence[str] | None = None,
) -> Ratings:
    """Read and check ratings.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table: one row per rating.
    items
        Path or table with one row per item, joined to `Ratings.items`.
    raters
        Path or table with one row per rater, whose ``rater_*`` columns are joined to `Ratings.raters`.
    item, rater, answer, questions, rater_attributes, categories
        As for `Ratings.from_frame`.

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
    frame = to_frame(source)
    with name_source(source):
        ratings = Ratings.from_frame(
            frame,
            item=item,
            rater=rater,
            questions=questions,
            answer=answer,
            rater_attributes=rater_attributes,
            categories=categories,
        )
    if items is not None:
        table = to_frame(items)
        with name_source(items):
            ratings = ratings.with_items(table, item=item if item in table.columns else names.ITEM_ID)
    if raters is not None:
        table = to_frame(raters)
        with name_source(raters):
            ratings = ratings.with_raters(table, rater=rater if rater in table.columns else names.RATER_ID)
    return ratings


def validate(
    source: Any,
    *,
    item: str = names.ITEM_ID,
    rater: str | None = names.RATER_ID,
    answer: str | None = None,
    questions: Sequence[str] | Literal["all"] = "all",
    rater_attributes: Sequence[str] = (),
    categories: Sequence[str] | None = None,
) -> Validation:
    """List all problems of a table of ratings.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table.
    item, rater, answer, questions, rater_attributes, categories
        As for `read_ratings`; by default all questions are checked.

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
    under two ids.

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
    try:
        frame = to_frame(source)
    except DissensusError as error:
        return unreadable_validation(name, error)
    return validate_table(
        frame,
        source=name,
        item=item,
        rater=rater,
        answer=answer,
        questions=questions,
        rater_attributes=rater_attributes,
        categories=categories,
    )
