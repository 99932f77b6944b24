"""Parsing of digits, range checks for numbers in options and definitions, and page numbers."""

from collections.abc import Iterable
from math import isfinite
from sys import float_info
from typing import Final

from dissensus.errors import InvalidInput

MAX_COUNT = 10**9
"""Upper limit of counts, to detect typing errors."""
MAX_COST = 1e9
"""Upper limit of the costs of an error, in a comparison of decision rules and where one is adopted."""
MAX_FLOAT: Final = float_info.max


def parse_digits(text: str, most: int = 9) -> int | None:
    """Return the number that at most `most` ASCII digits write, None for any other text.

    Examples
    --------
    >>> parse_digits("012", 3), parse_digits("1234", 3), parse_digits("-1", 3)
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= most else None


def check_whole(name: str, value: object, least: int = 0, most: int | None = None) -> None:
    """Raise unless a value is a whole number from `least` to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        bounds = f", {least} or more" if most is None else f" from {least} to {most:,}"
        raise InvalidInput(f"{name} is {value!r}; give a whole number{bounds}.")


def check_number(name: str, value: object, least: float = float("-inf"), most: float = float("inf")) -> None:
    """Raise unless a value is a finite number from `least` to `most`."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compared before it becomes a float, which a longer integer cannot.
    if not is_number or not -MAX_FLOAT <= value <= MAX_FLOAT or not least <= value <= most:  # type: ignore[operator]
        bounds = [f"{word} {bound:g}" for word, bound in (("from", least), ("up to", most)) if isfinite(bound)]
        raise InvalidInput(f"{name} is {value!r}; give {' '.join(['a number', *bounds])}.")


def check_spread(name: str, value: float) -> None:
    """Raise unless a value can be a standard deviation on the latent scale: beyond 10 that is meaningless."""
    check_number(name, value, 0, 10)


def check_share(name: str, value: float) -> None:
    """Raise unless a value is a proportion."""
    check_number(name, value, 0, 1)


def check_weights(name: str, weights: Iterable[float]) -> None:
    """Raise unless weights are finite, not negative, and at least one is positive."""
    values = list(weights)
    for weight in values:
        check_number(f"A weight of {name}", weight, 0)
    if sum(values) <= 0:
        raise InvalidInput(f"The weights of {name} are {values}; at least one must be above 0.")
    if not isfinite(sum(values)):
        raise InvalidInput(f"The weights of {name} are {values}, whose sum is too large. Divide them by one number.")


def clamp_page(page: int, n: int, size: int) -> tuple[int, int, int]:
    """Return a page number from 1, at most the last one, with the number of pages and the position of its first row.

    Examples
    --------
    >>> clamp_page(2, 51, 50), clamp_page(9, 51, 50), clamp_page(1, 0, 50)
    ((2, 2, 50), (2, 2, 50), (1, 1, 0))
    """
    pages = max(1, -(-n // size))
    page = min(page, pages)
    return page, pages, (page - 1) * size
