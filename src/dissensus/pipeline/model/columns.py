"""Columns of a model: attributes of raters and items as levels or numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.item_sets import list_members
from dissensus.schema.ratings.columns import DEGREES, FLAG, ITEM_ID, RATER_ID, RATER_PREFIX
from dissensus.schema.ratings.item_values import refuse_texts
from dissensus.schema.ratings.table import Ratings

Owner = Literal["rater", "item"]
MOST_LEVELS: Final = 100
"""Largest number of levels of an effect; groups of random effects have any number."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelColumn:
    """An attribute: the code of each rater or item, -1 if unknown, and the level or number of each code."""

    name: str
    owner: Owner
    codes: NDArray[np.int32]
    levels: tuple[str, ...]  # The first is the base
    numbers: NDArray[np.float64] | None = None  # None for levels

    @property
    def is_factor(self) -> bool:
        """True for levels, False for numbers."""
        return self.numbers is None


def resolve_column(ratings: Ratings, name: str) -> str:
    """Return the full name of a column: "race" is "rater_race"."""
    attributes = [column for column in (*ratings.raters.columns, *ratings.items.columns) if column != FLAG]
    for full in (name, RATER_PREFIX + name):
        if full in attributes:
            return full
    hint = suggest(name, [*attributes, *(axis.removeprefix(RATER_PREFIX) for axis in ratings.axes)])
    raise NotFound(
        f"The formula names {format_value(name)}, and these ratings have no such column.{hint} Raters and items have "
        f"{format_list(attributes, 30)}. Other columns that describe raters are read when named: --rater-attribute "
        "COLUMN (in Python: rater_attributes=[...]); tables are joined by --raters FILE and --items FILE."
    )


def owner_of(ratings: Ratings, name: str) -> Owner:
    """Return whose attribute a column is."""
    return "rater" if name in ratings.raters.columns else "item"


def read_group(ratings: Ratings, name: str) -> ModelColumn:
    """Return a column whose values are groups of random effects."""
    owner = owner_of(ratings, name)
    values = (ratings.raters if owner == "rater" else ratings.items)[name]
    if name in (RATER_ID, ITEM_ID):
        return ModelColumn(name, owner, np.arange(len(values), dtype=np.int32), tuple(values))
    _refuse_sets(ratings, name, values)
    return _encode(name, owner, values)


def read_effect(ratings: Ratings, name: str, base: str | None) -> ModelColumn:
    """Return a column of effects: numbers if all its values are and no base is named, else levels, the base first."""
    refuse_texts(name)
    column = read_group(ratings, name)
    declared = (ratings.raters if column.owner == "rater" else ratings.items)[name].dtype
    if base is None and not isinstance(declared, pl.Enum) and name not in (RATER_ID, ITEM_ID):
        numbers = pl.Series(column.levels, dtype=pl.String).cast(pl.Float64, strict=False)
        if len(numbers) and numbers.is_finite().fill_null(value=False).all():
            return ModelColumn(name, column.owner, column.codes, column.levels, numbers.to_numpy())
    if len(column.levels) > MOST_LEVELS:
        raise InvalidInput(
            f"{name} has {len(column.levels):,} levels, and an effect has at most {MOST_LEVELS}. For an effect that "
            f"varies by it, write (1 | {name}); for intervals of numbers, --bins {name}=A,B,… (in Python: bins=)."
        )
    return column if base is None else _set_base(column, base)


def parse_base(texts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the base level of each column by its full name; `names` has the full name of each name in the formula."""
    full = {**names, **{name: name for name in names.values()}}
    full |= {name.removeprefix(RATER_PREFIX): name for name in names.values() if name.startswith(RATER_PREFIX)}
    for name in texts:
        if name not in full:
            raise NotFound(
                f"The base names {format_value(name)}, which is not an effect of the formula."
                f"{suggest(name, list(full))} "
                f"Its effects are of {format_list(list(dict.fromkeys(names.values()))) or 'no column'}."
            )
    return {full[name]: level for name, level in texts.items()}


def _set_base(column: ModelColumn, base: str) -> ModelColumn:
    if base not in column.levels:
        raise InvalidInput(
            f"The base of {column.name} is {format_value(base)}, and these ratings have no such level."
            f"{suggest(base, column.levels)} Its levels are {format_list(column.levels, 30)}."
        )
    old = column.levels.index(base)
    order = [old, *(code for code in range(len(column.levels)) if code != old)]
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return ModelColumn(column.name, column.owner, rank[column.codes], tuple(column.levels[code] for code in order))


def _encode(name: str, owner: Owner, values: pl.Series) -> ModelColumn:
    """Encode values: in their declared order, degrees of harm by degree, others sorted."""
    levels = values.unique().drop_nulls().sort().cast(pl.String).to_list()
    if set(levels) <= set(DEGREES):
        levels.sort(key=DEGREES.index)
    codes = values.cast(pl.String).cast(pl.Enum(levels)).to_physical().cast(pl.Int32).fill_null(-1)
    return ModelColumn(name, owner, codes.to_numpy(), tuple(levels))


def _refuse_sets(ratings: Ratings, name: str, values: pl.Series) -> None:
    if name not in ratings.sets or name not in ratings.items.columns:
        return
    members = list_members(values, is_set=True)
    if members["row"].is_duplicated().any():
        raise InvalidInput(
            f"Some items have several values of {name}, and an effect needs one for each item. Join a table with a "
            f"column for each value (--items FILE), or model the items with one: --where {name}=VALUE."
        )
