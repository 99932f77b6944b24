"""Parsing and writing of chat messages with roles."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.text.turns import Speaker, Turns, excerpt

ROLES: Final[Mapping[str, Speaker]] = {
    **dict.fromkeys(("user", "human", "person"), "human"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "model", "gpt", "lamda"), "bot"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""Speaker by lower-case role of a message."""

INSTRUCTIONS: Final = ("system", "developer")
"""Roles of messages that instruct the chatbot: before the conversation, or as turns of the speaker ``system``."""

_KEYS: Final = (("role", "content"), ("speaker", "text"), ("from", "value"))  # Of role and text
_SHAPE = '[{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]'


class Chat(NamedTuple):
    """Turns of a conversation, and the instructions of the chatbot, if any."""

    turns: Turns
    instructions: str | None = None


def parse_message_list(text: str) -> Chat | None:
    """Parse a JSON list of messages; None for any other text, even if it begins with a bracket."""
    if not text.lstrip().startswith("["):
        return None
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parse_messages(messages) if all(isinstance(message, dict) for message in messages) else None


def parse_messages(messages: object) -> Chat:
    """Parse a list of chat messages into turns.

    Parameters
    ----------
    messages
        Objects with ``role`` and ``content``, ``speaker`` and ``text``, or ``from`` and ``value``. Content is text, or
        a list of text parts. Each of the ``tool_calls`` of a message is a turn of the tool, as the name of the function
        with its arguments. Other keys are ignored.

    Returns
    -------
    Chat
        Turns with unchanged texts. Leading system messages become the instructions, which raters do not see; later
        ones are turns.

    Raises
    ------
    InvalidInput
        Not a list of messages, or an unknown role.

    Examples
    --------
    >>> parse_messages([
    ...     {"role": "system", "content": "Be kind."},
    ...     {"role": "user", "content": "Hi"},
    ...     {"role": "assistant", "content": "Hello!"},
    ... ])
    Chat(turns=(('human', 'Hi'), ('bot', 'Hello!')), instructions='Be kind.')
    """
    if not isinstance(messages, Sequence) or isinstance(messages, (str, bytes)):
        raise InvalidInput(f"{excerpt(messages)} is not a list of messages. Give one like {_SHAPE}.")
    turns: list[tuple[Speaker, str]] = []
    instructions: list[str] = []
    for number, message in enumerate(messages, start=1):
        for speaker, text in _parse_message(number, message):
            if speaker == "system" and not turns:
                instructions.append(text)
            else:
                turns.append((speaker, text))
    return Chat(tuple(turns), "\n\n".join(instructions) if instructions else None)


def write_messages(turns: Sequence[tuple[Speaker, str]]) -> list[dict[str, str]]:
    """Return turns as chat messages of the roles ``user``, ``assistant``, ``system`` and ``tool``.

    Examples
    --------
    >>> write_messages([("human", "Hi"), ("bot", "Hello!")])
    [{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': 'Hello!'}]
    """
    roles = {"human": "user", "bot": "assistant"}
    return [{"role": roles.get(speaker, speaker), "content": text} for speaker, text in turns]


def _parse_message(number: int, message: object) -> Iterator[tuple[Speaker, str]]:
    """Yield the speaker and the text of a message, and of each call of a tool in it."""
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    if calls and (not isinstance(calls, Sequence) or isinstance(calls, (str, bytes))):
        raise InvalidInput(f"Message {number:,} has the tool calls {excerpt(calls)}; give a list of calls.")
    if isinstance(message, Mapping) and calls and not message.get("content"):
        message = {**message, "content": ""}
    keys = next((keys for keys in _KEYS if isinstance(message, Mapping) and set(keys) <= message.keys()), None)
    if keys is None or not isinstance(message, Mapping):
        raise InvalidInput(f"Message {number:,}, {excerpt(message)}, has no role and content. Give them like {_SHAPE}.")
    role, content = (message[key] for key in keys)
    name = role.casefold() if isinstance(role, str) else ""
    if name not in ROLES and name not in INSTRUCTIONS:
        raise InvalidInput(
            f"Message {number:,} has the role {excerpt(role)}; allowed are {', '.join([*ROLES, *INSTRUCTIONS])}."
        )
    text = _parse_content(number, content)
    if text or not calls:
        yield ROLES.get(name, "system"), text
    for call in calls or ():
        yield "tool", _describe_call(number, call)


def _describe_call(number: int, call: object) -> str:
    """Return the call of a function as its name with its arguments."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidInput(
            f"Message {number:,} has the tool call {excerpt(call)}. Give calls like "
            '{"type": "function", "function": {"name": "search", "arguments": "{}"}}.'
        )
    arguments = function.get("arguments", "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return f"{function['name']}({text})"


def _parse_content(number: int, content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None for part in parts]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInput(
            f"Message {number:,} has the content {excerpt(content)}; only text can be read, not null or images."
        )
    return "".join(str(text) for text in texts)
