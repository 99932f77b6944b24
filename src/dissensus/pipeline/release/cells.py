"""Cells of raters with the same attributes: size, wider groups, and suppression of small ones.

A table is k-anonymous if every combination of its quasi-identifiers is that of k people or none (Sweeney 2002,
https://doi.org/10.1142/S0218488502001648). A blank value is a value of its own here: whoever knows the value of a
rater finds them nowhere, and must take them for anybody with a blank.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

N_RATERS: Final = "n_raters"


def count_cells(raters: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Return the cells of raters with their sizes, the smallest first.

    Examples
    --------
    >>> raters = pl.DataFrame({"rater_id": ["a", "b", "c"], "rater_age": ["old", "old", "young"]})
    >>> count_cells(raters, ["rater_age"]).rows()
    [('young', 1), ('old', 2)]
    """
    if not axes:
        return pl.DataFrame({N_RATERS: [raters.height]}, schema={N_RATERS: pl.Int64})
    counts = raters.group_by(axes).agg(pl.len().cast(pl.Int64).alias(N_RATERS))
    return counts.sort(N_RATERS, *axes, nulls_last=True)


def mark_small_cells(raters: pl.DataFrame, axes: Sequence[str], k: int) -> pl.Series:
    """Return whether each rater is in a cell of fewer than k raters."""
    if not axes:
        return pl.Series([raters.height < k] * raters.height, dtype=pl.Boolean)
    return raters.select(pl.len().over(axes) < k).to_series()


def widen_groups(raters: pl.DataFrame, groups: Mapping[str, Mapping[str, Sequence[str]]]) -> pl.DataFrame:
    """Return raters with the values of wider groups in place of their own.

    Examples
    --------
    >>> raters = pl.DataFrame({"rater_id": ["a", "b"], "rater_age": ["30-39", "18-29"]})
    >>> widen_groups(raters, {"rater_age": {"30 or older": ["30-39", "40+"]}})["rater_age"].to_list()
    ['30 or older', '18-29']
    """
    columns = []
    for axis, wider in groups.items():
        names = {value: name for name, values in wider.items() for value in values}
        columns.append(pl.col(axis).replace(names))
    return raters.with_columns(columns)


def blank_small_cells(raters: pl.DataFrame, order: Sequence[str], k: int, *, fixed: Sequence[str] = ()) -> pl.DataFrame:
    """Return raters without some values, axis by axis, so that as few as possible are in cells of fewer than k.

    The raters of small cells lose the value of the first axis, those who are still in small cells that of the next
    one, and so on. Raters who remain in small cells have no value left, except those of the `fixed` axes.

    Examples
    --------
    The only young woman becomes a woman of unknown age, and so does the only old one:

    >>> raters = pl.DataFrame({"rater_sex": ["W", "W", "M", "M"], "rater_age": ["young", "old", "old", "old"]})
    >>> blank_small_cells(raters, ["rater_age", "rater_sex"], 2).rows()
    [('W', None), ('W', None), ('M', 'old'), ('M', 'old')]
    """
    axes = [name for name in raters.columns if name in (*order, *fixed)]
    for axis in order:
        small = mark_small_cells(raters, axes, k)
        raters = raters.with_columns(pl.when(small).then(None).otherwise(pl.col(axis)).alias(axis))
    return raters
