"""Kinds of ratings files: detection, reading and writing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.kinds import dices, lewidi, long, wide
from dissensus.files.raw.content import EXTENSIONS
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.questionnaire.shipped import published_questionnaires
from dissensus.schema.ratings import columns as names

Content = pl.DataFrame | lewidi.Entries
Notes = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFileOptions:
    """User options about the columns of a ratings file; None where not given."""

    item: str | None = None
    rater: str | None = None
    answer: str | None = None
    question: str | None = None
    rater_columns: str | None = None
    item_columns: str | None = None
    annotators: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFileKind:
    """Detection, reader and writer of one kind of ratings file."""

    found: Callable[[Content, RatingsFileOptions], bool]
    read: Callable[[Content, RatingsFileOptions], tuple[pl.DataFrame, Notes]]
    write: Callable[[pl.DataFrame, RatingsFileOptions], tuple[Content, Notes]]
    reads: frozenset[str] = frozenset()  # options for reading
    writes: frozenset[str] = frozenset()  # options for writing
    extensions: tuple[str, ...] = tuple(EXTENSIONS)
    stem: str | None = None  # alternative name of its files, without extension


def get_kind(name: str) -> RatingsFileKind:
    """Return the kind that has a name."""
    if name not in KINDS:
        raise NotFound(f"There is no kind {name!r}; there are {format_list(list(KINDS))}.{suggest(name, list(KINDS))}")
    return KINDS[name]


def detect_kind(held: Content, said: RatingsFileOptions) -> str:
    """Detect the kind of content."""
    return next(name for name, kind in KINDS.items() if kind.found(held, said))


def kind_from_name(stem: str) -> str:
    """Return the name of the kind that the name of a file, without its extension, asks for."""
    return next((name for name, kind in KINDS.items() if stem == kind.stem or stem.endswith(f".{name}")), "long")


def _table(held: Content) -> pl.DataFrame:
    if not isinstance(held, pl.DataFrame):
        raise InvalidInput("it is a JSON object with one entry an item, as LeWiDi has them. Read it as lewidi.")
    return held


def _entries(held: Content) -> lewidi.Entries:
    if isinstance(held, pl.DataFrame):
        raise InvalidInput('it is no LeWiDi file: that is one JSON object like {"1": {"annotations": {…}, …}, …}.')
    return held


def _is_long(held: Content, said: RatingsFileOptions) -> bool:
    item, rater = said.item or names.ITEM_ID, said.rater or names.RATER_ID
    if not isinstance(held, pl.DataFrame) or item not in held.columns:
        return False
    if rater in held.columns:
        return True
    answers = said.answer in held.columns or any(names.is_question(name) for name in held.columns)
    # without raters each item has several rows, where a wide table has one
    return (
        answers and said.rater_columns is None and said.item_columns is None and bool(held[item].is_duplicated().any())
    )


def _read_table(held: Content, said: RatingsFileOptions) -> tuple[pl.DataFrame, Notes]:
    frame = long.read(_table(held), item=said.item, rater=said.rater, answer=said.answer, question=said.question)
    return frame, ()


def _read_wide(held: Content, said: RatingsFileOptions) -> tuple[pl.DataFrame, Notes]:
    return wide.read(
        _table(held),
        rater_columns=said.rater_columns,
        item_columns=said.item_columns,
        item=said.item,
        rater=said.rater,
        question=said.question,
    )


def _read_lewidi(held: Content, said: RatingsFileOptions) -> tuple[pl.DataFrame, Notes]:
    table, notes = lewidi.read(_entries(held), annotators=said.annotators, question=said.question)
    return long.normalise(table), notes


def _official(name: str) -> RatingsFileKind:
    return RatingsFileKind(
        found=lambda held, _: isinstance(held, pl.DataFrame) and dices.is_official(held, name),
        read=lambda held, _: (dices.read(_table(held), name), ()),
        write=lambda table, _: dices.write(table, name),
        extensions=(".csv", ".csv.gz"),
        stem=f"diverse_safety_adversarial_dialog_{name.removeprefix('dices-')}",
    )


KINDS: Final[Mapping[str, RatingsFileKind]] = {
    **{name: _official(name) for name in published_questionnaires()},
    "lewidi": RatingsFileKind(
        found=lambda held, _: not isinstance(held, pl.DataFrame),
        read=_read_lewidi,
        write=lambda table, said: lewidi.write(table, question=said.question),
        reads=frozenset({"question", "annotators"}),
        writes=frozenset({"question"}),
        extensions=(".json", ".json.gz"),
    ),
    "long": RatingsFileKind(
        found=_is_long,
        read=_read_table,
        write=lambda table, _: (long.check_ids(table), ()),
        reads=frozenset({"item", "rater", "answer"}),
    ),
    # last, because it is what nothing else is, and says why if it is not that either
    "wide": RatingsFileKind(
        found=lambda *_: True,
        read=_read_wide,
        write=lambda table, said: wide.write(table, question=said.question, rater_columns=said.rater_columns),
        reads=frozenset({"item", "rater", "question", "rater_columns", "item_columns"}),
        writes=frozenset({"question", "rater_columns"}),
    ),
}
"""In the order in which content is tried."""
