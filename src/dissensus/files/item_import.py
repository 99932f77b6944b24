"""Import of items from a table: column roles and refused rows."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import polars as pl

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.catalogue import identify_dataset
from dissensus.files.conversations import find_id_column, to_message_text
from dissensus.files.items import Items, add_source
from dissensus.files.raw.table_reader import name_source, read_frame
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings.columns import ITEM_ID, RATER_ID, is_item_attribute
from dissensus.schema.ratings.renames import Renames, rename_table, require_renames
from dissensus.schema.records.image import IMAGE, IMAGE_ALT
from dissensus.schema.records.item import Item
from dissensus.schema.records.source_notice import SOURCE

ColumnRole: TypeAlias = Literal[
    "id",
    "messages",
    "transcript",
    "context",
    "response",
    "response_a",
    "response_b",
    "prompt",
    "chosen",
    "rejected",
    "harm_type",
    "image",
    "image_alt",
    "attribute",
    "ignore",
]
ROLES: Final[tuple[ColumnRole, ...]] = get_args(ColumnRole)

MAX_REFUSED: Final = 200
"""Refused rows after which reading stops."""

CHUNK_ROWS: Final = 64
"""Rows that are read together while refused ones are searched for."""

N_SAMPLES: Final = 3
SAMPLE_LENGTH: Final = 80

_SHARED: Final = ("attribute", "ignore")
"""Roles of any number of columns."""

_CANONICAL: Final[Mapping[str, str]] = {
    **{role: role for role in ROLES if role not in _SHARED},
    "id": ITEM_ID,
    "image": IMAGE,
    "image_alt": IMAGE_ALT,
}
"""Column that readers know, by role."""

_RESERVED: Final = ("turns", *_CANONICAL.values())
"""Columns that cannot be attributes: readers take them for a part of the conversation, or for the id."""

_BY_NAME: Final[Mapping[str, ColumnRole]] = {_CANONICAL[role]: role for role in ROLES if role not in _SHARED}

_SYNONYMS: Final[Mapping[str, ColumnRole]] = {
    **dict.fromkeys(("turns", "conversation", "conversations", "dialogue", "dialog", "chat"), "messages"),
    **dict.fromkeys(("prompt", "question", "query", "input", "instruction", "user"), "context"),
    **dict.fromkeys(("answer", "output", "completion", "reply", "assistant", "model_output"), "response"),
    **dict.fromkeys(("uid", "uuid", "example_id", "conversation_id", "prompt_id"), "id"),
    **dict.fromkeys(("response_1", "answer_a", "output_a", "model_a"), "response_a"),
    **dict.fromkeys(("image", "image_file"), "image"),
    **dict.fromkeys(("image_alt", "alt_text", "alternative_text"), "image_alt"),
    **dict.fromkeys(("response_2", "answer_b", "output_b", "model_b"), "response_b"),
}
"""Roles that are proposed for columns which readers do not know, by name in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemColumn:
    """A column of a table of items."""

    name: str
    role: ColumnRole
    samples: tuple[str, ...]  # First distinct values, shortened


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that is not a valid item."""

    number: int
    item_id: str | None  # None in a table without ids
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemImport:
    """Items of a table and the rows that are refused."""

    items: Items
    refused: tuple[RefusedRow, ...]
    is_complete: bool  # False if reading stopped after `MAX_REFUSED` rows


def read_renamed_items(path: Path, reader: Callable[[Any], Items], renames: Renames) -> Items:
    """Read the items of a file whose columns or values have other names."""
    if not renames:
        return reader(path)
    frame = read_frame(path)
    with name_source(path):
        table, used = rename_table(frame, renames)
        require_renames(renames, used, frame.columns)
        return add_source(reader(table), path)


def read_text_table(path: Path) -> pl.DataFrame:
    """Read a table with all cells as text, and add the public data set of the file unless a column names it.

    Lists of messages become JSON.
    """
    table, dataset = to_text_table(read_frame(path)), identify_dataset(path)
    if dataset is None or SOURCE in table.columns:
        return table
    return table.with_columns(pl.lit(dataset).alias(SOURCE))


def to_text_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with all cells as text, lists of messages as JSON."""
    return pl.DataFrame([to_message_text(column) for column in frame])


def guess_roles(columns: Sequence[str]) -> tuple[ColumnRole, ...]:
    """Return the roles of columns by their names: those that readers know, then the likely ones of other names.

    Examples
    --------
    >>> guess_roles(["id", "messages", "harm_type", "note"])
    ('id', 'messages', 'harm_type', 'attribute')
    >>> guess_roles(["Question", "Answer", "source"])
    ('context', 'response', 'attribute')
    >>> guess_roles(["item_id", "rater_id", "context", "response", "Q_overall"])
    ('id', 'ignore', 'context', 'response', 'ignore')
    """
    known = {name: _BY_NAME[name] for name in columns if name in _BY_NAME}
    id_column = find_id_column(columns)
    if id_column is not None:
        known[id_column] = "id"
    if "prompt" in known and "chosen" not in known:
        del known["prompt"]
    if "turns" in columns:  # readers prefer it to other columns
        known = {name: role for name, role in known.items() if role != "messages"} | {"turns": "messages"}
    unassigned = set(ROLES) - set(known.values())
    roles: list[ColumnRole] = []
    for name in columns:
        role = known.get(name) or _likely_role(name, unassigned)
        if role is None:
            described = RATER_ID not in columns or is_item_attribute(name)
            role = "attribute" if name.strip() and described and name not in _RESERVED else "ignore"
        elif name not in known:
            unassigned.discard(role)
        roles.append(role)
    return tuple(roles)


