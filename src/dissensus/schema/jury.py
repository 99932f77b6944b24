"""Seats of a jury: numbers of jurors by group of people."""

import re
from collections.abc import Mapping
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_whole

N_SEATS: Final = 12
"""Default number of jurors."""

MAX_SEATS: Final = 1_000

_SEATS: Final = re.compile(r"\s*(.+?)\s*:\s*([0-9]{1,9})\s*(?:,|$)")


def parse_seats(text: str) -> dict[str, int]:
    """Parse seats, such as ``rater_gender=Woman:6, rater_gender=Man:6``.

    Examples
    --------
    >>> parse_seats("rater_gender=Woman:6,rater_gender=Man:6")
    {'rater_gender=Woman': 6, 'rater_gender=Man': 6}
    >>> parse_seats("rater_race=LatinX, Latino or Hispanic: 6")
    {'rater_race=LatinX, Latino or Hispanic': 6}
    """
    seats: dict[str, int] = {}
    end = 0
    while match := _SEATS.match(text, end):
        group, n = match.groups()
        seats[group] = seats.get(group, 0) + int(n)
        end = match.end()
    if end < len(text) or text.rstrip().endswith(",") or not seats:
        raise InvalidInput(
            f"--seats {format_value(text[end:].strip() or text)} is not like rater_gender=Woman:6, or several of them "
            "with commas between."
        )
    return seats


def check_seats(seats: Mapping[str, int]) -> None:
    """Refuse numbers of seats that are not whole, and juries of nobody or of too many."""
    if not isinstance(seats, Mapping):
        raise InvalidInput(
            f"The seats are {format_value(seats)}. Give a mapping of groups to numbers, such as "
            '{"rater_gender=Woman": 6}.'
        )
    for group, n in seats.items():
        check_whole(f"The number of seats of {group}", n)
    check_jury_size(sum(seats.values()))


def check_jury_size(n_seats: int) -> None:
    """Refuse a jury of nobody, or of too many."""
    if not 1 <= n_seats <= MAX_SEATS:
        raise InvalidInput(f"The jury has {n_seats:,} seats. Give 1 to {MAX_SEATS:,}, such as {N_SEATS}.")


def describe_seats(seats: Mapping[str, int]) -> str:
    """Return the seats of a jury in words.

    Examples
    --------
    >>> describe_seats({"rater_gender=Woman": 6, "rater_gender=Man": 6})
    '6 × rater_gender=Woman, 6 × rater_gender=Man'
    """
    return ", ".join(f"{n} × {group}" for group, n in seats.items() if n)
