"""Reader of campaign items from files, tables and pasted text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.files import conversations
from dissensus.files.catalogue import identify_dataset
from dissensus.files.conversations import PAIR, ParsedConversation
from dissensus.files.raw import content, limits
from dissensus.files.raw.json_decoder import max_row_size
from dissensus.files.raw.table_reader import is_path, name_source, to_plain_frame
from dissensus.schema.hints import count_noun, count_rest, format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.findings import FailedCheck, raise_failed_check
from dissensus.schema.records.item import Item
from dissensus.schema.records.source_notice import SOURCE
from dissensus.text.messages import Chat
from dissensus.text.pasted import TURN_HINT, parse_pasted, split_transcripts
from dissensus.text.speakers import find_unknown_speakers

Pairs = Literal["both", "chosen", "rejected"]

PASTED: Final = (".txt", ".md")
"""Extensions of pasted text files."""

INSTRUCTIONS: Final = "item_instructions"
"""Attribute with the system prompt; hidden from raters."""

SIDE: Final = "item_side"
"""Attribute: chosen or rejected conversation of the pair."""

PAIR_ID: Final = "item_pair"
"""Attribute with the id or row of the pair."""

_ATTEMPT_KEYS: Final = frozenset({"transcript", "task_description", "red_team_member_id"})
"""Keys by which published red-team attempts are recognised."""

ID_LENGTH: Final = 16
"""Digits of an id that is derived from the conversation."""


class Items(NamedTuple):
    """Items in file order, and notes about reading them."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


class _Rows(NamedTuple):
    """Rows of a table."""

    conversations: list[ParsedConversation]
    indices: pl.Series  # index of the conversation of each row
    ids: pl.Series | None
    attributes: pl.DataFrame


def read_items(source: Any, *, item: str | None = None, pairs: Pairs = "both") -> Items:
    r"""Read the items of a campaign.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table. Its columns are ``turns`` or ``messages`` (lists of
        chat messages, in text files as JSON), ``transcript`` (as in hh-rlhf, or pasted), ``chosen`` and
        ``rejected`` (two transcripts, or with a ``prompt`` the turns after it), or ``context`` and
        ``response``, as in DICES, the context also as a list of messages; a table of ratings has several rows
        per item. Files that end in .txt or .md are read by `parse_pasted_items`.
    item
        Column with the ids; default ``item_id``, or ``id`` without raters. Without ids they are made from the
        turns, so that the same turns have the same id in every file.
    pairs
        Sides of each pair that become items.

    Returns
    -------
    Items
        Items and notes. All other columns become attributes, as unchanged text; in a table of ratings only those that
        describe items. Items of a file that `dissensus fetch` downloaded have its data set as ``item_source``.

    Raises
    ------
    DissensusError
        The file cannot be read or holds no conversations, a conversation does not end with the bot, or two
        conversations have one id. The message names the row.

    Notes
    -----
    Red-team attempts as published have no ids: each has the number of its record, so that reviews lead back to it, and
    ``task_description`` as ``item_intent``, which reviewers see.

    Rows with the same id and the same conversation are one item. If the file has ids, their attributes must be equal
    too; if ids are made, the first row counts and a note says so.

    Examples
    --------
    >>> table = pl.DataFrame({
    ...     "item_id": ["7"], "context": ["USER: Is it safe?"], "response": ["Yes."], "harm_type": ["Health"],
    ... })
    >>> (item,), notes = read_items(table)
    >>> item.item_id, item.conversation.rated_turn.text, dict(item.attributes)
    ('7', 'Yes.', {'harm_type': 'Health'})
    """
    if pairs not in get_args(Pairs):
        raise InvalidInput(f"pairs is {format_value(pairs)}; choose one of {', '.join(get_args(Pairs))}.")
    if is_path(source) and Path(source).suffix.lower() in PASTED:
        text = _read_pasted(Path(source))
        with name_source(source):
            return parse_pasted_items(text)
    frame = to_plain_frame(source)
    with name_source(source):
        return add_source(_from_table(frame, item, pairs), source)


def add_source(items: Items, source: Any) -> Items:
    """Add the public data set of a file to its items, unless a column names one."""
    dataset = identify_dataset(Path(source)) if is_path(source) else None
    if dataset is None:
        return items
    return items._replace(
        items=tuple(replace(one, attributes={SOURCE: dataset, **one.attributes}) for one in items.items)
    )


