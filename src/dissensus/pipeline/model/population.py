"""Populations for which a model predicts answers: groups of the raters, and tables of counts or margins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.prediction import RaterCells, find_cells, rater_columns
from dissensus.schema.population import MARGINS, RaterPopulation, read_population
from dissensus.schema.ratings.columns import CROSSED, RATER_PREFIX


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A population as weights of crossed groups of raters, with sum one; `n_raters` of the model belong to it."""

    name: str
    axis: str | None  # None for a table
    weights: NDArray[np.float64]
    n_raters: int
    assumed: tuple[str, ...] = ()  # Attributes without a margin, distributed as among the raters


def group_populations(named: NamedDesign, cells: RaterCells) -> Iterator[Population]:
    """Yield each group of raters, and each crossed group of two attributes that some raters belong to."""
    factors = [name for name in rater_columns(named) if named.rows.columns[name].is_factor]
    for names in [*((name,) for name in factors), *combinations(factors, 2)]:
        levels = [named.rows.columns[name].levels for name in names]
        codes = np.array([cells.codes[name] for name in names])
        for group in np.unique(codes[:, cells.n_raters > 0], axis=1).T:
            inside = (codes == group[:, None]).all(0)
            counts = np.where(inside, cells.n_raters, 0)
            label = CROSSED.join(level[code] for level, code in zip(levels, group, strict=True))
            yield Population(label, "*".join(names), counts / counts.sum(), int(counts.sum()))


def extend_cells(named: NamedDesign, tables: Mapping[str, pl.DataFrame]) -> tuple[RaterCells, list[Population]]:
    """Return the crossed groups of raters and of population tables, and each table as a population of them."""
    cells = find_cells(named)
    names = rater_columns(named)
    if tables and not names:
        raise InvalidInput("The formula has no attribute of raters, so that all populations answer alike. Name one.")
    raters = RaterPopulation(
        levels={name: named.rows.columns[name].levels for name in names}, codes=cells.codes, n_raters=cells.n_raters
    )
    counts = {label: read_population(label, table, raters) for label, table in tables.items()}
    keys = list(zip(*(cells.codes[name].tolist() for name in names), strict=True)) if names else [()]
    n_raters = dict(zip(keys, cells.n_raters.tolist(), strict=True))
    all_keys = list(dict.fromkeys([*keys, *(key for table in counts.values() for key in table)]))
    codes = np.array(all_keys, np.int32).reshape(len(all_keys), len(names)).T
    extended = RaterCells(
        codes=dict(zip(names, codes, strict=True)), n_raters=np.array([n_raters.get(key, 0) for key in all_keys])
    )
    populations = []
    for label, table in counts.items():
        weights = np.array([table.get(key, 0.0) for key in all_keys])
        n = int(extended.n_raters[weights > 0].sum())
        populations.append(Population(label, None, weights / weights.sum(), n, _list_assumed(names, tables[label])))
    return extended, populations


def _list_assumed(names: Sequence[str], table: pl.DataFrame) -> tuple[str, ...]:
    """Return the attributes of raters in the model that a table of margins lacks."""
    if not set(table.columns) >= MARGINS:
        return ()
    known = table["column"].cast(pl.String).to_list()
    return tuple(name for name in names if name not in known and name.removeprefix(RATER_PREFIX) not in known)
