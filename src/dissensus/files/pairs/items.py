"""Reader of campaign items with two responses."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.conversations import (
    PAIR,
    find_id_column,
    find_prompt_column,
    to_message_text,
    to_text_column,
)
from dissensus.files.items import ID_LENGTH, PASTED, Items, add_source, read_items
from dissensus.files.pairs.reader import CONTEXTS, SAME, tranche_from_name
from dissensus.files.pairs.rows import HUMAN, INSTRUCTIONS, PairReadLog, stream_pairs
from dissensus.files.raw import limits
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.preference.data.pairs import EMPTY
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.findings import raise_failed_check
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import SIDES, Side
from dissensus.text.messages import parse_message_list
from dissensus.text.pasted import parse_context
from dissensus.text.turns import Turns

CONTEXT: Final = "context"
RESPONSES: Final = ("response_a", "response_b")
"""Columns of two responses that have not been compared."""

PUBLISHED: Final = "item_published"
"""Attribute with the better response according to the file, ``a`` or ``b``; hidden from raters."""

PHASE: Final = "phase"
CONTRARY: Final = "it repeats an earlier pair and contradicts it"
REPEATED: Final = "it repeats an earlier pair"
LEFT_OUT: Final = (CONTEXTS, HUMAN, SAME, CONTRARY, REPEATED)


def reader_for(campaign: Campaign | None) -> Callable[[Any], Items]:
    """Return the item reader of a campaign: of pairs if raters compare two responses."""
    if campaign is None or campaign.pair is None:
        return read_items
    return partial(read_pair_items, seed=campaign.seed)


class _ResponsePair(NamedTuple):
    """Two responses to one context; in a published pair the chosen one comes first."""

    context: Turns
    responses: tuple[str, str]
    published: bool

    @property
    def digest(self) -> str:
        """SHA-256 of context and responses, in hexadecimal, independent of the order of responses."""
        text = json.dumps([self.context, sorted(self.responses)], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def read_pair_items(source: Any, *, item: str | None = None, seed: int = 0) -> Items:
    r"""Read the items of a campaign that compares two responses.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table. It has ``context``, ``response_a`` and ``response_b``; or
        ``chosen`` and ``rejected``: transcripts as in hh-rlhf, lists of chat messages, or as in TRL with a ``prompt``.
        A context is text in any form that `dissensus.read_items` takes, or a list of messages.
    item
        Column with the ids; default ``item_id``, or ``id``. Without ids they are made from context and responses.
    seed
        Decides whether the chosen or the rejected response is A. The attribute ``item_published`` says which of the two
        the file calls the better one.

    Returns
    -------
    Items
        Items and notes. Pairs that cannot be compared are left out: those with different contexts, with the same
        response twice, or with a human turn at the end. Empty responses are kept. A note names the rows of each kind.

    Raises
    ------
    DissensusError
        The file cannot be read or holds no pairs, or two pairs have one id. The message names the row.

    Examples
    --------
    >>> table = pl.DataFrame({"context": ["Is it safe?"], "response_a": ["No."], "response_b": ["Sure!"]})
    >>> (item,), notes = read_pair_items(table)
    >>> item.conversation.rated_turn.text, item.response_b
    ('No.', 'Sure!')
    """
    if is_path(source) and Path(source).suffix.lower() in PASTED:
        raise InvalidInput(f"{source} is pasted text, which holds one response per item. {_UNDERSTOOD}")
    frame = to_frame(source)
    with name_source(source):
        tranche = tranche_from_name(Path(source)) if is_path(source) else None
        items = _from_table(frame, item, seed, None if tranche is None else tranche.split("-", 1)[1])
        return add_source(items, source)


_MORE: Final = re.compile(r"response_([c-z]|[3-9]|\d\d)")
_UNDERSTOOD: Final = (
    "Pairs are tables with 'context', 'response_a' and 'response_b', or with 'chosen' and 'rejected', optionally with "
    "'prompt'."
)


def _from_table(frame: pl.DataFrame, item: str | None, seed: int, phase: str | None) -> Items:
    columns = _columns(frame)
    if columns[-2:] == PAIR and PUBLISHED in frame.columns:
        raise InvalidInput(f"Reading adds an attribute {PUBLISHED!r}, and a column has that name already. Rename it.")
    if item is not None:
        require_column(item, frame.columns, "item")
    id_column = item or find_id_column(frame.columns)
    ids = None if id_column is None else cells.read_ids(frame[id_column], raise_failed_check).to_list()
    attributes = _attributes(frame.drop(columns), frame.height, id_column, phase)
    log, items = PairReadLog(), _UniqueItems()
    for row, pair in (
        _read_published(frame.select(columns), log) if columns[-2:] == PAIR else _read_responses(frame, log)
    ):
        item_id = pair.digest[:ID_LENGTH] if ids is None else ids[row - 1]
        reason = items.add(row, pair.digest, _item(item_id, pair, attributes[row - 1], seed, row))
        if reason is not None:
            log.faults.setdefault(reason, []).append(row)
    if not items.by_id:
        raise InvalidInput(f"There is no pair to compare. {' '.join(_notes(log))}".rstrip())
    notes = list(_notes(log))
    if ids is None:
        notes.append(f"There are no ids, so each pair has the first {ID_LENGTH} digits of SHA-256 of its content.")
    return Items(tuple(item for _, _, item in items.by_id.values()), tuple(notes))


@dataclass(slots=True)
class _UniqueItems:
    """Items with unique ids."""

    # Row, digest and item.
    by_id: dict[str, tuple[int, str, Item]] = field(default_factory=dict)

    def add(self, row: int, digest: str, item: Item) -> str | None:
        """Add an item, or return the reason why it is left out."""
        if item.item_id not in self.by_id:
            self.by_id[item.item_id] = row, digest, item
            return None
        first_row, first_digest, first_item = self.by_id[item.item_id]
        if first_digest != digest:
            raise InvalidInput(
                f"Item {format_value(item.item_id)} is two pairs: one in row {first_row:,} and another in row {row:,}. "
                "Give the other a different id."
            )
        contrary = PUBLISHED in item.attributes and first_item.responses() != item.responses()
        return CONTRARY if contrary else REPEATED


def _columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns of the pairs."""
    if frame.is_empty():
        raise InvalidInput("The table has no rows.")
    more = [name for name in frame.columns if _MORE.fullmatch(name)]
    if more:
        raise InvalidInput(
            f"{format_list(more)} hold more responses than two, and raters compare two. Write a row for each pair of "
            "responses, with response_a and response_b."
        )
    if set(RESPONSES) <= set(frame.columns):
        return (*((CONTEXT,) if CONTEXT in frame.columns else ()), *RESPONSES)
    if set(PAIR) <= set(frame.columns):
        return (*find_prompt_column(frame.columns), *PAIR)
    raise NotFound(f"No column holds pairs. The columns are {format_list(frame.columns)}. {_UNDERSTOOD}")


