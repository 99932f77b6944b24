"""Values that items share in an attribute, such as topics or degrees of harm, and the items of each."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.ratings.columns import DEGREES, TEXTS
from dissensus.schema.ratings.table import Ratings

MAX_VALUES: Final = 100
"""Values of an attribute that are analysed one by one."""


def resolve_item_attributes(ratings: Ratings, attributes: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of attributes of items without repetition; refuse those with no values, too many, or texts."""
    names = [attributes] if isinstance(attributes, str) else attributes
    resolved = tuple(dict.fromkeys(ratings.item_attribute(name) for name in names))
    for name in resolved:
        refuse_texts(name)
        n_values = ratings.item_members(name)["value"].n_unique()
        if n_values > MAX_VALUES:
            reason = (
                f"{name} has {n_values:,} values, and at most {MAX_VALUES} are analysed one by one. Name an attribute "
                "with fewer values."
            )
            remedy = (
                f"If they are numbers, make intervals: --bins {name}=A,B,… (in Python: bins=); if its cells hold "
                "several values each, name it as a set: --sets (in Python: sets=)."
            )
            raise InvalidInput(Advice(f"{reason} {remedy}", site=reason))
        if not n_values:
            reason = f"No item has a value of {name}. Leave it out"
            raise InvalidInput(Advice(f"{reason}, or join a table that has it (--items).", site=f"{reason}."))
    return resolved


def refuse_texts(name: str) -> None:
    """Refuse an attribute of items that holds texts."""
    if name in TEXTS:
        raise InvalidInput(f"{name} holds texts, not values that items share. Name another attribute of items.")


def list_item_values(ratings: Ratings, attribute: str) -> Iterator[tuple[str, pl.Series]]:
    """Yield each value and the mask of its items.

    Intervals and degrees of harm are in their own order, values of sets by frequency, and others by name.
    """
    members = ratings.item_members(attribute)
    values = members["value"].unique().sort().to_list()
    declared = ratings.items[attribute].dtype
    if isinstance(declared, pl.Enum):
        values.sort(key=declared.categories.to_list().index)
    elif set(values) <= set(DEGREES):
        values.sort(key=DEGREES.index)
    elif attribute in ratings.sets:
        counts = dict(members["value"].value_counts().iter_rows())
        values.sort(key=lambda value: -counts[value])
    rows = pl.int_range(ratings.n_items, eager=True)
    for value in values:
        yield value, rows.is_in(members.filter(value=value)["row"].implode())
