"""Parsing and writing of chat messages with roles."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.text.turns import Speaker, Turns, excerpt

ROLES: Final[Mapping[str, Speaker]] = {
    **dict.fromkeys(("user", "human", "person"), "human"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "model", "gpt", "lamda"), "bot"),
}
"""Speaker by lower-case role of a message."""

INSTRUCTIONS: Final = ("system", "developer")
"""Roles of messages that instruct the chatbot before the conversation begins."""

_KEYS: Final = (("role", "content"), ("speaker", "text"), ("from", "value"))
_SHAPE = '[{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]'


class Chat(NamedTuple):
    """Turns of a conversation, and the instructions of the chatbot, if any."""

    turns: Turns
    instructions: str | None = None


def parse_messages(messages: object) -> Chat:
    """Parse a list of chat messages into turns.

    Parameters
    ----------
    messages
        Objects with ``role`` and ``content``, ``speaker`` and ``text``, or ``from`` and ``value``; other keys are
        ignored. Content is text, or a list of text parts.

    Returns
    -------
    Chat
        Turns with unchanged texts. Leading system messages become the instructions, which raters do not see.

    Raises
    ------
    InvalidInput
        Not a list of messages, an unknown role, or a system message between turns.

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
        role, text = _parse_message(number, message)
        if role in ROLES:
            turns.append((ROLES[role], text))
        elif turns:
            raise InvalidInput(
                f"Message {number:,} has the role {role!r} in the middle of the conversation, where no rater would see "
                "it. Leave it out, or end the conversation before it."
            )
        else:
            instructions.append(text)
    return Chat(tuple(turns), "\n\n".join(instructions) if instructions else None)


def write_messages(turns: Sequence[tuple[Speaker, str]]) -> list[dict[str, str]]:
    """Return turns as chat messages of the roles ``user`` and ``assistant``.

    Examples
    --------
    >>> write_messages([("human", "Hi"), ("bot", "Hello!")])
    [{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': 'Hello!'}]
    """
    roles = {"human": "user", "bot": "assistant"}
    return [{"role": roles[speaker], "content": text} for speaker, text in turns]


def _parse_message(number: int, message: object) -> tuple[str, str]:
    """Return the role and the text of a message."""
    keys = next((keys for keys in _KEYS if isinstance(message, Mapping) and set(keys) <= message.keys()), None)
    if keys is None or not isinstance(message, Mapping):
        raise InvalidInput(f"Message {number:,}, {excerpt(message)}, has no role and content. Give them like {_SHAPE}.")
    role, text = (message[key] for key in keys)
    name = role.casefold() if isinstance(role, str) else ""
    if name not in ROLES and name not in INSTRUCTIONS:
        raise InvalidInput(
            f"Message {number:,} has the role {excerpt(role)}; allowed are {', '.join([*ROLES, *INSTRUCTIONS])}. "
            "Leave out messages of tools."
        )
    return name, _parse_content(number, text)


def _parse_content(number: int, content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None for part in parts]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInput(
            f"Message {number:,} has the content {excerpt(content)}; only text can be read, not null, images or tool "
            "calls."
        )
    return "".join(str(text) for text in texts)
