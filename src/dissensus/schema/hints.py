"""Formatting for error messages: quoted values, truncated lists, suggestions; and choices of a list."""

import csv
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from io import StringIO
from typing import TypeVar

from dissensus.errors import InvalidInput

MAX_VALUE_LENGTH = 60

Choice = TypeVar("Choice", bound=str)


def format_value(value: object) -> str:
    """Quote a value, truncated where it is long.

    Examples
    --------
    >>> format_value("Yes ")
    "'Yes '"
    """
    text = str(value)
    return repr(text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…")


def format_list(values: Sequence[object], limit: int = 12) -> str:
    """List quoted values, with a count of those left out.

    Examples
    --------
    >>> format_list(["No", "Unsure", "Yes"], limit=2)
    "'No', 'Unsure' and 1 more"
    """
    suffix = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(format_value(value) for value in values[:limit]) + suffix


def suggest(value: str, allowed: Sequence[str]) -> str:
    """Suggest the nearest allowed value, as a sentence; empty if none is near.

    Examples
    --------
    >>> suggest("yes ", ["No", "Unsure", "Yes"])
    " Did you mean 'Yes'?"
    """
    plain = {name.strip().casefold(): name for name in reversed(allowed)}
    near = get_close_matches(value[:200].strip().casefold(), plain, n=1, cutoff=0.6)
    return f" Did you mean {format_value(plain[near[0]])}?" if near else ""


def parse_choice(value: str, allowed: Sequence[Choice], noun: str) -> Choice:
    """Return the allowed value that a text names, or raise `InvalidInput`.

    Examples
    --------
    >>> parse_choice("turns", ["latest", "turns"], "an order")
    'turns'
    """
    choice = next((choice for choice in allowed if choice == value), None)
    if choice is None:
        raise InvalidInput(f"{format_value(value)} is not {noun}. Choose one of {format_list(allowed)}.")
    return choice


def count_noun(n: int, noun: str) -> str:
    """Return a number with a noun in the singular or the plural.

    Examples
    --------
    >>> count_noun(1, "rating"), count_noun(2_000, "rating")
    ('1 rating', '2,000 ratings')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def count_rest(count: int, noun: str) -> str:
    """Count further cases, as a sentence; empty if there are none.

    Examples
    --------
    >>> count_rest(2, "such row")
    ' 2 more such rows.'
    >>> count_rest(0, "such row")
    ''
    """
    return f" {count:,} more {noun}{'s' * (count > 1)}." if count else ""


def quote_option(text: str) -> str:
    r"""Quote a value of an option for a shell; control characters as bash and zsh read them.

    Examples
    --------
    >>> print(quote_option("it's"), quote_option("a\nb"))
    'it'"'"'s' $'a\nb'
    """
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(c if c.isprintable() else _escape(c) for c in escaped) + "'"


def _escape(character: str) -> str:
    plain = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    code = ord(character)
    return plain.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def quote_options(options: Sequence[str]) -> str:
    """Return command-line options as one line for a shell."""
    return " ".join(quote_option(option) for option in options)


def join_fields(values: Sequence[str]) -> str:
    """Return values as one line of CSV, as --categories and --missing read it."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()
