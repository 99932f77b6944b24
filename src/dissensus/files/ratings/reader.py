"""Reader and validator of ratings."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.ratings.kinds import RatingsFileOptions
from dissensus.files.ratings.source import load_source
from dissensus.files.raw.table_reader import is_path, name_source, to_plain_frame
from dissensus.schema.advice import Advice
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.bins import suggest_bins
from dissensus.schema.ratings.cleaning import CleaningRules, Duplicates, check_rules
from dissensus.schema.ratings.column_choice import ALL
from dissensus.schema.ratings.findings import FailedCheck
from dissensus.schema.ratings.merge import label_sources, merge_ratings
from dissensus.schema.ratings.rater_kind import RaterKind, select_rater_kind
from dissensus.schema.ratings.renames import DICES_RENAMES, Renames, rename_table, require_renames
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
    rename: Renames | None = None,
    kind: str | None = None,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    annotators: str | os.PathLike[str] | None = None,
    rater_kind: RaterKind = "person",
) -> Ratings:
    """Read and check ratings.

    Parameters
    ----------
    source
        Path of a file; a pandas, polars or Arrow table; or a list of dicts. One row per rating, a wide table, or a
        LeWiDi file. A list of files or tables is read as one: items are told apart by file (``name:id``, attribute
        ``item_file``), raters with one id are one rater, and questions are those that all files have.
    items
        Path or table with one row per item, joined to `Ratings.items`; for several files a list of one for each.
    raters
        Path or table with one row per rater, whose ``rater_*`` columns are joined to `Ratings.raters`.
    item, rater, answer, questions, rater_attributes, categories, text, has_label, missing, normalise, duplicates
        As for `Ratings.from_frame`.
    bins
        Lowest values of the intervals of numeric attributes of raters or items: ``{"age": [18, 30, 45]}``; see
        `Ratings.with_bins`.
    sets
        Attributes of items whose cells hold several values, besides ``harm_type`` and ``topic``; see
        `Ratings.with_sets`.
    rename
        New names of columns, ``{"worker": "rater_id"}``, and of values, ``{"rater_locale": {"IN": "India"}}``, in each
        file that has them.
    kind, rater_columns, item_columns, annotators
        As for `read_long`; the kind is detected by default.
    rater_kind
        ``person`` leaves out raters of kind ``model``, whose column ``rater_kind`` says so, with a note; ``model``
        reads them alone, and ``all`` reads both.

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
    rules = check_rules(missing, normalise, duplicates)
    options = _file_options(item, rater, answer, questions, rater_columns, item_columns, annotators)
    read = partial(
        Ratings.from_frame,
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
    sources = source if _holds_sources(source) else [source]
    renamer = SourceRenamer(rename or {}, several=len(sources) > 1)
    tables = items if _holds_sources(items) else None
    if tables is not None and len(tables) != len(sources):
        raise InvalidInput(
            f"Tables of items and files of ratings are {len(tables)} and {len(sources)}. Give one table for each file, "
            "in order."
        )
    parts = []
    for number, single in enumerate(sources):
        part = _read_source(single, options, kind, renamer, read)
        parts.append(part if tables is None else join_item_table(part, tables[number], item))
    renamer.require_all()
    ratings = parts[0] if len(parts) == 1 else merge_ratings(parts, _label(sources))
    ratings = _join(ratings, None if tables is not None else items, raters, item, rater, rules, bins, sets)
    ratings = select_rater_kind(ratings, rater_kind)
    return replace(ratings, notes=(*ratings.notes, *_suggest_bins(ratings)))


def _holds_sources(source: Any) -> bool:
    """Return whether a source is a list of files and tables, not of dicts."""
    return isinstance(source, list) and bool(source) and not any(isinstance(entry, dict) for entry in source)


def _label(sources: Sequence[Any]) -> list[str]:
    return label_sources([str(Path(source)) if is_path(source) else None for source in sources])


def _read_source(
    source: Any,
    options: RatingsFileOptions,
    kind: str | None,
    renamer: "SourceRenamer",
    read: Callable[..., Ratings],
) -> Ratings:
    """Return the ratings of one file or table."""
    loaded = load_source(source, options, kind=kind)
    with name_source(source):
        frame, notes = renamer.rename(loaded.frame)
        ratings = read(
            frame,
            item=options.item if loaded.kind is None else names.ITEM_ID,
            rater=options.rater if loaded.kind is None else names.RATER_ID,
        )
    return replace(ratings, notes=(*loaded.notes, *notes, *ratings.notes))


class SourceRenamer:
    """Renames of columns and values, applied to several tables; unused ones are refused."""

    def __init__(self, renames: Renames, *, several: bool = False) -> None:
        self._renames = renames
        self._several = several
        self._used: set[str] = set()
        self._columns: set[str] = set()

    def rename(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Return a table with other names, and a note on names that the DICES releases spell differently."""
        table, used = rename_table(frame, self._renames)
        self._used |= used
        self._columns |= {*frame.columns, *table.columns}
        if not self._several:
            return table, ()
        known = {old: new for old, new in DICES_RENAMES.items() if old in table.columns and new not in table.columns}
        notes = tuple(
            f"The column {old} is read as {new}, its name in the other release." for old, new in known.items()
        )
        return table.rename(known), notes

    def require_all(self) -> None:
        """Raise for a rename that applied to no table."""
        require_renames(self._renames, self._used, self._columns)


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
        ratings = join_item_table(ratings, items, item)
    if raters is not None:
        table = to_plain_frame(raters)
        with name_source(raters):
            column = rater if rater in table.columns else names.RATER_ID
            ratings = ratings.with_raters(table, rater=column, missing=rules.missing, normalise=rules.normalise)
    for axis, edges in (bins or {}).items():
        ratings = ratings.with_bins(axis, edges)
    return ratings.with_sets([sets] if isinstance(sets, str) else sets)


def join_item_table(ratings: Ratings, items: Any, item: str) -> Ratings:
    """Return ratings with the attributes of items in a file or table, whose ids are in a column `item` or item_id."""
    table = to_plain_frame(items)
    with name_source(items):
        return ratings.with_items(table, item=item if item in table.columns else names.ITEM_ID)


def _suggest_bins(ratings: Ratings) -> Iterator[str]:
    """Yield a note for each attribute of many numbers, which are as many groups."""
    for axis in ratings.axes:
        edges = suggest_bins(ratings.raters[axis])
        if edges:
            n = ratings.raters[axis].drop_nulls().n_unique()
            name = axis.removeprefix(names.RATER_PREFIX)
            listed = ",".join(map(str, edges))
            many = f"{axis} has {n:,} different numbers, which are as many groups."
            yield Advice(
                f"{many} For intervals: --bins {name}={listed} (in Python: bins={{{name!r}: {edges}}}).",
                site=f"{many} Ask for intervals in the demographic question, such as ages from 18 to 29.",
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
    rename: Renames | None = None,
    kind: str | None = None,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    annotators: str | os.PathLike[str] | None = None,
) -> Validation:
    """List all problems of a table of ratings.

    Parameters
    ----------
    source
        One file or table, as for `read_ratings`.
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
        renamer = SourceRenamer(rename or {})
        loaded = loaded._replace(frame=renamer.rename(loaded.frame)[0])
        renamer.require_all()
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
