"""Characters of texts: line ends, control characters, and those that databases cannot store."""

import unicodedata
from collections.abc import Iterator


def normalise_line_ends(text: str) -> str:
    r"""Return a text with \n at the end of each line, in place of \r\n and \r."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def find_unstorable_character(text: str) -> str | None:
    """Return the code point of the first character that databases cannot store, such as U+0000, or None."""
    return _first_code_point(char for char in text if char == "\0" or "\ud800" <= char <= "\udfff")


def find_control_character(text: str, *, but: str = "") -> str | None:
    """Return the code point of the first control character or lone surrogate that is not in `but`, or None."""
    return _first_code_point(char for char in text if char not in but and unicodedata.category(char) in {"Cc", "Cs"})


def _first_code_point(characters: Iterator[str]) -> str | None:
    first = next(characters, None)
    return None if first is None else f"U+{ord(first):04X}"
