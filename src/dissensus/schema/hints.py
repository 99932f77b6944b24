"""Wording shared by error messages: values shown, lists cut short, near misses."""

from collections.abc import Sequence
from difflib import get_close_matches

MAX_VALUE_LENGTH = 60


def format_value(value: object) -> str:
    """Quote a value, cut short where it is long.

    Examples
    --------
    >>> shown("Yes ")
    "'Yes '"
    """
    text = str(value)
    return repr(text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…")


def format_list(values: Sequence[object], limit: int = 12) -> str:
    """List quoted values, with a count of those left out.

    Examples
    --------
    >>> listed(["No", "Unsure", "Yes"], limit=2)
    "'No', 'Unsure' and 1 more"
    """
    rest = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(format_value(value) for value in values[:limit]) + rest


def suggest(value: str, allowed: Sequence[str]) -> str:
    """Name the allowed value nearest to the given one, as a sentence; empty if none is near.

    Examples
    --------
    >>> did_you_mean("yes ", ["No", "Unsure", "Yes"])
    " Did you mean 'Yes'?"
    """
    plain = {name.strip().casefold(): name for name in reversed(allowed)}
    near = get_close_matches(value[:200].strip().casefold(), plain, n=1, cutoff=0.6)
    return f" Did you mean {format_value(plain[near[0]])}?" if near else ""


def count_rest(count: int, what: str) -> str:
    """Say how many more there are, as a sentence; empty if none.

    Examples
    --------
    >>> more(2, "such row")
    ' 2 more such rows.'
    >>> more(0, "such row")
    ''
    """
    return f" {count:,} more {what}{'s' * (count > 1)}." if count else ""
