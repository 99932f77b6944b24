"""Turns as pairs of speaker and text, and checks that the forms of transcripts share."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from dissensus.errors import InvalidInput

Speaker = Literal["human", "bot", "system", "tool"]
Turns: TypeAlias = tuple[tuple[Speaker, str], ...]

_MAX_EXCERPT = 60  # Characters


def excerpt(text: object) -> str:
    """Quote a text, truncated if it is long."""
    quoted = str(text)
    return repr(quoted if len(quoted) <= _MAX_EXCERPT else quoted[: _MAX_EXCERPT - 1] + "…")


def split_at_marks(text: str, marks: Sequence[re.Match[str]]) -> list[tuple[str, str]]:
    """Return the name in each mark, and the text up to the next mark."""
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(mark["name"], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def check_speakers(turns: Sequence[tuple[Speaker, str]], form: str) -> None:
    """Raise an error if a written form has no label for the speaker of a turn, or if there are no turns."""
    if not turns:
        raise InvalidInput("There are no turns.")
    for number, (speaker, _) in enumerate(turns, start=1):
        if speaker not in ("human", "bot"):
            raise InvalidInput(
                f"Turn {number:,} by {speaker!r} cannot be preserved in {form}, whose turns are by a person or the "
                "chatbot. Write the turns as JSON instead."
            )


def check_round_trip(turns: Sequence[tuple[Speaker, str]], parsed: Turns, form: str) -> None:
    """Raise an error that names the first turn which the written form does not preserve."""
    if tuple(turns) == parsed:
        return
    pairs = enumerate(zip(turns, parsed, strict=False), start=1)
    number = next((number for number, (turn, copy) in pairs if turn != copy), min(len(turns), len(parsed)))
    raise InvalidInput(
        f"Turn {number:,}, {excerpt(turns[number - 1][1])}, cannot be preserved in {form}: it begins or ends with "
        "characters that the form drops, or has a line that begins like a turn. Write the turns as JSON instead."
    )
