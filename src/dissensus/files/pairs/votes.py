"""Reader of individual votes: exported preferences, and the groups of raters."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.conversations import to_text_column
from dissensus.files.pairs.reader import RATER, ReadPairs, group_columns, join_pairs, purpose_from_name, read_pairs
from dissensus.files.raw import content
from dissensus.files.raw.json_stream import stream_records
from dissensus.files.raw.table_reader import name_source, to_frame
from dissensus.preference.data.pairs import Pair, Purpose
from dissensus.preference.data.votes import PURPOSE_OF, People, collect_votes
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import Edit, Pick, Preference

_REQUIRED_KEYS: Final = ("preference_id", "conversation_id", "context", "a", "b", "criterion", "picks")
_DISTINCTIVE_KEYS: Final = {"a", "b", "criterion", "picks"}


def holds_preferences(path: Path) -> bool:
    """Return whether a file holds preferences with the picks of raters, by the keys of its first record."""
    return content.detect_format(path) == "json" and set(next(stream_records(path), {})) >= _DISTINCTIVE_KEYS


def read_preferences(path: Path) -> Iterator[Preference]:
    """Stream the preferences of a campaign export; errors name the record.

    Raises
    ------
    DissensusError
        The file cannot be read, or a record is not a preference; the message has its number.
    """
    for number, record in enumerate(stream_records(path), start=1):
        try:
            yield _preference(record)
        except InvalidInput as error:
            raise InvalidInput(f"{path}, record {number:,}: {error}") from None


def read_people(source: Any) -> People:
    """Read the groups of raters.

    Parameters
    ----------
    source
        Path of a file, or a table, with one row per rater, ``rater_id``, and columns whose names begin with ``rater_``.
        Other columns are ignored; empty values are unknown.

    Returns
    -------
    mapping
        Group of each rater on each axis.

    Raises
    ------
    DissensusError
        The file cannot be read, lacks these columns, or has a rater twice.

    Examples
    --------
    >>> import polars as pl
    >>> read_people(pl.DataFrame({"rater_id": ["ann", "bo"], "rater_age": ["old", None], "paid": [1, 2]}))
    {'ann': {'rater_age': 'old'}, 'bo': {}}
    """
    frame = to_frame(source)
    with name_source(source):
        axes = group_columns(frame)
        if RATER not in frame.columns or not axes:
            missing = RATER if RATER not in frame.columns else "rater_…, such as rater_gender"
            raise NotFound(f"There is no column {missing}. The columns are {format_list(frame.columns)}.")
        people: dict[str, dict[str, str]] = {}
        for row, (rater, *groups) in enumerate(
            zip(*(to_text_column(frame[name]) for name in (RATER, *axes)), strict=True), 1
        ):
            if not rater or rater in people:
                problem = f"{format_value(rater)} appears twice" if rater else "it is empty"
                raise InvalidInput(f"Row {row:,}: rater_id: {problem}. Give one row for each rater.")
            people[rater] = {axis: group for axis, group in zip(axes, groups, strict=True) if group}
    return people


def read_pair_files(
    paths: Sequence[Path], *, purpose: Purpose | None = None, people: People | None = None
) -> ReadPairs:
    """Read and concatenate files of pairs, or of preferences, where each pick is a pair."""
    pairs = join_pairs([_read(path, purpose, people or {}) for path in paths])
    if not people:
        return pairs
    raters = {pair.rater for pair in pairs.pairs} - {None}
    if not raters:
        raise InvalidInput(
            "The pairs name no raters, so that the table of raters cannot be joined. Give pairs with a column "
            "rater_id, or leave the table out."
        )
    unknown = len(raters - set(people))
    if unknown == len(raters):
        raise InvalidInput(
            f"None of {len(raters):,} raters of the pairs is in the table of raters; one of its {len(people):,} is "
            f"{format_value(next(iter(people)))}. Each export has its own ids: give the table of the same export."
        )
    note = f"{unknown:,} of {len(raters):,} raters are not in the table of raters, so their groups are not known."
    return pairs._replace(remarks=(*pairs.remarks, note)) if unknown else pairs


def detect_purpose(path: Path) -> Purpose | None:
    """Return the purpose of pairs, from the question or the file name; None if both or neither."""
    if not holds_preferences(path):
        return purpose_from_name(path)
    purposes = {PURPOSE_OF[preference.criterion] for preference in read_preferences(path)}
    return purposes.pop() if len(purposes) == 1 else None


def _read(path: Path, purpose: Purpose | None, people: People) -> ReadPairs:
    if holds_preferences(path):
        if purpose is None:
            raise InvalidInput(
                f"{path} mixes preferences of helpfulness and of harmlessness. "
                "Give --purpose helpful or --purpose harmless."
            )
        with name_source(path):
            return ReadPairs(*collect_votes(read_preferences(path), people, purpose=purpose))
    pairs = read_pairs(path)
    return pairs._replace(pairs=tuple(_add_groups(pair, people) for pair in pairs.pairs)) if people else pairs


def _add_groups(pair: Pair, people: People) -> Pair:
    return replace(pair, groups=tuple(sorted((dict(pair.groups) | dict(people.get(pair.rater or "", {}))).items())))


def _preference(record: Mapping[str, Any]) -> Preference:
    missing = [name for name in _REQUIRED_KEYS if record.get(name) is None]
    if missing:
        near = suggest(missing[0], [name for name in record if name not in _REQUIRED_KEYS])
        raise InvalidInput(f"{missing[0]} is missing.{near} A preference has {format_list(_REQUIRED_KEYS)}.")
    values: dict[str, Any] = {name: record[name] for name in Preference.__dataclass_fields__ if name in record}
    for name, (build, form) in _TUPLES.items():
        try:
            values[name] = build(record.get(name))
        except TypeError:
            excerpt = format_value(json.dumps(record.get(name), ensure_ascii=False))
            raise InvalidInput(f"{name} is {excerpt}. It is {form}.") from None
    return Preference(**values)


def _build_each(kind: Callable[..., Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda rows: tuple(kind(**row) for row in rows or ())


def _build_two(names: Any) -> tuple[str | None, str | None]:
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str | None) for name in names):
        raise TypeError
    return names[0], names[1]


_TUPLES: Final[Mapping[str, tuple[Callable[[Any], tuple[Any, ...]], str]]] = {
    "context": (_build_each(Turn), "a list of turns with speaker and text"),
    "picks": (_build_each(Pick), "a list of picks with rater_id, side and strength"),
    "edits": (_build_each(Edit), "a list of edits with " + ", ".join(Edit.__dataclass_fields__)),
    "models": (lambda names: _build_two(names or ["", ""]), "the models of a and b, in a list"),
    "ranked_by": (lambda names: _build_two(names or [None, None]), "the rankers of a and b, in a list"),
}
"""Fields with several values: how they are built, and their form."""
