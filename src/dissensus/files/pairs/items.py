"""Reader of campaign items with two responses."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.conversations import PAIR, find_prompt_column, to_message_text, to_text_column
from dissensus.files.items import ID_LENGTH, PASTED, Items, read_items
from dissensus.files.pairs.reader import CONTEXTS, EMPTY, SAME, tranche_from_name
from dissensus.files.pairs.rows import HUMAN, PairReadLog, stream_pairs
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.findings import raise_failed_check
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import SIDES, Side
from dissensus.text.messages import parse_messages
from dissensus.text.pasted import parse_context
from dissensus.text.turns import Turns

CONTEXT: Final = "context"
RESPONSES: Final = ("response_a", "response_b")
"""Columns that hold the two responses, of which nobody has said yet which is the better one."""

PUBLISHED: Final = "item_published"
"""Attribute with the response that the file calls the better one, ``a`` or ``b``, which raters do not see."""

PHASE: Final = "phase"
CONTRARY: Final = "it repeats an earlier pair and says the contrary"
REPEATED: Final = "it repeats an earlier pair"
LEFT_OUT: Final = (CONTEXTS, HUMAN, SAME, CONTRARY, REPEATED)


def reader_for(campaign: Campaign | None) -> Callable[[Any], Items]:
    """Return the item reader of a campaign: pairs where it compares two responses."""
    if campaign is None or campaign.pair is None:
        return read_items
    return partial(read_pair_items, seed=campaign.seed)


class _ResponsePair(NamedTuple):
    """Two responses to one context; of a published pair the chosen one first."""

    context: Turns
    responses: tuple[str, str]
    published: bool

    @property
    def digest(self) -> str:
        """SHA-256 of what is compared, in hexadecimal, the same whichever response comes first."""
        text = json.dumps([self.context, sorted(self.responses)], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def read_pair_items(source: Any, *, item: str | None = None, seed: int = 0) -> Items:
    r"""Read the items of a campaign that compares two responses.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table. It has ``context``, ``response_a`` and ``response_b``; or
        ``chosen`` and ``rejected``, as hh-rlhf writes them, as lists of chat messages, or as TRL does with a
        ``prompt``. A context is text in any form that `dissensus.read_items` takes, or a list of messages.
    item
        Column with the ids, if it is not called ``item_id``. Without it ids are made from what is compared.
    seed
        Decides which of a chosen and a rejected response is A. Which of the two the file calls the better one becomes
        an attribute, ``item_published``.

    Returns
    -------
    Items
        Items and notes. Pairs that cannot be compared are left out: whose contexts differ, that have the same response
        twice, or end with a turn of the human. Responses that say nothing are kept. A note names the rows of each kind.

    Raises
    ------
    DissensusError
        The file cannot be read, holds no pairs, or an id is that of two pairs. The message has the row.

    Examples
    --------
    >>> table = pl.DataFrame({"context": ["Is it safe?"], "response_a": ["No."], "response_b": ["Sure!"]})
    >>> (item,), notes = read_pair_items(table)
    >>> item.conversation.rated.text, item.response_b
    ('No.', 'Sure!')
    """
    if is_path(source) and Path(source).suffix.lower() in PASTED:
        raise InvalidInput(f"{source} is pasted text, which holds one response each. {_UNDERSTOOD}")
    frame = to_frame(source)
    with name_source(source):
        tranche = tranche_from_name(Path(source)) if is_path(source) else None
        return _from_table(frame, item, seed, None if tranche is None else tranche.split("-", 1)[1])


_UNDERSTOOD: Final = (
    "Pairs are tables with 'context', 'response_a' and 'response_b', or with 'chosen' and 'rejected', and perhaps a "
    "'prompt'."
)


def _from_table(frame: pl.DataFrame, item: str | None, seed: int, phase: str | None) -> Items:
    columns = _columns(frame)
    if columns[-2:] == PAIR and PUBLISHED in frame.columns:
        raise InvalidInput(f"Reading adds an attribute {PUBLISHED!r}, and a column has that name already. Rename it.")
    if item is not None:
        require_column(item, frame.columns, "item")
    given = item or names.ITEM_ID
    ids = cells.read_ids(frame[given], raise_failed_check).to_list() if given in frame.columns else None
    attributes = _attributes(frame.drop(columns), frame.height, given, phase)
    seen, items = PairReadLog(), _UniqueItems()
    for row, two in (
        _read_published(frame.select(columns), seen) if columns[-2:] == PAIR else _read_responses(frame, seen)
    ):
        name = two.digest[:ID_LENGTH] if ids is None else ids[row - 1]
        again = items.add(row, two.digest, _item(name, two, attributes[row - 1], seed, row))
        if again is not None:
            seen.faults.setdefault(again, []).append(row)
    if not items.found:
        raise InvalidInput(f"There is no pair to compare. {' '.join(_notes(seen))}".rstrip())
    made = (f"There are no ids, so each pair has the first {ID_LENGTH} digits of SHA-256 of what it holds.",)
    return Items(tuple(kept for _, _, kept in items.found.values()), (*_notes(seen), *made * (ids is None)))


@dataclass(slots=True)
class _UniqueItems:
    """Items by their ids, each with its row and its digest."""

    found: dict[str, tuple[int, str, Item]] = field(default_factory=dict)

    def add(self, row: int, digest: str, item: Item) -> str | None:
        """Keep an item, or say why it is not kept."""
        if item.item_id not in self.found:
            self.found[item.item_id] = row, digest, item
            return None
        first, other, kept = self.found[item.item_id]
        if other != digest:
            raise InvalidInput(
                f"Item {format_value(item.item_id)} is two pairs: one in row {first:,} and another in row {row:,}. "
                "Give the "
                "other an id of its own."
            )
        contrary = PUBLISHED in item.attributes and kept.responses() != item.responses()
        return CONTRARY if contrary else REPEATED


def _columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns that hold the pairs."""
    if frame.is_empty():
        raise InvalidInput("The table has no rows.")
    if set(RESPONSES) <= set(frame.columns):
        return (*((CONTEXT,) if CONTEXT in frame.columns else ()), *RESPONSES)
    if set(PAIR) <= set(frame.columns):
        return (*find_prompt_column(frame.columns), *PAIR)
    raise NotFound(f"No column holds pairs. The columns are {format_list(frame.columns)}. {_UNDERSTOOD}")


