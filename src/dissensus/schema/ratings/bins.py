"""Intervals of numeric attributes of raters."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list

MANY_GROUPS = 12
"""Number of distinct values above which intervals are suggested."""


def bin_attribute(attribute: pl.Series, edges: Sequence[float]) -> tuple[pl.Series, tuple[str, ...]]:
    """Bin a numeric attribute; also return a note on values that are not numbers."""
    bounds = [float(edge) for edge in edges]
    if not bounds or not all(map(isfinite, bounds)) or any(b <= a for a, b in pairwise(bounds)):
        raise InvalidInput(
            f"The bins of {attribute.name} are {format_list(list(edges))}; give at least one number, in increasing "
            "order, such as 18,30,45."
        )
    text = attribute.cast(pl.String)
    numbers = _read_numbers(text)
    if numbers.null_count() == len(numbers):
        raise InvalidInput(
            f"{attribute.name} has no number to put into bins; its values are "
            f"{format_list(text.unique().drop_nulls().sort().to_list())}."
        )
    labels = label_intervals(bounds, whole=bool((numbers.drop_nulls() % 1 == 0).all()))
    index = pl.sum_horizontal(*(pl.lit(numbers) >= bound for bound in bounds))
    codes = pl.select(index).to_series()
    binned = pl.Series(labels).gather(codes)
    binned = binned.zip_with(numbers.is_not_null(), text)
    others = text.filter(numbers.is_null()).drop_nulls().unique().sort().to_list()
    occurring = set(binned)
    # A value may be written like an interval, such as 45+.
    order = dict.fromkeys([*(label for label in labels if label in occurring), *others])
    note = f"{attribute.name} has values that are not numbers, kept as separate groups: {format_list(others)}."
    return binned.alias(attribute.name).cast(pl.Enum(list(order))), (note,) if others else ()


def _read_numbers(text: pl.Series) -> pl.Series:
    """Return the finite numbers among texts, null for others, such as inf."""
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def label_intervals(bounds: Sequence[float], *, whole: bool) -> list[str]:
    """Return the names of intervals.

    Examples
    --------
    >>> label_intervals([18, 30, 45], whole=True)
    ['under 18', '18–29', '30–44', '45+']
    >>> label_intervals([0.5, 1], whole=False)
    ['under 0.5', '0.5 to under 1', '1+']
    """
    whole = whole and all(bound == int(bound) for bound in bounds)
    between = [
        (_format(low) if low == high - 1 else f"{_format(low)}–{_format(high - 1)}")
        if whole
        else f"{_format(low)} to under {_format(high)}"
        for low, high in pairwise(bounds)
    ]
    return [f"under {_format(bounds[0])}", *between, f"{_format(bounds[-1])}+"]


def _format(number: float) -> str:
    """Return a number with enough digits to tell it from others."""
    return f"{number:.15g}"


def suggest_bins(attribute: pl.Series) -> list[int] | None:
    """Return edges near the quartiles of an attribute with many different numbers; None for another attribute."""
    text = attribute.cast(pl.String).drop_nulls()
    numbers = _read_numbers(text).drop_nulls()
    if numbers.n_unique() <= MANY_GROUPS or len(numbers) < len(text) / 2:
        return None
    quartiles = [numbers.quantile(share, "nearest") for share in (0.25, 0.5, 0.75)]
    step = 5 if (numbers.max() or 0) - (numbers.min() or 0) >= 20 else 1  # type: ignore[operator]
    edges = sorted({round(float(quartile) / step) * step for quartile in quartiles if quartile is not None})
    return edges if len(edges) > 1 else None