def _read_published(frame: pl.DataFrame, log: PairReadLog) -> Iterator[tuple[int, _ResponsePair]]:
    """Yield comparable published pairs with their row numbers."""
    for pair in stream_pairs(frame, log):
        chosen, rejected = pair.turns
        if chosen[-1][0] == rejected[-1][0] == "bot" and chosen[:-1] == rejected[:-1] and chosen != rejected:
            yield log.n_rows, _ResponsePair(chosen[:-1], (chosen[-1][1], rejected[-1][1]), published=True)
        elif log.faults.get(EMPTY, [])[-1:] == [log.n_rows]:
            # Report the other fault: an empty response alone does not exclude a pair.
            log.faults[EMPTY].pop()
            log.note(CONTEXTS if chosen[:-1] != rejected[:-1] else SAME)


def _read_responses(frame: pl.DataFrame, log: PairReadLog) -> Iterator[tuple[int, _ResponsePair]]:
    """Yield the pairs of a table of contexts and responses with their row numbers."""
    texts = {name: to_message_text(frame[name]) for name in (CONTEXT, *RESPONSES) if name in frame.columns}
    contexts = texts.get(CONTEXT, pl.Series([""] * frame.height))
    for row, (context, a, b) in enumerate(zip(contexts, *(texts[name] for name in RESPONSES), strict=True), start=1):
        log.n_rows = row
        for name, text in zip(RESPONSES, (a, b), strict=True):
            if text is None:
                raise InvalidInput(
                    f'Row {row:,}: {name} is missing, and two responses are compared. Fill it in, or drop the row; "" '
                    "in JSON is an empty response."
                )
        if a == b:
            log.note(SAME)
            continue
        if not a.strip() or not b.strip():
            log.note(EMPTY)
        try:
            yield row, _ResponsePair(_parse_turns(context or "", log), (a, b), published=False)
        except InvalidInput as error:
            raise InvalidInput(f"Row {row:,}: {error}") from None


def _parse_turns(context: str, log: PairReadLog) -> Turns:
    if not context.strip():
        return ()
    chat = parse_message_list(context)
    if chat is not None:
        if chat.instructions is not None:
            log.note(INSTRUCTIONS)
        return chat.turns
    turns = parse_context(context, "")
    return (("human", context),) if turns is None else turns[:-1]


def _attributes(frame: pl.DataFrame, n: int, id_column: str | None, phase: str | None) -> list[dict[str, str]]:
    """Return the attributes of each pair; in a table with raters, only those of items."""
    item_columns = [name for name in frame.columns if name.strip() and name != id_column]
    if names.RATER_ID in frame.columns:
        item_columns = [name for name in item_columns if names.is_item_attribute(name)]
    common = {} if phase is None or PHASE in item_columns else {PHASE: phase}
    table_rows = pl.DataFrame([to_text_column(frame[name]) for name in item_columns]).rows(named=True)
    rows = table_rows or [{} for _ in range(n)]
    return [{**common, **{name: text for name, text in row.items() if text is not None}} for row in rows]


def _item(item_id: str, pair: _ResponsePair, attributes: Mapping[str, str], seed: int, row: int) -> Item:
    """Return a pair as an item; the seed decides whether the chosen response is A."""
    published: Side = (
        SIDES[hashlib.sha256(f"{seed}\n{pair.digest}".encode()).digest()[0] % 2] if pair.published else "a"
    )
    a, b = pair.responses if published == "a" else pair.responses[::-1]
    if pair.published:
        attributes = {**attributes, PUBLISHED: published}
    try:
        limits.count_turns(len(pair.context) + 1)
        return Item(item_id, Conversation.from_turns([*pair.context, ("bot", a)]), attributes, b)
    except InvalidInput as error:
        raise InvalidInput(f"Row {row:,}: {error}") from None


def _notes(log: PairReadLog) -> Iterator[str]:
    """Describe which rows were left out, and which responses are empty."""
    for fault, rows in log.faults.items():
        single = PairReadLog({fault: rows} if rows else {})
        if fault in LEFT_OUT:
            yield from (f"{note.removesuffix('.')}; left out." for note in single.notes(in_output=False))
        else:
            yield from single.notes()
