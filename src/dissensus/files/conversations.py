"""Detection and parsing of the columns that hold conversations."""

import json
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import count_rest, format_list
from dissensus.schema.ratings import cells
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import Chat, parse_messages
from dissensus.text.pasted import parse_context, parse_transcript
from dissensus.text.transcripts import continued_hh, is_hh, parse_hh

WHOLE: Final = ("turns", "messages", "transcript")
"""Columns that hold whole conversations."""

PAIR: Final = ("chosen", "rejected")
"""Columns that hold two conversations, of which one was preferred."""

SPLIT: Final = ("context", "response")
"""Columns that hold what comes before the last turn, and the last turn."""

PROMPT: Final = "prompt"
"""Column that holds what comes before both responses of a pair, where these are no whole transcripts."""


class ParsedConversation(NamedTuple):
    """The conversation in one row."""

    conversation: Conversation  # ends with the bot
    instructions: str | None = None  # system prompt, if any
    plain: bool = False  # nothing said who speaks


class ConversationColumn(NamedTuple):
    """The different conversations of a table, in the order in which they first appear, and which of them a row has."""

    held: list[ParsedConversation]
    which: pl.Series


def find_conversation_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold conversations; raise where there are none.

    Examples
    --------
    >>> find_conversation_columns(["item_id", "context", "response", "harm_type"])
    ('context', 'response')
    """
    whole = next(((name,) for name in WHOLE if name in columns), None)
    found = whole or next((names for names in (PAIR, SPLIT) if set(names) <= set(columns)), None)
    if found is None:
        raise NotFound(
            f"No column holds conversations. The columns are {format_list(columns)}; understood are 'turns' or "
            "'messages' "
            '(a list like [{"role": "user", "content": "…"}, …]), \'transcript\' (text), \'context\' and '
            "'response', and 'chosen' and 'rejected'. Rename yours."
        )
    return found


def find_prompt_column(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the column of what comes before both responses of a pair, as TRL writes it, where there is one."""
    return (PROMPT,) if PROMPT in columns else ()


def read_conversations(table: pl.DataFrame) -> ConversationColumn:
    """Parse the conversations of a table, each distinct row once; an error names the row."""
    texts = table.select(to_message_text(column) for column in table)
    for column in texts:
        _check_complete(column)
    columns = texts.columns
    different = texts.with_row_index("row").unique(columns, keep="first", maintain_order=True)
    reader: Callable[..., ParsedConversation] = (
        _continued if columns[0] == PROMPT else _split if columns[1:] else _whole
    )
    held = [_read_row(row + 1, reader, *parts) for row, *parts in different.iter_rows()]
    numbered = different.drop("row").with_row_index("which")
    which = texts.join(numbered, on=columns, how="left", maintain_order="left")["which"]
    return ConversationColumn(held, which)


def to_rateable(chat: Chat) -> Conversation:
    """Return a chat as a conversation that ends with the bot."""
    conversation = Conversation.from_turns(chat.turns)
    _ = conversation.rated
    return conversation


def to_text_column(column: pl.Series) -> pl.Series:
    """Return a column as text, lists and structs as JSON."""
    if not column.dtype.is_nested():
        return cells.to_text(column)
    values = column.to_list()
    written = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
    return pl.Series(column.name, written, pl.String)


def to_message_text(column: pl.Series) -> pl.Series:
    """Return a column of what was said as text, lists of messages as JSON."""
    # an empty text is a turn that says nothing, where the file can tell it from one that is missing
    return column if column.dtype == pl.String else to_text_column(column)


def _check_complete(column: pl.Series) -> None:
    missing = column.is_null().arg_true()
    if len(missing):
        raise InvalidInput(
            f"Row {missing[0] + 1:,}: {column.name} is empty. Every item has a conversation: fill it in, or drop the "
            f'row. That a turn says nothing is written as "", in JSON.{count_rest(len(missing) - 1, "such row")}'
        )


def _read_row(row: int, reader: Callable[..., ParsedConversation], *parts: str) -> ParsedConversation:
    try:
        return reader(*parts)
    except InvalidInput as error:
        raise InvalidInput(f"Row {row:,}: {error}") from None


def _whole(text: str) -> ParsedConversation:
    chat = parse_messages(_parse_json(text)) if text.lstrip().startswith("[") else Chat(parse_transcript(text))
    return ParsedConversation(to_rateable(chat), chat.instructions)


def _split(context: str, response: str) -> ParsedConversation:
    if not context.strip():
        return ParsedConversation(to_rateable(Chat((("bot", response),))))
    turns = parse_context(context, response)
    if turns is None:
        return ParsedConversation(to_rateable(Chat((("human", context), ("bot", response)))), plain=True)
    return ParsedConversation(to_rateable(Chat(turns)))


def _continued(prompt: str, said: str) -> ParsedConversation:
    """Return what a prompt and a response to it are: texts, or lists of messages."""
    if not prompt.strip():
        return _whole(said)
    as_list = [text.lstrip().startswith("[") for text in (prompt, said)]
    if is_hh(prompt) and not as_list[1]:
        return ParsedConversation(to_rateable(Chat(parse_hh(continued_hh(prompt, said)))))
    chat = parse_messages(_parse_json(prompt)) if as_list[0] else Chat((("human", prompt),))
    after = parse_messages(_parse_json(said)).turns if as_list[1] else (("bot", said),)
    return ParsedConversation(to_rateable(Chat((*chat.turns, *after))), chat.instructions)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InvalidInput(f"the list of messages is no JSON ({reason}).") from None
