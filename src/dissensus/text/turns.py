"""Turns as pairs, and the limits of each transcript form."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from dissensus.errors import InvalidInput

Speaker = Literal["human", "bot"]
Turns: TypeAlias = tuple[tuple[Speaker, str], ...]

_LONGEST = 60


def excerpt(text: object) -> str:
    """Quote a text, cut short where it is long."""
    written = str(text)
    return repr(written if len(written) <= _LONGEST else written[: _LONGEST - 1] + "…")


def between(text: str, marks: Sequence[re.Match[str]]) -> list[tuple[str, str]]:
    """Return the name in each mark, and the text up to the next."""
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(mark["name"], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def check_held(turns: Sequence[tuple[Speaker, str]], read: Turns, form: str) -> None:
    """Make sure that what was written reads as it was, or say which turn the form cannot hold."""
    if tuple(turns) == read:
        return
    pairs = enumerate(zip(turns, read, strict=False), start=1)
    number = next((number for number, (given, held) in pairs if given != held), min(len(turns), len(read)))
    raise InvalidInput(
        f"Turn {number:,}, {excerpt(turns[number - 1][1])}, would not read as it is in {form}: it begins or ends as "
        "that form cannot show, or has a line that begins like a turn. Write the turns as JSON instead."
    )