def parse_pasted_items(text: str) -> Items:
    r"""Parse pasted text as items, divided by lines of ``---``; errors name the line.

    Examples
    --------
    >>> items, notes = parse_pasted_items("User: Hi\nBot: Hello!\n---\nUser: Hi\nBot: Go away.")
    >>> [item.conversation.rated_turn.text for item in items]
    ['Hello!', 'Go away.']
    """
    parsed: list[ParsedConversation] = []
    for line, piece in split_transcripts(text):
        limits.check_rows(len(parsed) + 1, Path("The text"))
        parsed.append(_parse_piece(line, piece))
    if not parsed:
        raise InvalidInput(f"There is no text. {TURN_HINT}")
    return _assemble(_Rows(parsed, pl.Series(range(len(parsed))), None, pl.DataFrame()))


def _read_pasted(path: Path) -> str:
    try:
        exists = path.is_file()
    except OSError:  # unreadable folder, or name too long
        exists = False
    if not exists:
        raise NotFound(f"There is no text file {format_value(path)}.")
    return content.decode_utf8(content.read_content(path), path)


def _parse_piece(line: int, piece: str) -> ParsedConversation:
    if len(piece) > limits.max_row():
        raise InvalidInput(f"Line {line:,} and those after it: a conversation longer than {max_row_size()}.")
    turns = parse_pasted(piece, first_line=line)
    unknown = find_unknown_speakers(text for _, text in turns)
    try:
        return ParsedConversation(conversations.to_rateable(Chat(turns)), unknown_speakers=unknown)
    except InvalidInput as error:
        hint = f" {TURN_HINT}" if turns[-1][0] == "human" else ""  # the bot may have an unknown speaker name
        raise InvalidInput(f"Line {line:,} and those after it: {error}{hint}") from None


def _from_table(frame: pl.DataFrame, item: str | None, pairs: Pairs) -> Items:
    if frame.is_empty():
        raise InvalidInput("The table has no rows.")
    frame = _name_attempts(frame)
    columns = conversations.find_conversation_columns(frame.columns)
    if item is not None:
        require_column(item, frame.columns, "item")
    id_column = item or conversations.find_id_column(frame.columns)
    ids = None if id_column is None else cells.read_ids(frame[id_column], raise_failed_check)
    used = (
        *columns,
        *(conversations.find_prompt_column(frame.columns) if columns == PAIR else ()),
        id_column,
    )
    described = [name for name in frame.columns if name not in used]
    item_columns = [name for name in described if name.strip()]
    if names.RATER_ID in frame.columns:
        item_columns = [name for name in described if names.is_item_attribute(name)]
    left_out = [name for name in described if name not in item_columns]
    attributes = pl.DataFrame([conversations.to_text_column(frame[name]) for name in item_columns])
    if columns == PAIR:
        rows, notes = _read_pair_sides(frame, ids, attributes, pairs)
    else:
        parsed, indices = conversations.read_conversations(frame.select(columns))
        rows, notes = _Rows(parsed, indices, ids, attributes), ()
    items = _assemble(rows, repeated=names.RATER_ID in frame.columns)
    if left_out:
        notes = (f"Left out, because they do not describe items: {format_list(left_out, 50)}.", *notes)
    return items._replace(notes=(*notes, *items.notes))


