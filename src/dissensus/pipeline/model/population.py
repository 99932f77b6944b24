"""Populations for which a model predicts answers: groups of the raters, and tables of counts or margins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.columns import ModelColumn
from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.prediction import RaterCells, find_cells, rater_columns
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.columns import CROSSED, RATER_PREFIX

COUNTS: Final = ("count", "n", "weight", "share", "population")
"""Names of the column of counts in a population table."""
MARGINS: Final = {"column", "level"}
"""Columns of a table of margins, beside the counts."""
MOST_STEPS: Final = 1000
RAKED: Final = 1e-10


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
    counts = {label: _read_counts(named, label, table, cells) for label, table in tables.items()}
    keys = list(zip(*(cells.codes[name].tolist() for name in names), strict=True)) if names else [()]
    n_raters = dict(zip(keys, cells.n_raters.tolist(), strict=True))
    every = list(dict.fromkeys([*keys, *(key for table in counts.values() for key in table)]))
    codes = np.array(every, np.int32).reshape(len(every), len(names)).T
    extended = RaterCells(
        codes=dict(zip(names, codes, strict=True)), n_raters=np.array([n_raters.get(key, 0) for key in every])
    )
    populations = []
    for label, table in counts.items():
        weights = np.array([table.get(key, 0.0) for key in every])
        n = int(extended.n_raters[weights > 0].sum())
        populations.append(Population(label, None, weights / weights.sum(), n, _list_assumed(names, tables[label])))
    return extended, populations


def _list_assumed(names: Sequence[str], table: pl.DataFrame) -> tuple[str, ...]:
    """Return the attributes of raters in the model that a table of margins lacks."""
    if not set(table.columns) >= MARGINS:
        return ()
    known = table["column"].cast(pl.String).to_list()
    return tuple(name for name in names if name not in known and name.removeprefix(RATER_PREFIX) not in known)


Counts = dict[tuple[int, ...], float]


def _read_counts(named: NamedDesign, label: str, table: pl.DataFrame, cells: RaterCells) -> Counts:
    """Return the count of each crossed group in a table of counts, or of margins, which are raked."""
    names = rater_columns(named)
    counted = [name for name in table.columns if name.lower() in COUNTS]
    if len(counted) != 1:
        raise InvalidInput(
            f"The population {format_value(label)} has {len(counted)} columns of counts among "
            f"{format_list(table.columns)}; give one of {format_list(COUNTS)}."
        )
    count = table[counted[0]].cast(pl.Float64, strict=False)
    invalid = (~(count.is_finite() & (count >= 0)).fill_null(value=False)).arg_true()
    if invalid.len():
        row = int(invalid[0])
        raise InvalidInput(
            f"Row {row + 1:,} of the population {format_value(label)}: {counted[0]} is "
            f"{format_value(table[counted[0]][row])}. Counts are numbers of 0 or more."
        )
    if not count.sum() > 0:
        raise InvalidInput(f"The counts of the population {format_value(label)} are all 0. Give one above 0.")
    if set(table.columns) - {counted[0]} == MARGINS:
        return _rake(named, label, table, count.to_list(), cells)
    columns = {name: _find_column(label, table, name) for name in names}
    codes = [
        _encode(label, named.rows.columns[name], table[column].cast(pl.String).to_list())
        for name, column in columns.items()
    ]
    counts: Counts = {}
    for key, n in zip(zip(*codes, strict=True), count.to_list(), strict=True):
        if n > 0:
            counts[key] = counts.get(key, 0.0) + n
    return counts


def _find_column(label: str, table: pl.DataFrame, name: str) -> str:
    for column in (name, name.removeprefix(RATER_PREFIX)):
        if column in table.columns:
            return column
    raise InvalidInput(
        f"The population {format_value(label)} has no column {name}, an attribute of raters in the formula; it has "
        f"{format_list(table.columns)}. Give counts of each crossed group, or margins in the columns column, level and "
        "count."
    )


def _encode(label: str, column: ModelColumn, values: Sequence[str | None]) -> list[int]:
    codes = {level: code for code, level in enumerate(column.levels)}
    for value in values:
        if value is None or value not in codes:
            raise InvalidInput(
                f"The population {format_value(label)} has {format_value(value)} in {column.name}, and no modelled "
                f"rater has.{suggest(value or '', column.levels)} The levels are {format_list(column.levels, 30)}. "
                "Leave the line out, or join levels in both files."
            )
    return [codes[value] for value in values if value is not None]


def _rake(named: NamedDesign, label: str, table: pl.DataFrame, counts: Sequence[float], cells: RaterCells) -> Counts:
    """Return counts of the raters' crossed groups with the margins of a table (iterative proportional fitting)."""
    full = {name.removeprefix(RATER_PREFIX): name for name in rater_columns(named)}
    full |= {name: name for name in full.values()}
    margins: dict[str, dict[int, float]] = {}
    rows = zip(table["column"].cast(pl.String), table["level"].cast(pl.String), counts, strict=True)
    for name, level, count in rows:
        if name not in full:
            raise InvalidInput(
                f"The population {format_value(label)} has margins of {format_value(name)}, which is not an attribute "
                f"of raters in the formula.{suggest(name, list(full))} They are {format_list(list(full.values()))}."
            )
        (code,) = _encode(label, named.rows.columns[full[name]], [level])
        margin = margins.setdefault(full[name], {})
        margin[code] = margin.get(code, 0.0) + count
    weights = cells.n_raters / cells.n_raters.sum()
    for _ in range(MOST_STEPS):
        before = weights.copy()
        for name, margin in margins.items():
            total = sum(margin.values())
            for code, count in margin.items():
                inside = cells.codes[name] == code
                if count and not weights[inside].sum() > 0:
                    raise InvalidInput(
                        f"No rater stands for {named.rows.columns[name].levels[code]!r} of the population "
                        f"{format_value(label)} together with its other margins. Give counts of crossed groups."
                    )
                weights[inside] *= count / total / max(weights[inside].sum(), 1e-300)
            weights[~np.isin(cells.codes[name], list(margin))] = 0.0
        if np.abs(weights - before).max() < RAKED:
            break
    else:
        raise InvalidInput(
            f"The margins of the population {format_value(label)} contradict each other among the raters' crossed "
            "groups. Give counts of crossed groups."
        )
    keys = zip(*(cells.codes[name].tolist() for name in rater_columns(named)), strict=True)
    return {key: float(weight) for key, weight in zip(keys, weights, strict=True) if weight > 0}
