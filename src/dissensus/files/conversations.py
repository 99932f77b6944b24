"""Detection and parsing of conversation columns."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw import limits
from dissensus.schema.hints import count_rest, format_list
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.columns import ITEM_ID, RATER_ID
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import Chat, parse_message_list, parse_messages
from dissensus.text.pasted import parse_context, parse_transcript
from dissensus.text.speakers import describe_unknown_speaker, find_unknown_speakers
from dissensus.text.transcripts import append_response_hh, is_hh, parse_hh

COMPLETE: Final = ("turns", "messages", "transcript")
"""Columns that hold whole conversations."""

PAIR: Final = ("chosen", "rejected")
"""Columns of the preferred and the other conversation of a pair."""

SPLIT: Final = ("context", "response")
"""Columns of the turns before the last one, and of the last turn."""

PROMPT: Final = "prompt"
"""Column of the turns before both responses of a pair, if these are not whole transcripts."""

_MESSAGE_LIST: Final = re.compile(r"\s*\[\s*\{")


class ParsedConversation(NamedTuple):
    """The conversation in one row."""

    conversation: Conversation  # ends with the bot
    instructions: str | None = None  # system prompt, if any
    plain: bool = False  # context without speakers
    unknown_speakers: tuple[str, ...] = ()  # labels whose text belongs to the turn before


class ConversationColumn(NamedTuple):
    """The distinct conversations of a table in order of appearance, and the index of the conversation of each row."""

    conversations: list[ParsedConversation]
    indices: pl.Series


def find_conversation_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold conversations; raise if there are none.

    Examples
    --------
    >>> find_conversation_columns(["item_id", "context", "response", "harm_type"])
    ('context', 'response')
    """
    for names in (*((name,) for name in COMPLETE), PAIR, SPLIT):
        if set(names) <= set(columns):
            return names
    raise NotFound(
        f"No column holds conversations. The columns are {format_list(columns)}; understood are 'turns' or 'messages' "
        '(a list like [{"role": "user", "content": "…"}, …]), \'transcript\' (text), \'context\' and '
        "'response', and 'chosen' and 'rejected'. Rename yours."
    )


def find_id_column(columns: Sequence[str]) -> str | None:
    """Return the column of item ids: ``item_id``, or ``id`` without raters, since it numbers the rows of ratings."""
    if ITEM_ID in columns:
        return ITEM_ID
    return "id" if "id" in columns and RATER_ID not in columns else None


def find_prompt_column(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the prompt column of TRL pairs, if there is one."""
    return (PROMPT,) if PROMPT in columns else ()


def read_conversations(table: pl.DataFrame) -> ConversationColumn:
    """Parse the conversations of a table, each distinct row once; errors name the row."""
    texts = table.select(to_message_text(column) for column in table)
    for column in texts:
        _check_complete(column)
    columns = texts.columns
    distinct = texts.with_row_index("row").unique(columns, keep="first", maintain_order=True)
    reader: Callable[..., ParsedConversation] = (
        _parse_prompt_response if columns[0] == PROMPT else _parse_context_response if columns[1:] else _parse_complete
    )
    conversations = [_read_row(row + 1, reader, *parts) for row, *parts in distinct.iter_rows()]
    numbered = distinct.drop("row").with_row_index("index")
    indices = texts.join(numbered, on=columns, how="left", maintain_order="left")["index"]
    return ConversationColumn(conversations, indices)


def to_rateable(chat: Chat) -> Conversation:
    """Return a chat as a conversation; raise unless it ends with the bot."""
    limits.count_turns(len(chat.turns))
    conversation = Conversation.from_turns(chat.turns)
    _ = conversation.rated_turn
    return conversation


def to_text_column(column: pl.Series) -> pl.Series:
    """Return a column as text, lists and structs as JSON."""
    if not column.dtype.is_nested():
        return cells.to_text(column)
    values = column.to_list()
    texts = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
    return pl.Series(column.name, texts, pl.String)


def to_message_text(column: pl.Series) -> pl.Series:
    """Return a column of messages as text, lists of messages as JSON."""
    # In String columns an empty text is an empty turn, and null a missing one.
    return column if column.dtype == pl.String else to_text_column(column)


def _check_complete(column: pl.Series) -> None:
    missing = column.is_null().arg_true()
    if len(missing):
        raise InvalidInput(
            f"Row {missing[0] + 1:,}: {column.name} is empty. Every item needs a conversation: fill it in, or drop the "
            f'row. Write an empty turn as "", in JSON.{count_rest(len(missing) - 1, "such row")}'
        )


def _read_row(row: int, reader: Callable[..., ParsedConversation], *parts: str) -> ParsedConversation:
    try:
        parsed = reader(*parts)
    except InvalidInput as error:
        raise InvalidInput(f"Row {row:,}: {error}") from None
    if any(part.lstrip().startswith("[") for part in parts):
        return parsed  # a list of messages has no labels
    texts = [turn.text for turn in parsed.conversation.turns]
    unknown = find_unknown_speakers(texts, paragraphs=any(map(is_hh, parts)))
    return parsed._replace(unknown_speakers=unknown) if unknown else parsed


def describe_unknown_speakers(parsed: Iterable[ParsedConversation]) -> Iterator[str]:
    """Yield a note for each label that names no known speaker."""
    counts = Counter(name for conversation in parsed for name in conversation.unknown_speakers)
    for name, count in counts.items():
        where = "1 conversation" if count == 1 else f"{count:,} conversations"
        yield f"In {where} {describe_unknown_speaker(name)}."


def _parse_complete(text: str) -> ParsedConversation:
    chat = parse_messages(_parse_json(text)) if text.lstrip().startswith("[") else Chat(parse_transcript(text))
    return ParsedConversation(to_rateable(chat), chat.instructions)


def _parse_context_response(context: str, response: str) -> ParsedConversation:
    if not context.strip():
        return ParsedConversation(to_rateable(Chat((("bot", response),))))
    chat = parse_message_list(context)
    if chat is not None:
        return ParsedConversation(to_rateable(Chat((*chat.turns, ("bot", response)))), chat.instructions)
    turns = parse_context(context, response)
    if turns is None:
        return ParsedConversation(to_rateable(Chat((("human", context), ("bot", response)))), plain=True)
    return ParsedConversation(to_rateable(Chat(turns)))


def _parse_prompt_response(prompt: str, response: str) -> ParsedConversation:
    """Parse a prompt and a response: texts, or lists of messages."""
    if not prompt.strip():
        return _parse_complete(response)
    if is_hh(prompt) and not is_message_list(response):
        return ParsedConversation(to_rateable(Chat(parse_hh(append_response_hh(prompt, response)))))
    chat = parse_messages(_parse_json(prompt)) if is_message_list(prompt) else Chat((("human", prompt),))
    after = parse_messages(_parse_json(response)).turns if is_message_list(response) else (("bot", response),)
    return ParsedConversation(to_rateable(Chat((*chat.turns, *after))), chat.instructions)


def is_message_list(text: str) -> bool:
    """Return whether a text begins like a list of messages in JSON.

    Examples
    --------
    >>> is_message_list('[{"role": "user", "content": "Hi"}]'), is_message_list("[1] First, …")
    (True, False)
    """
    return _MESSAGE_LIST.match(text) is not None


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InvalidInput(f"the list of messages is not valid JSON ({reason}).") from None
