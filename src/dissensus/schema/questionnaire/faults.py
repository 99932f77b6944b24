"""What is wrong with a questionnaire or with answers to it, told all at once."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dissensus.errors import InvalidInput

MAX_LISTED: Final = 20
"""How many faults one message lists."""

AnswerCheck = Literal["unknown", "form", "scale", "exclusive", "many", "length", "characters", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerProblem:
    """One thing that is wrong with the answers of a rater."""

    question: str  # Name of the question, or of the text that one of its answers opens
    check: AnswerCheck  # What was checked, for who shows a message of their own
    what: str  # What was given, what is allowed, and what to do

    def __str__(self) -> str:
        return f"{self.question}: {self.what}"


def combine_problems(subject: str, faults: Sequence[object]) -> InvalidInput:
    """Return one error that tells all faults, or the first and how many there are.

    Examples
    --------
    >>> print(refusal("The questionnaire", ["name: missing.", "questions: there are none."]))
    The questionnaire has 2 faults:
    - name: missing.
    - questions: there are none.
    """
    count = "a fault" if len(faults) == 1 else f"{len(faults):,} faults"
    lines = [f"- {fault}" for fault in faults[:MAX_LISTED]]
    if len(faults) > MAX_LISTED:
        lines.append(f"- and {len(faults) - MAX_LISTED:,} more.")
    return InvalidInput("\n".join([f"{subject} has {count}:", *lines]))


def describe_type(value: object) -> str:
    """Name what kind of thing a value is."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
    return f"a {type(value).__name__}"


def find_unstorable_character(text: str) -> str | None:
    """Name the first character that no database stores, None where there is none."""
    found = next((mark for mark in text if mark == "\0" or "\ud800" <= mark <= "\udfff"), None)
    return None if found is None else f"U+{ord(found):04X}"


def find_control_character(text: str, *, but: str = "") -> str | None:
    """Name the first control character or half of a pair, None where there is none."""
    found = next((mark for mark in text if mark not in but and unicodedata.category(mark) in {"Cc", "Cs"}), None)
    return None if found is None else f"U+{ord(found):04X}"
