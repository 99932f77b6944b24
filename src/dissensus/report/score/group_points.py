"""Figure of values with intervals for everybody and each group, in series beside each other."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.graphics.layout import HeadedRows, RowBlock, count_legend_columns, stack_over_rows
from dissensus.report.graphics.series import draw_series
from dissensus.report.graphics.theme import BLUE, INK, ORANGE, VERMILION
from dissensus.report.graphics.vega_lite import Axis, Chart, Color, Legend, Scale, Spec, X, Y

LOOKS: Final = ((BLUE, "circle", 64), (VERMILION, "diamond", 64), (ORANGE, "square", 48), (INK, "triangle-up", 64))
"""Colour, shape and size of the marks of each series; more series share the last look."""
ROOM: Final = 9
"""Distance of the marks of a row, in pixels."""


class Value(NamedTuple):
    """A value with its interval, None if it has none."""

    estimate: float
    low: float | None = None
    high: float | None = None


class PointRow(NamedTuple):
    """A row of the figure: its name, without unprintable characters, and the value of each series."""

    name: str
    values: Mapping[str, Value]


Blocks = Sequence[tuple[str, Sequence[PointRow]]]


def draw_group_points(blocks: Blocks, width: int, *, series: Sequence[str], per_cent: bool) -> Spec:
    """Draw blocks of rows below headings, with a mark and an interval for each series."""
    headed = [RowBlock(heading, tuple(row.name for row in rows)) for heading, rows in blocks]
    names = [escape_unprintable(name) for name in series]
    rows = HeadedRows(headed, width, least=max(26, ROOM * len(series) + 12))
    points = [
        {
            "y": y + ROOM * (place - (len(series) - 1) / 2),
            "x": row.values[name].estimate,
            "low": _first_known(row.values[name].low, row.values[name].estimate),
            "high": _first_known(row.values[name].high, row.values[name].estimate),
            "of": names[place],
        }
        for row, y in zip((row for _, part in blocks for row in part), rows.row_middles, strict=True)
        for place, name in enumerate(series)
        if name in row.values
    ]
    looks = [LOOKS[min(place, len(LOOKS) - 1)] for place in range(len(names))]
    marks = draw_series(points, names, looks, rows, partial(_build_x, _find_domain(points), per_cent=per_cent))
    return stack_over_rows([*marks, *rows.draw_names()], rows)


def _first_known(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _find_domain(points: Sequence[dict[str, Any]]) -> list[float]:
    """Return the ends of the axis: a little beyond all intervals, and not below 0 if none is; 0 and 1 if empty."""
    if not points:
        return [0.0, 1.0]
    low, high = min(point["low"] for point in points), max(point["high"] for point in points)
    margin = 0.04 * (high - low or 0.1)
    return [max(0.0, low - margin) if low >= 0 else low - margin, high + margin]


def _build_x(domain: Sequence[float], field: str, *, per_cent: bool) -> X:
    axis = Axis(format="~%" if per_cent else ".2~f", tickCount=5, labelOverlap=True)
    return X(f"{field}:Q", title=None, scale=Scale(domain=domain, nice=False, zero=False), axis=axis)


def draw_group_lines(
    lines: Mapping[str, Sequence[tuple[float, float]]], colors: Mapping[str, str], width: int, height: int, title: str
) -> Spec:
    """Draw a line for each group over thresholds from 0 to 1, the most important last."""
    names = [escape_unprintable(name) for name in lines]
    points = [{"x": x, "y": y, "of": escape_unprintable(name)} for name, values in lines.items() for x, y in values]
    scale = Scale(domain=[0, 1], nice=False)
    percent = Axis(format="~%", tickCount=5)
    color = Color(
        "of:N",
        scale=Scale(domain=names, range=[colors[name] for name in lines]),
        legend=Legend(columns=count_legend_columns(names, width)),
    )
    chart = Chart(points).mark("line", strokeWidth=2)
    layer = chart.encode(
        X("x:Q", title="threshold", scale=scale, axis=Axis(format=".1f", tickCount=5)),
        Y("y:Q", title=None, scale=scale, axis=percent),
        color,
    )
    return layer | {
        "width": width,
        "height": height,
        "title": {"text": title, "fontSize": 11, "fontWeight": "bold"},
    }
