"""Axes by which raters are grouped: name resolution and group codes."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.ratings import columns as names


def resolve_axis(text: str, axes: Sequence[str]) -> str:
    """Return the canonical name of an axis or of crossed axes.

    Examples
    --------
    >>> resolve_axis("race * gender", ["rater_gender", "rater_race"])
    'rater_race*rater_gender'
    """
    parts = [_resolve_one_axis(part.strip(), axes) for part in text.split(names.CROSS)]
    if len(set(parts)) < len(parts):
        raise InvalidInput(f"Axis {text!r} crosses an axis with itself. Name each axis once.")
    return names.CROSS.join(parts)


def _resolve_one_axis(text: str, axes: Sequence[str]) -> str:
    for name in (text, names.RATER_PREFIX + text):
        if name in axes:
            return name
    short = [axis.removeprefix(names.RATER_PREFIX) for axis in axes]
    allowed = f"Axes here are {format_list(axes)}." if axes else "There are no attributes of raters here."
    reason = f"There is no axis {text!r}. {allowed}{suggest(text, [*axes, *short])}"
    other = "Other columns that describe raters are read as axes when named: --rater-attribute COLUMN"
    raise NotFound(Advice(f"{reason} {other} (in Python: rater_attributes=[...]).", site=reason))


def group_codes(raters: pl.DataFrame, axis: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return the group of each rater, -1 if unknown, and the names of the groups that occur.

    Values are in their declared order, else sorted, and crossed groups are in the order of their product.
    """
    attributes = [raters[name] for name in axis.split(names.CROSS)]
    values = [column.unique().drop_nulls().sort().cast(pl.String) for column in attributes]
    columns = [column.cast(pl.String) for column in attributes]
    cell = np.zeros(raters.height, dtype=np.int64)
    is_known = np.ones(raters.height, dtype=np.bool_)
    for column, levels in zip(columns, values, strict=True):
        code = column.cast(pl.Enum(levels)).to_physical().fill_null(0).to_numpy()
        cell = cell * len(levels) + code
        is_known &= column.is_not_null().to_numpy()
    occurring, group = np.unique(cell[is_known], return_inverse=True)
    codes = np.full(raters.height, -1, dtype=np.int32)
    codes[is_known] = group
    indices = np.unravel_index(occurring, [max(1, len(levels)) for levels in values])
    parts = [levels.gather(index) for levels, index in zip(values, indices, strict=True)]
    return codes, tuple(names.CROSSED.join(cell) for cell in zip(*parts, strict=True))


def format_axis(axis: str) -> str:
    """Return the name of an axis in words.

    Examples
    --------
    >>> format_axis("rater_raw_race*rater_gender")
    'raw race × gender'
    """
    return names.CROSSED.join(
        part.removeprefix(names.RATER_PREFIX).replace("_", " ") for part in axis.split(names.CROSS)
    )


def require_one_axis(by: str | Sequence[str]) -> str:
    """Return the only named axis; raise for several.

    Examples
    --------
    >>> require_one_axis(["race"])
    'race'
    """
    axes = [by] if isinstance(by, str) else list(by)
    if len(axes) != 1 or not isinstance(axes[0], str):
        raise InvalidInput(
            f"by is {by!r}, and one axis is compared at a time. Name one, such as 'race', or cross two: 'race*gender'."
        )
    return axes[0]
