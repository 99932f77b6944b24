"""Reader of campaign items from files, tables and pasted text."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.files import conversations
from dissensus.files.conversations import PAIR, ParsedConversation
from dissensus.files.raw import content
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.schema.hints import count_rest, format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.findings import FailedCheck, raise_failed_check
from dissensus.schema.records.item import Item
from dissensus.text.messages import Chat
from dissensus.text.pasted import UNDERSTOOD, divided, parse_pasted

Pairs = Literal["both", "chosen", "rejected"]

PASTED: Final = (".txt", ".md")
"""How names of files end that hold pasted text."""

INSTRUCTIONS: Final = "item_instructions"
"""Attribute with what a chatbot was told before the conversation, which raters do not see."""

SIDE: Final = "item_side"
"""Attribute that tells whether an item is the chosen or the rejected conversation of its pair."""

PAIR_ID: Final = "item_pair"
"""Attribute that two items of one pair share: the id of the pair, or its row."""

ID_LENGTH: Final = 16
"""Digits of an id that is made from the conversation."""


class Items(NamedTuple):
    """Items in the order of their file, and what the reader should know about how they were read."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


class _Rows(NamedTuple):
    """Rows of a table: the conversation of each, its id if it has one, and its attributes."""

    held: list[ParsedConversation]
    which: pl.Series
    ids: pl.Series | None
    attributes: pl.DataFrame


def read_items(source: Any, *, item: str | None = None, pairs: Pairs = "both") -> Items:
    r"""Read the items of a campaign.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table. Its columns tell what it holds: ``turns`` or ``messages``
        (lists of chat messages, in text files as JSON), ``transcript`` (as hh-rlhf has it, or as people paste it),
        ``chosen`` and ``rejected`` (two transcripts, or with a ``prompt`` what comes after it), or ``context`` and
        ``response``, as in DICES; a table of ratings has its items in several rows. A file that ends in .txt or .md is
        read by `parse_pasted_items`.
    item
        Column with the ids, if it is not called ``item_id``. Without it ids are made from the conversations, so that
        they are the same wherever the same turns come from.
    pairs
        What of each pair becomes an item.

    Returns
    -------
    Items
        Items and notes. All other columns are attributes, as text, in which nothing is changed; of a table of ratings
        those that describe items.

    Raises
    ------
    DissensusError
        The file cannot be read, holds no conversations, or one that no turn of a bot ends; or two conversations have
        one id. The message has the row.

    Notes
    -----
    Rows that have the same id and the same conversation are one item. Where ids are given, its attributes must be the
    same too; where they are made, the first row counts and a note tells.

    Examples
    --------
    >>> table = pl.DataFrame({
    ...     "item_id": ["7"], "context": ["USER: Is it safe?"], "response": ["Yes."], "harm_type": ["Health"],
    ... })
    >>> (item,), notes = read_items(table)
    >>> item.item_id, item.conversation.rated.text, dict(item.attributes)
    ('7', 'Yes.', {'harm_type': 'Health'})
    """
    if pairs not in get_args(Pairs):
        raise InvalidInput(f"pairs is {format_value(pairs)}; choose one of {', '.join(get_args(Pairs))}.")
    if is_path(source) and Path(source).suffix.lower() in PASTED:
        text = _pasted(Path(source))
        with name_source(source):
            return parse_pasted_items(text)
    frame = to_frame(source)
    with name_source(source):
        return _from_table(frame, item, pairs)


def parse_pasted_items(text: str) -> Items:
    r"""Parse pasted text as items, divided by lines of ``---``; an error names the line.

    Examples
    --------
    >>> items, notes = parse_pasted_items("User: Hi\nBot: Hello!\n---\nUser: Hi\nBot: Go away.")
    >>> [item.conversation.rated.text for item in items]
    ['Hello!', 'Go away.']
    """
    held = [_piece(line, piece) for line, piece in divided(text)]
    if not held:
        raise InvalidInput(f"There is no text. {UNDERSTOOD}")
    return _assemble(_Rows(held, pl.Series(range(len(held))), None, pl.DataFrame()))


