"""Conversations between a person and a chatbot: turns, limits, digest."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value

Speaker = Literal["human", "bot", "system", "tool"]
SPEAKERS: Final[tuple[str, ...]] = get_args(Speaker)

MAX_TURNS: Final = 1_000
"""Turns of a conversation."""

MAX_TURN_LENGTH: Final = 2**20
"""Characters of a turn."""

MAX_LENGTH: Final = 2**22
"""Characters of all turns of a conversation."""

_KEYS = {"speaker", "text"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation.

    Parameters
    ----------
    speaker
        ``human``, ``bot``, ``system`` or ``tool``.
    text
        Verbatim text of at most `MAX_TURN_LENGTH` characters; empty if a chatbot said nothing.

    Raises
    ------
    InvalidInput
        The speaker is unknown, or the text cannot be stored.
    """

    speaker: Speaker
    text: str

    def __post_init__(self) -> None:
        if self.speaker not in SPEAKERS:
            raise InvalidInput(
                f"There is no speaker {format_value(self.speaker)}; a turn is by {format_list(SPEAKERS)}."
            )
        check_text(self.text, "The text", MAX_TURN_LENGTH)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns of a person and a chatbot, of tools and the system; one speaker may have several turns in a row.

    Parameters
    ----------
    turns
        The turns in order: one or more, at most `MAX_TURNS`, and `MAX_LENGTH` characters in all.

    Raises
    ------
    InvalidInput
        There are no turns, or too many or too long ones.

    Examples
    --------
    >>> conversation = Conversation.from_turns([("human", "May I swim here?"), ("bot", "Where are you?")])
    >>> conversation.rated_turn.text
    'Where are you?'
    >>> Conversation.from_dicts(conversation.to_dicts()) == conversation
    True
    """

    turns: tuple[Turn, ...]

    def __post_init__(self) -> None:
        if not self.turns:
            raise InvalidInput("The conversation has no turns. Give at least the turn of the bot that is to be rated.")
        if len(self.turns) > MAX_TURNS:
            raise InvalidInput(
                f"The conversation has {len(self.turns):,} turns, and at most {MAX_TURNS:,} are allowed. "
                "Keep the last ones."
            )
        length = sum(len(turn.text) for turn in self.turns)
        if length > MAX_LENGTH:
            raise InvalidInput(
                f"The conversation has {length:,} characters, and at most {MAX_LENGTH:,} are allowed. Keep its last "
                "turns."
            )

    @classmethod
    def from_turns(cls, turns: Iterable[tuple[Speaker, str]]) -> Self:
        """Make a conversation from pairs of speaker and text; errors name the turn, counted from 1."""
        return cls(tuple(_turn(number, speaker, text) for number, (speaker, text) in enumerate(turns, start=1)))

    @classmethod
    def from_dicts(cls, turns: object) -> Self:
        """Make a conversation from the result of `to_dicts`.

        Raises
        ------
        InvalidInput
            The value is not a list of objects with exactly ``speaker`` and ``text``.
        """
        if not isinstance(turns, Sequence) or isinstance(turns, str):
            raise InvalidInput('The turns are not a list. Give them like [{"speaker": "human", "text": "…"}, …].')
        for number, turn in enumerate(turns, start=1):
            if not isinstance(turn, dict) or set(turn) != _KEYS:
                raise InvalidInput(
                    f"Turn {number:,} is {format_value(turn)}. Each turn is an object with 'speaker' and 'text' alone."
                )
        return cls.from_turns((turn["speaker"], turn["text"]) for turn in turns)

    def to_dicts(self) -> list[dict[str, str]]:
        """Return the turns as plain values for JSON."""
        return [{"speaker": turn.speaker, "text": turn.text} for turn in self.turns]

    @property
    def rated_turn(self) -> Turn:
        """The last turn, which raters judge.

        Raises
        ------
        InvalidInput
            The last turn is not by the bot.
        """
        last = self.turns[-1]
        if last.speaker != "bot":
            raise InvalidInput(
                f"The last turn, {format_value(last.text)}, is by the {last.speaker}, and raters judge what the bot "
                "says last. Leave it out, or add the answer to it."
            )
        return last

    @property
    def context(self) -> tuple[Turn, ...]:
        """The turns before the rated one."""
        _ = self.rated_turn
        return self.turns[:-1]

    @property
    def empty_turns(self) -> tuple[int, ...]:
        """Numbers of the blank turns, counted from 1."""
        return tuple(number for number, turn in enumerate(self.turns, start=1) if not turn.text.strip())

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of speakers and texts.

        Examples
        --------
        >>> Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")]).digest[:16]
        '4eca514d40e20c3a'
        """
        turns = [[turn.speaker, turn.text] for turn in self.turns]
        return hashlib.sha256(json.dumps(turns, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def check_text(text: object, subject: str, max_length: int) -> None:
    """Raise unless a value is text of limited length that databases can store; messages begin with the subject.

    Examples
    --------
    >>> check_text("fine", "The text", 10)
    """
    if not isinstance(text, str):
        raise InvalidInput(
            f"{subject} is {format_value(text)}, which is not text. Write it as text, an empty one as ''."
        )
    if len(text) > max_length:
        raise InvalidInput(
            f"{subject} has {len(text):,} characters, and at most {max_length:,} are allowed. Shorten it."
        )
    nul = text.find("\0")
    if nul >= 0:
        raise InvalidInput(f"{subject} has a NUL, as character {nul + 1:,}, which databases cannot store. Remove it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{subject} has half of a surrogate pair (like \\ud800), as character {error.start + 1:,}, which is not "
            "text. Remove it."
        ) from None


def _turn(number: int, speaker: Speaker, text: str) -> Turn:
    try:
        return Turn(speaker, text)
    except InvalidInput as error:
        raise InvalidInput(f"Turn {number:,}: {error}") from None