def _name_attempts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return published red-team attempts with the number of their record as id, and their plan as intent."""
    if not set(frame.columns) >= _ATTEMPT_KEYS or {names.ITEM_ID, "id", names.INTENT} & set(frame.columns):
        return frame
    numbers = pl.int_range(1, pl.len() + 1).cast(pl.String).alias(names.ITEM_ID)
    return frame.rename({"task_description": names.INTENT}).with_columns(numbers)


def _read_pair_sides(
    frame: pl.DataFrame, ids: pl.Series | None, attributes: pl.DataFrame, pairs: Pairs
) -> tuple[_Rows, tuple[str, ...]]:
    """Return the rows of one side of pairs, or of both, concatenated."""
    sides = PAIR if pairs == "both" else (pairs,)
    pair_ids = pl.Series(range(1, frame.height + 1)).cast(pl.String) if ids is None else ids
    parsed: list[ParsedConversation] = []
    indices, named_ids, tables = [], [], []
    for side in sides:
        column = conversations.read_conversations(frame.select(*conversations.find_prompt_column(frame.columns), side))
        indices.append(column.indices.cast(pl.Int64) + len(parsed))
        parsed += column.conversations
        named_ids.append(pair_ids + f"-{side}" if pairs == "both" else pair_ids)
        added = {SIDE: pl.repeat(side, frame.height, eager=True)} | ({PAIR_ID: pair_ids} if pairs == "both" else {})
        tables.append(_add_attributes(attributes, added))
    left_out = (f"The other conversation of {count_noun(frame.height, 'pair')} left out.",) * (pairs != "both")
    all_ids = None if ids is None else pl.concat(named_ids)
    return _Rows(parsed, pl.concat(indices), all_ids, pl.concat(tables)), left_out


def _add_attributes(attributes: pl.DataFrame, added: dict[str, pl.Series]) -> pl.DataFrame:
    """Return attributes with added ones; raise if a name exists."""
    clash = next((name for name in added if name in attributes.columns), None)
    if clash is not None:
        raise InvalidInput(f"Reading adds an attribute {clash!r}, and a column has that name already. Rename it.")
    return pl.DataFrame([*attributes, *(values.alias(name) for name, values in added.items())])


def _assemble(rows: _Rows, *, repeated: bool = False) -> Items:
    """Return one item per id; no note counts duplicates if `repeated` rows are expected."""
    digests = pl.Series([parsed.conversation.digest for parsed in rows.conversations], dtype=pl.String).gather(
        rows.indices
    )
    ids = digests.str.head(ID_LENGTH) if rows.ids is None else rows.ids
    first = pl.DataFrame({"id": ids}).select(pl.col("id").is_first_distinct()).to_series().arg_true()
    owners = ids.gather(first)
    codes = ids.cast(pl.Enum(owners)).to_physical().cast(pl.Int64).to_numpy()
    _check_same(ids, digests, first, codes)
    table, conflicts = _read_attributes(rows, codes, owners)
    parsed = [rows.conversations[index] for index in rows.indices.gather(first)]
    filled = ({name: text for name, text in row.items() if text is not None} for row in table.iter_rows(named=True))
    attributes_of_items = filled if table.width else ({} for _ in parsed)
    items = tuple(
        Item(item_id, row.conversation, attributes)
        for item_id, row, attributes in zip(owners, parsed, attributes_of_items, strict=True)
    )
    merged = 0 if repeated else len(ids) - len(owners)
    return Items(items, tuple(_notes(items, parsed, merged=merged, ids_made=rows.ids is None, conflicts=conflicts)))


def _check_same(ids: pl.Series, digests: pl.Series, first: pl.Series, codes: NDArray[np.int64]) -> None:
    """Raise if an id has two conversations."""
    conflicts = (digests != digests.gather(first).gather(codes)).arg_true()
    if len(conflicts):
        row = int(conflicts[0])
        raise InvalidInput(
            f"Item {format_value(ids[row])} has two conversations: one in row {first[int(codes[row])] + 1:,} and "
            f"another in row {row + 1:,}. Each item has one: give the other a different id."
            f"{count_rest(len(conflicts) - 1, 'such row')}"
        )


def _read_attributes(
    rows: _Rows, codes: NDArray[np.int64], owners: pl.Series
) -> tuple[pl.DataFrame, list[FailedCheck]]:
    """Return the attributes of each item, and conflicting ones; raise for conflicts if the file has ids."""
    conflicts: list[FailedCheck] = []
    attributes = rows.attributes
    instructions = pl.Series([parsed.instructions for parsed in rows.conversations], dtype=pl.String)
    if instructions.is_not_null().any():
        attributes = _add_attributes(attributes, {INSTRUCTIONS: instructions.gather(rows.indices)})
    report = conflicts.append if rows.ids is None else raise_failed_check
    return pl.DataFrame(
        [cells.read_attribute(column, codes, owners, "item", report) for column in attributes]
    ), conflicts


def _notes(
    items: tuple[Item, ...],
    parsed: list[ParsedConversation],
    *,
    merged: int,
    ids_made: bool,
    conflicts: list[FailedCheck],
) -> Iterable[str]:
    """Yield notes about duplicates, conflicts, made ids and empty turns."""
    if merged:
        yield f"{count_noun(merged, 'conversation')} left out: each repeats an earlier one."
    for finding in conflicts:
        count = count_noun(len(finding), "value")
        yield f"{finding.column} differs among rows of one conversation; {count} left out."
    if ids_made:
        yield f"There are no ids, so each item has the first {ID_LENGTH} digits of SHA-256 of its turns."
    empty = [item.item_id for item in items if item.conversation.empty_turns]
    if empty:
        yield f"A turn is empty in {count_noun(len(empty), 'item')}: {format_list(empty, 5)}."
    yield from conversations.describe_unknown_speakers(parsed)
    plain = sum(conversation.plain for conversation in parsed)
    if plain:
        yield f"{count_noun(plain, 'context')} without speakers: each is read as one human turn."
    if any(conversation.instructions is not None for conversation in parsed):
        yield f"Instructions of the bot are hidden from raters: they are kept as {INSTRUCTIONS}."
    twins = sum(count - 1 for count in Counter(item.conversation for item in items).values())
    if twins:
        yield f"{count_noun(twins, 'item')} with the same conversation as an earlier one, under another id."