def _pasted(path: Path) -> str:
    try:
        there = path.is_file()
    except OSError:  # a folder that may not be looked into, a name that is too long
        there = False
    if not there:
        raise NotFound(f"There is no text file {format_value(path)}.")
    return content.decode_utf8(content.read_content(path), path)


def _piece(line: int, piece: str) -> ParsedConversation:
    turns = parse_pasted(piece, first_line=line)
    try:
        return ParsedConversation(conversations.to_rateable(Chat(turns)))
    except InvalidInput as error:
        unseen = f" {UNDERSTOOD}" * (turns[-1][0] == "human")  # the answer may be there, by a name that is not known
        raise InvalidInput(f"Line {line:,} and those after it: {error}{unseen}") from None


def _from_table(frame: pl.DataFrame, item: str | None, pairs: Pairs) -> Items:
    if frame.is_empty():
        raise InvalidInput("The table has no rows.")
    columns = conversations.find_conversation_columns(frame.columns)
    ids = _ids(frame, item)
    used = (
        *columns,
        *(conversations.find_prompt_column(frame.columns) if columns == PAIR else ()),
        item or names.ITEM_ID,
    )
    described = [name for name in frame.columns if name not in used]
    of_items = [name for name in described if name.strip()]
    if names.RATER_ID in frame.columns:
        of_items = [name for name in described if names.is_item_attribute(name)]
    left_out = [name for name in described if name not in of_items]
    attributes = pl.DataFrame([conversations.to_text_column(frame[name]) for name in of_items])
    note = f"Left out, because they do not describe items: {format_list(left_out, 50)}."
    if columns == PAIR:
        rows, notes = _sides(frame, ids, attributes, pairs)
    else:
        held, which = conversations.read_conversations(frame.select(columns))
        rows, notes = _Rows(held, which, ids, attributes), ()
    found = _assemble(rows, repeated=names.RATER_ID in frame.columns)
    return found._replace(notes=(*(note,) * bool(left_out), *notes, *found.notes))


def _ids(frame: pl.DataFrame, item: str | None) -> pl.Series | None:
    if item is not None:
        require_column(item, frame.columns, "item")
    name = item or names.ITEM_ID
    return cells.read_ids(frame[name], raise_failed_check) if name in frame.columns else None


def _sides(
    frame: pl.DataFrame, ids: pl.Series | None, attributes: pl.DataFrame, pairs: Pairs
) -> tuple[_Rows, tuple[str, ...]]:
    """Return the rows of one side of pairs, or those of both, one side after the other."""
    wanted = PAIR if pairs == "both" else (pairs,)
    number = pl.Series(range(1, frame.height + 1)).cast(pl.String) if ids is None else ids
    held: list[ParsedConversation] = []
    which, named_ids, tables = [], [], []
    for side in wanted:
        read = conversations.read_conversations(frame.select(*conversations.find_prompt_column(frame.columns), side))
        which.append(read.which.cast(pl.Int64) + len(held))
        held += read.held
        named_ids.append(number + f"-{side}" if pairs == "both" else number)
        added = {SIDE: pl.repeat(side, frame.height, eager=True)} | ({PAIR_ID: number} if pairs == "both" else {})
        tables.append(_add_attributes(attributes, added))
    left_out = (f"The other conversation of {_count(frame.height, 'pair')} left out.",) * (pairs != "both")
    given = None if ids is None else pl.concat(named_ids)
    return _Rows(held, pl.concat(which), given, pl.concat(tables)), left_out


def _add_attributes(attributes: pl.DataFrame, added: dict[str, pl.Series]) -> pl.DataFrame:
    """Return attributes with those that reading adds."""
    clash = next((name for name in added if name in attributes.columns), None)
    if clash is not None:
        raise InvalidInput(f"Reading adds an attribute {clash!r}, and a column has that name already. Rename it.")
    return pl.DataFrame([*attributes, *(values.alias(name) for name, values in added.items())])


