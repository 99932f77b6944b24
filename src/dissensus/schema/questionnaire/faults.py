"""Problems with answers, and error messages that list several problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dissensus.errors import InvalidInput

MAX_LISTED: Final = 20
"""Faults listed in one message."""

AnswerCheck = Literal["unknown", "form", "scale", "exclusive", "many", "length", "characters", "missing"]


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """One problem with the answers of a rater."""

    question: str  # name of the question, or of the text that an answer opens
    check: AnswerCheck  # machine-readable, for clients with their own messages
    message: str  # value, allowed values, remedy

    def __str__(self) -> str:
        return f"{self.question}: {self.message}"


def combine_problems(subject: str, faults: Sequence[object]) -> InvalidInput:
    """Return one error that lists the problems, up to `MAX_LISTED`.

    Examples
    --------
    >>> print(combine_problems("The questionnaire", ["name: missing.", "questions: there are none."]))
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
    """Describe the type of a value."""
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


def describe_number(value: object) -> str:
    """Return a number that is not too long to print, or describe the type of another value."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not abs(value) >= 2**63:
        return f"{value:g}"
    return describe_type(value)
