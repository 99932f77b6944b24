"""Kinds of ratings files: detection, reading and writing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.kinds import dices, lewidi, long, pyrit, wide
from dissensus.files.raw.content import EXTENSIONS
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.questionnaire.shipped import published_questionnaires
from dissensus.schema.ratings import columns as names

Content = pl.DataFrame | lewidi.Entries
Notes = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFileOptions:
    """Options about the columns of a ratings file; None if not given."""

    item: str | None = None
    rater: str | None = None
    answer: str | None = None
    rater_attributes: tuple[str, ...] | None = None
    question: str | None = None
    rater_columns: str | None = None
    item_columns: str | None = None
    annotators: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFileKind:
    """Detection, reader and writer of one kind of ratings file."""

    detect: Callable[[Content, RatingsFileOptions], bool]
    read: Callable[[Content, RatingsFileOptions], tuple[pl.DataFrame, Notes]]
    write: Callable[[pl.DataFrame, RatingsFileOptions], tuple[Content, Notes]]
    read_options: frozenset[str] = frozenset()  # names of the options that reading takes
    write_options: frozenset[str] = frozenset()  # names of the options that writing takes
    extensions: tuple[str, ...] = tuple(EXTENSIONS)
    stem: str | None = None  # alternative name of its files, without extension


def get_kind(name: str) -> RatingsFileKind:
    """Return the kind that has a name."""
    if name not in KINDS:
        raise NotFound(f"There is no kind {name!r}; there are {format_list(list(KINDS))}.{suggest(name, list(KINDS))}")
    return KINDS[name]


def detect_kind(content: Content, options: RatingsFileOptions) -> str:
    """Detect the kind of content."""
    return next(name for name, kind in KINDS.items() if kind.detect(content, options))


def kind_from_name(stem: str) -> str:
    """Return the kind for a file name without extension; long by default."""
    return next((name for name, kind in KINDS.items() if stem == kind.stem or stem.endswith(f".{name}")), "long")


def _table(content: Content) -> pl.DataFrame:
    if not isinstance(content, pl.DataFrame):
        raise InvalidInput("it is a JSON object with one entry per item, as in LeWiDi. Read it as lewidi.")
    return content


def _entries(content: Content) -> lewidi.Entries:
    if isinstance(content, pl.DataFrame):
        raise InvalidInput('it is not a LeWiDi file: that is one JSON object like {"1": {"annotations": {…}, …}, …}.')
    return content


def _is_long(content: Content, options: RatingsFileOptions) -> bool:
    item, rater = options.item or names.ITEM_ID, options.rater or names.RATER_ID
    if not isinstance(content, pl.DataFrame) or item not in content.columns:
        return False
    if rater in content.columns:
        return True
    answers = options.answer in content.columns or any(names.is_question(name) for name in content.columns)
    # Without rater ids a long table repeats items; a wide one does not.
    return (
        answers
        and options.rater_columns is None
        and options.item_columns is None
        and bool(content[item].is_duplicated().any())
    )


def _read_table(content: Content, options: RatingsFileOptions) -> tuple[pl.DataFrame, Notes]:
    frame = long.read(
        _table(content),
        item=options.item,
        rater=options.rater,
        answer=options.answer,
        question=options.question,
        rater_attributes=options.rater_attributes or (),
    )
    return frame, ()


def _read_wide(content: Content, options: RatingsFileOptions) -> tuple[pl.DataFrame, Notes]:
    table, rater_columns = _table(content), options.rater_columns
    if pyrit.is_multi_score(table) and options.item is None and options.item_columns is None:
        table, rater_columns = pyrit.number_items(table), rater_columns or pyrit.RATER_COLUMNS
    return wide.read(
        table,
        rater_columns=rater_columns,
        item_columns=options.item_columns,
        item=options.item,
        rater=options.rater,
        question=options.question,
    )


def _read_lewidi(content: Content, options: RatingsFileOptions) -> tuple[pl.DataFrame, Notes]:
    table, notes = lewidi.read(_entries(content), annotators=options.annotators, question=options.question)
    return long.normalise(table), notes


def _official(name: str) -> RatingsFileKind:
    return RatingsFileKind(
        detect=lambda content, _: isinstance(content, pl.DataFrame) and dices.is_official(content, name),
        read=lambda content, _: (dices.read(_table(content), name), ()),
        write=lambda table, _: dices.write(table, name),
        extensions=(".csv", ".csv.gz"),
        stem=f"diverse_safety_adversarial_dialog_{name.removeprefix('dices-')}",
    )


KINDS: Final[Mapping[str, RatingsFileKind]] = {
    **{name: _official(name) for name in published_questionnaires()},
    "lewidi": RatingsFileKind(
        detect=lambda content, _: not isinstance(content, pl.DataFrame),
        read=_read_lewidi,
        write=lambda table, options: lewidi.write(table, question=options.question),
        read_options=frozenset({"question", "annotators"}),
        write_options=frozenset({"question"}),
        extensions=(".json", ".json.gz"),
    ),
    "long": RatingsFileKind(
        detect=_is_long,
        read=_read_table,
        write=lambda table, _: (long.check_ids(table), ()),
        read_options=frozenset({"item", "rater", "answer", "rater_attributes"}),
    ),
    # The fallback: its reader raises for content that is not wide either.
    "wide": RatingsFileKind(
        detect=lambda *_: True,
        read=_read_wide,
        write=lambda table, options: wide.write(table, question=options.question, rater_columns=options.rater_columns),
        read_options=frozenset({"item", "rater", "question", "rater_columns", "item_columns"}),
        write_options=frozenset({"question", "rater_columns"}),
    ),
}
"""Kinds in the order of detection."""
