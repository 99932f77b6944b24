"""Tables of populations: counts of crossed groups of people, or margins of their attributes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.columns import RATER_PREFIX

COUNTS: Final = ("count", "n", "weight", "share", "population")
"""Names of the column of counts in a population table."""
MARGINS: Final = {"column", "level"}
"""Columns of a table of margins, beside the counts."""
MAX_STEPS: Final = 1000
"""Most steps of raking."""
TOLERANCE: Final = 1e-10
"""Largest change of a weight in a step after which raking ends."""
MAX_ERROR: Final = 1e-6
"""Largest difference between a share of a margin and the weights after raking."""

Counts = dict[tuple[int, ...], float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RaterPopulation:
    """Attributes of raters with their levels, and the crossed groups of the raters."""

    levels: Mapping[str, Sequence[str]]  # of each attribute
    codes: Mapping[str, NDArray[np.int32]]  # level of each crossed group on each attribute, shape (M,)
    n_raters: NDArray[np.int64]  # raters in each crossed group, shape (M,)


def read_population(label: str, table: pl.DataFrame, raters: RaterPopulation) -> Counts:
    """Return the count of each crossed group in a table of counts, or its weight from a table of margins by raking.

    Crossed groups are codes of levels, in the order of the attributes.
    """
    names = list(raters.levels)
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
        return _rake(raters, label, table, count.to_list())
    columns = {name: _find_column(label, table, name) for name in names}
    codes = [
        _encode(label, name, raters.levels[name], table[column].cast(pl.String).to_list())
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
        f"The population {format_value(label)} has no column {name}, an attribute of raters in the model; it has "
        f"{format_list(table.columns)}. Give counts of each crossed group, or margins in the columns column, level and "
        "count."
    )


def _encode(label: str, name: str, levels: Sequence[str], values: Sequence[str | None]) -> list[int]:
    codes = {level: code for code, level in enumerate(levels)}
    for value in values:
        if value is None or value not in codes:
            shown = "an empty cell" if value is None else format_value(value)
            raise InvalidInput(
                f"The population {format_value(label)} has {shown} in {name}, and no modelled "
                f"rater has.{suggest(value or '', levels)} The levels are {format_list(levels, 30)}. "
                "Leave the line out, or join levels in both files."
            )
    return [codes[value] for value in values if value is not None]


def _rake(raters: RaterPopulation, label: str, table: pl.DataFrame, counts: Sequence[float]) -> Counts:
    """Return weights of the raters' crossed groups with the margins of a table (iterative proportional fitting)."""
    margins = _read_margins(raters, label, table, counts)
    weights = raters.n_raters / raters.n_raters.sum()
    for _ in range(MAX_STEPS):
        before = weights.copy()
        for name, margin in margins.items():
            for code, share in margin.items():
                inside = raters.codes[name] == code
                if share and not weights[inside].sum() > 0:
                    raise InvalidInput(
                        f"No rater stands for {raters.levels[name][code]!r} of the population "
                        f"{format_value(label)} together with its other margins. Give counts of crossed groups."
                    )
                weights[inside] *= share / max(weights[inside].sum(), 1e-300)
            weights[~np.isin(raters.codes[name], list(margin))] = 0.0
        if np.abs(weights - before).max() < TOLERANCE:
            break
    # Steps repeat the same weights, which have the last margin alone, where margins contradict each other.
    errors = [
        abs(weights[raters.codes[name] == code].sum() - share)
        for name, margin in margins.items()
        for code, share in margin.items()
    ]
    if max(errors) > MAX_ERROR:
        raise InvalidInput(
            f"The margins of the population {format_value(label)} contradict each other among the raters' crossed "
            "groups. Give counts of crossed groups."
        )
    keys = zip(*(raters.codes[name].tolist() for name in raters.levels), strict=True)
    return {key: float(weight) for key, weight in zip(keys, weights, strict=True) if weight > 0}


def _read_margins(
    raters: RaterPopulation, label: str, table: pl.DataFrame, counts: Sequence[float]
) -> dict[str, dict[int, float]]:
    """Return the share of each level of each attribute."""
    full = {name.removeprefix(RATER_PREFIX): name for name in raters.levels}
    full |= {name: name for name in full.values()}
    margins: dict[str, dict[int, float]] = {}
    rows = zip(table["column"].cast(pl.String), table["level"].cast(pl.String), counts, strict=True)
    for name, level, count in rows:
        if name not in full:
            shown = "an empty cell" if name is None else format_value(name)
            raise InvalidInput(
                f"The population {format_value(label)} has margins of {shown}, which is not an attribute "
                f"of raters in the model.{suggest(name or '', list(full))} They are {format_list(list(full.values()))}."
            )
        (code,) = _encode(label, full[name], raters.levels[full[name]], [level])
        margin = margins.setdefault(full[name], {})
        margin[code] = margin.get(code, 0.0) + count
    totals = {name: sum(margin.values()) for name, margin in margins.items()}
    if empty := [name for name, total in totals.items() if not total > 0]:
        raise InvalidInput(
            f"All counts of {empty[0]} in the population {format_value(label)} are 0. Give the number or the share of "
            "people at each level, or leave the attribute out."
        )
    return {name: {code: n / totals[name] for code, n in margin.items()} for name, margin in margins.items()}