def _assemble(rows: _Rows, *, repeated: bool = False) -> Items:
    """Return one item for each id; rows of one item are `repeated` where the table says so by its form."""
    digests = pl.Series([held.conversation.digest for held in rows.held], dtype=pl.String).gather(rows.which)
    ids = digests.str.head(ID_LENGTH) if rows.ids is None else rows.ids
    first = pl.DataFrame({"id": ids}).select(pl.col("id").is_first_distinct()).to_series().arg_true()
    owners = ids.gather(first)
    codes = ids.cast(pl.Enum(owners)).to_physical().cast(pl.Int64).to_numpy()
    _check_same(ids, digests, first, codes)
    table, twofold = _describe(rows, codes, owners)
    held = [rows.held[place] for place in rows.which.gather(first)]
    known = ({name: text for name, text in row.items() if text is not None} for row in table.iter_rows(named=True))
    described = known if table.width else ({} for _ in held)
    items = tuple(
        Item(item_id, one.conversation, attributes)
        for item_id, one, attributes in zip(owners, held, described, strict=True)
    )
    merged = 0 if repeated else len(ids) - len(owners)
    return Items(items, tuple(_notes(items, held, merged=merged, made=rows.ids is None, twofold=twofold)))


def _check_same(ids: pl.Series, digests: pl.Series, first: pl.Series, codes: NDArray[np.int64]) -> None:
    """Make sure that an id has one conversation."""
    differs = (digests != digests.gather(first).gather(codes)).arg_true()
    if len(differs):
        row = int(differs[0])
        raise InvalidInput(
            f"Item {format_value(ids[row])} has two conversations: one in row {first[int(codes[row])] + 1:,} and "
            "another in "
            f"row {row + 1:,}. Each item has one: give the other an id of its "
            f"own.{count_rest(len(differs) - 1, 'such row')}"
        )


def _describe(rows: _Rows, codes: NDArray[np.int64], owners: pl.Series) -> tuple[pl.DataFrame, list[FailedCheck]]:
    """Return the attributes of each item, and where rows of one item differ, which counts only if ids are given."""
    twofold: list[FailedCheck] = []
    attributes = rows.attributes
    told = pl.Series([held.instructions for held in rows.held], dtype=pl.String)
    if told.is_not_null().any():
        attributes = _add_attributes(attributes, {INSTRUCTIONS: told.gather(rows.which)})
    report = twofold.append if rows.ids is None else raise_failed_check
    return pl.DataFrame([cells.read_attribute(column, codes, owners, "item", report) for column in attributes]), twofold


def _notes(
    items: tuple[Item, ...], held: list[ParsedConversation], *, merged: int, made: bool, twofold: list[FailedCheck]
) -> Iterable[str]:
    """Say what is worth knowing of how items were read."""
    if merged:
        yield f"{_count(merged, 'conversation')} left out: each repeats an earlier one."
    for finding in twofold:
        yield f"{finding.column} differs among rows of one conversation; {_count(len(finding), 'value')} left out."
    if made:
        yield f"There are no ids, so each item has the first {ID_LENGTH} digits of SHA-256 of its turns."
    empty = [item.item_id for item in items if item.conversation.empty_turns]
    if empty:
        yield f"A turn says nothing in {_count(len(empty), 'item')}: {format_list(empty, 5)}."
    plain = sum(one.plain for one in held)
    if plain:
        yield f"{_count(plain, 'context')} did not say who speaks: each is one turn of a human."
    if any(one.instructions is not None for one in held):
        yield f"What the bot was told before is no turn, since raters do not see it: it is kept as {INSTRUCTIONS}."
    twins = sum(count - 1 for count in Counter(item.conversation for item in items).values())
    if twins:
        yield f"{_count(twins, 'item')} with the same conversation as an earlier one, under another id."


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count > 1)}"
