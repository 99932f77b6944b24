"""Texts that juries judge: a response, and the conversation before it."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.text.messages import parse_message_list
from dissensus.text.pasted import parse_context

ITEM_TEXT, RESPONSE, CONTEXT = "item_text", "response", "context"


class RatedText(NamedTuple):
    """A response, and the texts of the turns before it, joined by line breaks."""

    context: str
    response: str

    @property
    def opening(self) -> str:
        """First line, which texts of one conversation share."""
        return (self.context.strip() or self.response.strip()).split("\n", 1)[0]


def text_of_turns(turns: Sequence[Turn]) -> RatedText:
    """Return the last turn as the response, and the turns before it.

    Examples
    --------
    >>> text_of_turns([Turn("human", "Is it safe?"), Turn("bot", "Yes.")])
    RatedText(context='Is it safe?', response='Yes.')
    """
    *before, last = turns
    return RatedText("\n".join(turn.text for turn in before), last.text)


def texts_of_bot(conversation: Conversation) -> Iterator[RatedText]:
    """Yield each turn of the bot with the turns before it."""
    for end, turn in enumerate(conversation.turns, start=1):
        if turn.speaker == "bot":
            yield text_of_turns(conversation.turns[:end])


def hash_texts(texts: Sequence[RatedText]) -> npt.NDArray[np.uint64]:
    """Return the 8-byte BLAKE2b hash of each text, by which it is recognised."""
    lines = ("\x00".join(text).encode("utf-8", "surrogatepass") for text in texts)
    return np.frombuffer(b"".join(hashlib.blake2b(line, digest_size=8).digest() for line in lines), "<u8")


def read_rated_texts(ratings: Ratings) -> list[RatedText]:
    """Return the text of each rated item; refuse items without one."""
    items = ratings.items
    column = next((name for name in (RESPONSE, ITEM_TEXT) if name in items.columns), None)
    if column is None:
        raise InvalidInput(
            f"Items have no texts: there is neither a column {RESPONSE} nor {ITEM_TEXT} among "
            f"{format_list(items.columns)}. Join a table with one row an item: --items FILE (in Python: items=...); or "
            "name the column of texts: --text-column COLUMN."
        )
    responses = items[column].cast(pl.String).fill_null("").to_list()
    contexts = items[CONTEXT].cast(pl.String).fill_null("").to_list() if CONTEXT in items.columns else [""] * len(items)
    check_texts(responses, items[ITEM_ID].to_list())
    return [_parse(context, response) for context, response in zip(contexts, responses, strict=True)]


def check_texts(responses: Sequence[str], item_ids: Sequence[str]) -> None:
    """Refuse items without a text."""
    empty = [item_id for text, item_id in zip(responses, item_ids, strict=True) if not text.strip()]
    if empty:
        raise InvalidInput(
            f"Item {format_value(empty[0])} has an empty text, so that there is nothing to judge; {len(empty):,} of "
            f"{len(item_ids):,} items have one. Give the text, or leave the item out."
        )


def _parse(context: str, response: str) -> RatedText:
    """Return a text without the names of speakers in its context, like the texts that `texts_of_bot` yields."""
    if not context.strip():
        return RatedText("", response)
    try:
        chat = parse_message_list(context)
        turns = parse_context(context, response) if chat is None else (*chat.turns, ("bot", response))
    except InvalidInput:
        turns = None
    if turns is None:
        return RatedText(context, response)
    return RatedText("\n".join(text for _, text in turns[:-1]), turns[-1][1])
