"""Marks of several series in rows, each with its interval, colour, shape and size."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import altair as alt

from dissensus.report.layout import HeadedRows, count_legend_columns, to_inline_data
from dissensus.report.theme import PAPER

Look = tuple[str, str, int]
"""Colour, shape and size of the marks of a series."""


def draw_series(
    points: Sequence[dict[str, Any]],
    names: Sequence[str],
    looks: Sequence[Look],
    rows: HeadedRows,
    x: Callable[[str], alt.X],
    *,
    legend_of_one: bool = False,
) -> Iterator[alt.Chart]:
    """Yield the intervals and the marks of points with `x`, `low`, `high`, `y` and the name of their series, `of`."""
    colors, shapes, sizes = zip(*looks, strict=True)
    shown = len(names) > 1 or legend_of_one
    legend = alt.Legend(columns=count_legend_columns(names, rows.plot_width)) if shown else None
    color = alt.Color("of:N", scale=alt.Scale(domain=names, range=colors), legend=legend)
    shape = alt.Shape("of:N", scale=alt.Scale(domain=names, range=shapes), legend=legend)
    size = alt.Size("of:N", scale=alt.Scale(type="ordinal", domain=names, range=sizes), legend=None)
    base = alt.Chart(to_inline_data(points))
    yield base.mark_rule(strokeWidth=1.5).encode(rows.y(), x("low"), alt.X2("high:Q"), color)
    marks = base.mark_point(filled=True, opacity=1, stroke=PAPER, strokeWidth=0.8)
    yield marks.encode(rows.y(), x("x"), color, shape, size)