def _likely_role(name: str, unassigned: set[ColumnRole]) -> ColumnRole | None:
    """Return a role that no column has yet; conversations are proposed only where readers would find none."""
    key = name.strip().casefold().replace(" ", "_").replace("-", "_")
    role = _SYNONYMS.get(key) or _BY_NAME.get(key)
    if role is None or role not in unassigned:
        return None
    complete = {"messages", "transcript", "chosen"} - unassigned
    return None if complete and role not in ("id", "harm_type", "image", "image_alt") else role


def describe_columns(table: pl.DataFrame, roles: Sequence[ColumnRole]) -> tuple[ItemColumn, ...]:
    """Return the columns of a table with the first of their values."""
    return tuple(
        ItemColumn(name=column.name, role=role, samples=tuple(_samples(column)))
        for column, role in zip(table, roles, strict=True)
    )


def _samples(column: pl.Series) -> Iterator[str]:
    filled = column.drop_nulls()
    for text in filled.unique(maintain_order=True).head(N_SAMPLES).to_list():
        yield text if len(text) <= SAMPLE_LENGTH else f"{text[: SAMPLE_LENGTH - 1]}…"


def assign_roles(table: pl.DataFrame, roles: Sequence[ColumnRole]) -> pl.DataFrame:
    """Return a table whose columns have the names that readers know, without those that are ignored.

    Examples
    --------
    >>> table = pl.DataFrame({"q": ["Hi"], "a": ["Yes?"], "n": ["1"]})
    >>> assign_roles(table, ["context", "response", "ignore"]).columns
    ['context', 'response']
    """
    names: dict[str, str] = {}
    for name, role in zip(table.columns, roles, strict=True):
        if role != "ignore":
            new = _CANONICAL.get(role, name)
            if new in names.values():
                first = next(old for old, other in names.items() if other == new)
                raise InvalidInput(
                    f"{format_value(first)} and {format_value(name)} would both be the column {new}. Choose another "
                    "meaning for one of them, or leave it out."
                )
            names[name] = new
    wrong = [name for name in names if name in _RESERVED and roles[table.columns.index(name)] == "attribute"]
    if wrong:
        raise InvalidInput(
            f"{format_list(wrong)} cannot be an attribute: the name stands for a part of the conversation, or the id. "
            "Choose its meaning, or leave it out."
        )
    return table.select(list(names)).rename(names)


def import_items(table: pl.DataFrame, reader: Callable[[Any], Items]) -> ItemImport:
    """Import the rows of a table that are valid items, and give the reason for which each other row is refused.

    The reader reads all rows of a table, or raises.
    """
    search = _RowSearch(table, reader)
    search.run()
    refused = tuple(search.refused[row] for row in sorted(search.refused))
    readable = table.filter(~pl.Series(range(table.height)).is_in(list(search.refused)))
    items = Items(()) if readable.is_empty() or search.is_full else reader(readable)
    return ItemImport(items=items, refused=refused, is_complete=not search.is_full)


class _RowSearch:
    """Search for the rows that a reader refuses, in chunks and then by halves."""

    def __init__(self, table: pl.DataFrame, reader: Callable[[Any], Items]) -> None:
        self.table, self.reader = table, reader
        self.refused: dict[int, RefusedRow] = {}

    @property
    def is_full(self) -> bool:
        """True if too many rows are refused."""
        return len(self.refused) >= MAX_REFUSED

    def run(self) -> None:
        """Find the refused rows, none if all can be read together."""
        if self._try_reading(0, self.table.height) is not None:
            return
        items: dict[str, Item] = {}
        for start in range(0, self.table.height, CHUNK_ROWS):
            length = min(CHUNK_ROWS, self.table.height - start)
            self._merge(items, self._read(start, length), start, length)
            if self.is_full:
                return

    def _try_reading(self, start: int, length: int) -> dict[str, Item] | None:
        """Return items by id; None if a row is refused, which is recorded if there is one row."""
        try:
            return {item.item_id: item for item in self.reader(self.table.slice(start, length)).items}
        except NotFound:
            raise
        except DissensusError as error:
            if length == 1:
                self._refuse(start, re.sub(r"^Row 1: ", "", str(error)))
            return None

    def _read(self, start: int, length: int) -> dict[str, Item]:
        items = self._try_reading(start, length)
        if items is not None or length == 1 or self.is_full:
            return items or {}
        half = length // 2
        items = self._read(start, half)
        self._merge(items, self._read(start + half, length - half), start + half, length - half)
        return items

    def _merge(self, items: dict[str, Item], others: Mapping[str, Item], start: int, length: int) -> None:
        """Add the items of later rows; refuse the rows whose id has another item already."""
        differing = [name for name, item in others.items() if items.get(name, item) != item]
        if differing and ITEM_ID in self.table.columns:
            for row in self.table[ITEM_ID].slice(start, length).is_in(differing).arg_true().to_list():
                self._refuse(start + row, "An earlier row has another conversation or attributes and this id.")
        items.update({name: item for name, item in others.items() if name not in items})

    def _refuse(self, row: int, reason: str) -> None:
        if row not in self.refused and not self.is_full:
            name = self.table[ITEM_ID][row] if ITEM_ID in self.table.columns else None
            self.refused[row] = RefusedRow(row + 1, name, reason)
