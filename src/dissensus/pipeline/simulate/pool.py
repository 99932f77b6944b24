"""Simulated rater pool: demographics, leanings, careless raters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.latent import deal_values
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.numbers import MAX_COUNT, check_weights, check_whole
from dissensus.schema.ratings import columns as names
from dissensus.stats.result import Int64Array

# Fifteen digits as in the real files, whose ids begin with 29: no simulated rater can be taken for a real one.
FIRST_ID, IDS = 900_000_000_000_000, 10**14


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCell:
    """Raters who are alike on the axes of the pool."""

    values: tuple[str, ...]  # Their group on each axis
    raters: int  # Number of raters
    careless: int = 0  # Careless raters drawn from this cell before others

    def __post_init__(self) -> None:
        check_whole(f"The number of raters of {', '.join(self.values)}", self.raters, most=MAX_COUNT)
        check_whole(f"The number of careless raters of {', '.join(self.values)}", self.careless, most=MAX_COUNT)
        if self.careless > self.raters:
            raise InvalidInput(
                f"{self.careless} of {self.raters} raters ({', '.join(self.values)}) cannot be careless."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """An attribute of raters that depends on another."""

    parent: str  # Attribute that it depends on
    values: Mapping[str, Mapping[str, float]]  # Weights of the values, for each value of the other attribute

    def __post_init__(self) -> None:
        for value, weights in self.values.items():
            check_weights(f"the details of {self.parent} {value}", weights.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Settings of the raters."""

    axes: tuple[str, ...]  # Columns of the attributes that the cells cross
    cells: tuple[PoolCell, ...]  # The cells; `cross_axes` makes equal ones
    # Independent attributes, with the weights of their values
    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    details: Mapping[str, Detail] = field(default_factory=dict)  # Attributes that depend on an axis or a margin

    def __post_init__(self) -> None:
        for cell in self.cells:
            if len(cell.values) != len(self.axes):
                raise InvalidInput(
                    f"A cell has the values {format_list(cell.values)}; it needs one of {format_list(self.axes)}."
                )
        if self.size == 0:
            raise InvalidInput("The pool has no raters. Give a cell at least one.")
        for name, weights in self.margins.items():
            check_weights(name, weights.values())
        for name, detail in self.details.items():
            missing = [value for value in self.groups(detail.parent) if value not in detail.values]
            if missing:
                raise InvalidInput(f"{name} has no weights for raters whose {detail.parent} is {format_list(missing)}.")

    @property
    def size(self) -> int:
        """Number of raters."""
        return sum(cell.raters for cell in self.cells)

    def groups(self, axis: str) -> tuple[str, ...]:
        """Return the groups of an axis."""
        if axis in self.axes:
            return tuple(dict.fromkeys(cell.values[self.axes.index(axis)] for cell in self.cells))
        if axis in self.margins:
            return tuple(self.margins[axis])
        axes = (*self.axes, *self.margins)
        raise InvalidInput(f"The pool has no axis {axis!r}.{suggest(axis, axes)} Its axes are {format_list(axes)}.")


def cross_axes(axes: Mapping[str, Sequence[str]], raters: int) -> tuple[PoolCell, ...]:
    """Return a cell of equal size for every combination of the groups of some axes.

    Examples
    --------
    >>> cells = cross_axes({"rater_age": ["gen z", "gen x+"], "rater_gender": ["Man", "Woman"]}, raters=10)
    >>> [cell.values for cell in cells]
    [('gen z', 'Man'), ('gen z', 'Woman'), ('gen x+', 'Man'), ('gen x+', 'Woman')]
    """
    return tuple(PoolCell(values=values, raters=raters) for values in product(*axes.values()))


def draw_cells(rng: np.random.Generator, pool: Pool) -> Int64Array:
    """Draw the cell of each rater, in random order."""
    return rng.permutation(np.repeat(np.arange(len(pool.cells)), [cell.raters for cell in pool.cells]))


def draw_attributes(rng: np.random.Generator, pool: Pool, cell: Int64Array) -> pl.DataFrame:
    """Draw the ids and the attributes of the raters of these cells, one row each."""
    n = cell.size
    ids = FIRST_ID + rng.choice(IDS, n, replace=False)
    columns = {names.RATER_ID: pl.Series(ids).cast(pl.String)}
    for index, axis in enumerate(pool.axes):
        columns[axis] = pl.Series([pool_cell.values[index] for pool_cell in pool.cells]).gather(cell)
    for name, weights in pool.margins.items():
        columns[name] = pl.Series(list(weights)).gather(deal_values(rng, list(weights.values()), n))
    for name, detail in pool.details.items():
        columns[name] = _draw_detail(rng, detail, columns[detail.parent])
    return pl.DataFrame(columns)


def _draw_detail(rng: np.random.Generator, detail: Detail, parent: pl.Series) -> pl.Series:
    values = np.empty(len(parent), dtype=object)
    for value, weights in detail.values.items():
        index = np.flatnonzero((parent == value).to_numpy())
        values[index] = np.array(list(weights), dtype=object)[deal_values(rng, list(weights.values()), index.size)]
    return pl.Series(values, dtype=pl.String)
