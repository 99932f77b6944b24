"""Curves over the numbers of a design, in panels beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dissensus.report.graphics.layout import (
    concat_horizontally,
    concat_vertically,
    count_legend_columns,
    stack_layers,
)
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, INK, MUTED, ORANGE, PAPER, VERMILION, pick_ramp_colors
from dissensus.report.graphics.vega_lite import Y2, Axis, Chart, Color, Legend, Scale, Spec, X, Y

COLORS: Final = (BLUE, VERMILION, ORANGE, INK)
SIDE, GAP, HEIGHT = 46, 22, 180


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a curve, with its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A named curve; without a line its points stand alone."""

    name: str
    points: tuple[CurvePoint, ...]
    has_line: bool = True
    has_marks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePanel:
    """Curves over one axis; `level` is a dashed line across."""

    title: str
    x_title: str
    curves: tuple[Curve, ...]
    level: float | None = None
    percent: bool = False
    from_zero: bool = True


def draw_panels(panels: Sequence[CurvePanel], width: int, *, ordered: bool = False) -> Spec:
    """Draw panels side by side, or one below the other on a narrow page; `ordered` curves have colours of a ramp."""
    is_narrow = width <= COLUMN_WIDTH
    across = 1 if is_narrow else len(panels)
    each = (width - across * SIDE - (across - 1) * GAP) // across
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    colors = pick_ramp_colors(len(names) + 1)[1:] if ordered else [*COLORS[: len(names)]]
    legend = None if len(names) < 2 else Legend(columns=count_legend_columns(names, width - SIDE))
    color = Color("of:N", scale=Scale(domain=names, range=colors), legend=legend)
    drawn = [_draw_panel(panel, each, color) for panel in panels]
    if len(drawn) == 1:
        return drawn[0]
    return concat_vertically(drawn, spacing=GAP) if is_narrow else concat_horizontally(drawn, spacing=GAP)


def _draw_panel(panel: CurvePanel, width: int, color: Color) -> Spec:
    points = [(curve, point) for curve in panel.curves for point in curve.points]
    ends = [value for _, point in points for value in (point.y, point.low, point.high) if value is not None]
    ends += [panel.level] if panel.level is not None else []
    low, high = (0.0 if panel.from_zero else min(ends)), max(ends)
    y_scale = Scale(domain=[low, 1.0 if panel.percent else 1.05 * high], nice=False, zero=False)
    y = Y("y:Q", title=None, scale=y_scale, axis=Axis(tickCount=5, format="~%" if panel.percent else ".2~f"))
    numbers = [point.x for _, point in points]
    room = 0.04 * (max(numbers) - min(numbers)) or 0.5
    x_scale = Scale(domain=[min(numbers) - room, max(numbers) + room], nice=False, zero=False)
    axis = Axis(format="~s" if max(numbers) >= 10_000 else ",d", grid=False, tickCount=5, labelOverlap=True)
    x = X("x:Q", title=panel.x_title, scale=x_scale, axis=axis)
    rows = [_row(curve, point) for curve, point in points]
    lined = {curve.name for curve in panel.curves if curve.has_line}
    marked = {curve.name for curve in panel.curves if curve.has_marks}
    level = [] if panel.level is None else [{"y": panel.level}]
    layers = [
        Chart(level).mark("rule", color=MUTED, strokeDash=[4, 3], strokeWidth=1.2).encode(y),
        Chart([row for row in rows if row["of"] in lined]).mark("line", strokeWidth=1.6).encode(x, y, color),
        Chart([row for row in rows if row["low"] is not None])
        .mark("rule", strokeWidth=1.5)
        .encode(x, Y("low:Q"), Y2("high:Q"), color),
        Chart([row for row in rows if row["of"] in marked])
        .mark("point", filled=True, size=44, opacity=1, stroke=PAPER)
        .encode(x, y, color),
    ]
    return stack_layers(layers, width=width, height=HEIGHT) | {"title": {"text": panel.title, "fontSize": 11}}


def _row(curve: Curve, point: CurvePoint) -> dict[str, Any]:
    return {"of": curve.name, "x": point.x, "y": point.y, "low": point.low, "high": point.high}
