"""Rater filter: sort order, filters and cursor of a list of raters."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

RaterFlag: TypeAlias = Literal["undecided", "excluded", "kept", "notices"]
"""Filters of raters by their flag, the decision about it, or their notices."""
RATER_FLAGS: tuple[RaterFlag, ...] = get_args(RaterFlag)

RaterOrder: TypeAlias = Literal["entry", "items", "time", "agreement"]
"""Orders: of entry, most items first, fastest first, and least agreement with others first."""
RATER_ORDERS: tuple[RaterOrder, ...] = get_args(RaterOrder)


MAX_RATER: Final = 1_000_000_000
"""Largest number of a rater."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFilter:
    """Order and filters of a list of raters."""

    order: RaterOrder = "entry"
    search: str = ""  # Number of a rater, from 1
    state: str = ""
    cell: str = ""  # Quota cell
    flag: RaterFlag | None = None


RaterCursor = tuple[float, int]
"""Sorting value and entry number of a rater."""