def _read_published(frame: pl.DataFrame, seen: PairReadLog) -> Iterator[tuple[int, _ResponsePair]]:
    """Yield published pairs that can be compared, each with its row."""
    for pair in stream_pairs(frame, seen):
        chosen, rejected = pair.turns
        if chosen[-1][0] == rejected[-1][0] == "bot" and chosen[:-1] == rejected[:-1] and chosen != rejected:
            yield seen.rows, _ResponsePair(chosen[:-1], (chosen[-1][1], rejected[-1][1]), published=True)
        elif seen.faults.get(EMPTY, [])[-1:] == [seen.rows]:
            # Empty, and so no less unfit to be compared for another reason.
            seen.faults[EMPTY].pop()
            seen.note(CONTEXTS if chosen[:-1] != rejected[:-1] else SAME)


def _read_responses(frame: pl.DataFrame, seen: PairReadLog) -> Iterator[tuple[int, _ResponsePair]]:
    """Yield pairs of a table of contexts and responses, each with its row."""
    texts = {name: to_message_text(frame[name]) for name in (CONTEXT, *RESPONSES) if name in frame.columns}
    contexts = texts.get(CONTEXT, pl.Series([""] * frame.height))
    for row, (context, a, b) in enumerate(zip(contexts, *(texts[name] for name in RESPONSES), strict=True), start=1):
        seen.rows = row
        for name, said in zip(RESPONSES, (a, b), strict=True):
            if said is None:
                raise InvalidInput(
                    f'Row {row:,}: {name} is missing, and two responses are compared. Fill it in, or drop the row; "" '
                    "in JSON is a response that says nothing."
                )
        if a == b:
            seen.note(SAME)
            continue
        if not a.strip() or not b.strip():
            seen.note(EMPTY)
        try:
            yield row, _ResponsePair(_turns(context or ""), (a, b), published=False)
        except InvalidInput as error:
            raise InvalidInput(f"Row {row:,}: {error}") from None


def _turns(context: str) -> Turns:
    if not context.strip():
        return ()
    if context.lstrip().startswith("["):
        try:
            return parse_messages(json.loads(context)).turns
        except (ValueError, RecursionError) as error:
            if isinstance(error, InvalidInput):
                raise
    turns = parse_context(context, "")
    return (("human", context),) if turns is None else turns[:-1]


def _attributes(frame: pl.DataFrame, n: int, given: str, phase: str | None) -> list[dict[str, str]]:
    """Return what else is known of each pair; of a table with raters, only what describes the pair."""
    of_items = [name for name in frame.columns if name.strip() and name != given]
    if names.RATER_ID in frame.columns:
        of_items = [name for name in of_items if names.is_item_attribute(name)]
    same = {} if phase is None or PHASE in of_items else {PHASE: phase}
    described = pl.DataFrame([to_text_column(frame[name]) for name in of_items]).rows(named=True)
    rows = described or [{} for _ in range(n)]
    return [{**same, **{name: text for name, text in row.items() if text is not None}} for row in rows]


def _item(name: str, two: _ResponsePair, attributes: Mapping[str, str], seed: int, row: int) -> Item:
    """Return a pair as an item; whether the chosen response is A follows from the seed."""
    published: Side = SIDES[hashlib.sha256(f"{seed}\n{two.digest}".encode()).digest()[0] % 2] if two.published else "a"
    a, b = two.responses if published == "a" else two.responses[::-1]
    known = {**attributes, PUBLISHED: published} if two.published else attributes
    try:
        return Item(name, Conversation.from_turns([*two.context, ("bot", a)]), known, b)
    except InvalidInput as error:
        raise InvalidInput(f"Row {row:,}: {error}") from None


def _notes(seen: PairReadLog) -> Iterator[str]:
    """Say which rows were left out, and which responses say nothing."""
    for why, rows in seen.faults.items():
        of_why = PairReadLog({why: rows} if rows else {})
        if why in LEFT_OUT:
            yield from (f"{note.removesuffix('.')}; left out." for note in of_why.notes(kept=False))
        else:
            yield from of_why.notes()
