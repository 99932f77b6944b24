"""Candidate attributes for strata, with value counts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dissensus.schema.records.item import Item


@dataclass(frozen=True, slots=True)
class StratumAttribute:
    """An attribute of items."""

    name: str
    counts: tuple[tuple[str, int], ...]  # Its values, each with the number of items that have it, most first
    n_missing: int  # Items without a value

    @property
    def divides(self) -> bool:
        """True for several values that occur at least twice on average."""
        n_items = sum(n for _, n in self.counts)
        return 2 <= len(self.counts) <= n_items / 2


def list_stratum_attributes(items: Sequence[Item]) -> tuple[StratumAttribute, ...]:
    """Return the attributes of items, in the order in which they are met.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> talk = Conversation.from_turns([("bot", "Hi")])
    >>> (found,) = list_stratum_attributes([Item(number, talk, {"harm": harm}) for number, harm in zip("1234", "BEEB")])
    >>> found.name, found.counts, found.divides
    ('harm', (('B', 2), ('E', 2)), True)
    """
    names = dict.fromkeys(name for item in items for name in item.attributes)
    return tuple(_summarise_attribute(name, items) for name in names)


def _summarise_attribute(name: str, items: Sequence[Item]) -> StratumAttribute:
    counts = Counter(item.attributes[name] for item in items if name in item.attributes)
    in_order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return StratumAttribute(name, tuple(in_order), len(items) - counts.total())
