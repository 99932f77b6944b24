"""Marks of several series in rows, each with its interval, colour, shape and size."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dissensus.report.graphics.layout import HeadedRows, count_legend_columns
from dissensus.report.graphics.theme import PAPER
from dissensus.report.graphics.vega_lite import X2, Chart, Color, Legend, Scale, Shape, SizeChannel, Spec, X

Look = tuple[str, str, int]
"""Colour, shape and size of the marks of a series."""


def draw_series(
    points: Sequence[dict[str, Any]],
    names: Sequence[str],
    looks: Sequence[Look],
    rows: HeadedRows,
    x: Callable[[str], X],
    *,
    legend_of_one: bool = False,
) -> Iterator[Spec]:
    """Yield the intervals and the marks of points with `x`, `low`, `high`, `y` and the name of their series, `of`."""
    colors, shapes, sizes = zip(*looks, strict=True)
    shown = len(names) > 1 or legend_of_one
    legend = Legend(columns=count_legend_columns(names, rows.plot_width)) if shown else None
    color = Color("of:N", scale=Scale(domain=names, range=colors), legend=legend)
    shape = Shape("of:N", scale=Scale(domain=names, range=shapes), legend=legend)
    size = SizeChannel("of:N", scale=Scale(type="ordinal", domain=names, range=sizes), legend=None)
    base = Chart(points)
    yield base.mark("rule", strokeWidth=1.5).encode(rows.y(), x("low"), X2("high:Q"), color)
    marks = base.mark("point", filled=True, opacity=1, stroke=PAPER, strokeWidth=0.8)
    yield marks.encode(rows.y(), x("x"), color, shape, size)
