"""Item filter: sort order, filters and cursor of a list of items."""

from dataclasses import dataclass
from typing import Literal

ItemFlag = Literal["reported", "withheld", "skipped"]
"""What happened to an item: raters reported or skipped it, or it is withheld."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Order and filters of a list of items."""

    question: str | None = None  # Question whose answers are counted
    axis: str | None = None  # None sorts by position, "" by disagreement of all raters, an axis by that of its groups
    search: str = ""  # Part of the id or of a turn
    attribute: str = ""  # Name of an attribute of items
    value: str = ""  # Value of the attribute
    answer: int | None = None  # Index on the scale of an answer that somebody gave
    flag: ItemFlag | None = None
    gold: str = ""  # Gold label, of the file or settled by experts

    @property
    def is_selective(self) -> bool:
        """True if items can be left out."""
        return bool(self.search or self.attribute or self.flag or self.gold) or self.answer is not None


ItemCursor = tuple[float | None, int]
"""Sort key of an item, None in the order of positions, and its position."""
