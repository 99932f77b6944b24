"""Rater filter: sort order, filters and cursor of a list of raters."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

RaterFlag: TypeAlias = Literal["undecided", "excluded", "kept", "notices"]
"""Raters who are flagged and await a decision, were excluded or kept by one, or sent notices."""
RATER_FLAGS: tuple[RaterFlag, ...] = get_args(RaterFlag)

RaterOrder: TypeAlias = Literal["entry", "items", "time", "agreement"]
"""Orders: of entry, most items first, fastest first, and least agreement with others first."""
RATER_ORDERS: tuple[RaterOrder, ...] = get_args(RaterOrder)


MAX_RATER: Final = 1_000_000_000
"""Largest number of a rater that filters accept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFilter:
    """Order and filters of a list of raters."""

    order: RaterOrder = "entry"
    search: str = ""  # Number of a rater, from 1
    state: str = ""
    cell: str = ""  # Quota cell
    flag: RaterFlag | None = None


RaterCursor = tuple[float, int]
"""Sort key of a rater, and their entry number."""
