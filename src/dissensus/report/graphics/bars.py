"""Bars: stacked bars of shares, and plain bars with a text at their end."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dissensus.report.graphics.layout import (
    RowLabels,
    count_legend_columns,
    estimate_text_width,
    stack_over_rows,
)
from dissensus.report.graphics.theme import BLUE, INK, PAPER
from dissensus.report.graphics.vega_lite import X2, Y2, Axis, Chart, Color, Legend, Scale, Spec, Text, X

HEIGHT, PLAIN_HEIGHT = 20, 14
SHARES = Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1], grid=False)
# Distance between a bar and the text beside it.
BESIDE = 6


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of every bar: name, fill colour, text colour."""

    name: str
    color: str
    text: str = INK


@dataclass(frozen=True, slots=True)
class Bar:
    """A plain bar: middle in pixels from the top, length (None for no bar), text at its end."""

    y: float
    value: float | None
    text: str = ""


def draw_whole_bars(
    rows: RowLabels,
    shares: Sequence[Sequence[float]],
    parts: Sequence[BarPart],
    *,
    labels: Sequence[Sequence[str]] | None = None,
) -> Spec:
    """Draw a bar from 0 to 100 % in each row, divided by `shares`; label parts with room, by default in per cent."""
    marks, texts = [], []
    for r, (middle, row_shares) in enumerate(zip(rows.row_middles, shares, strict=True)):
        ends = [0.0, *accumulate(row_shares)]
        for k, (part, start, end) in enumerate(zip(parts, ends, ends[1:], strict=False)):
            top, bottom = middle - HEIGHT / 2, middle + HEIGHT / 2
            marks.append({"part": part.name, "from": start, "to": end, "top": top, "bottom": bottom})
            text = f"{100 * (end - start):.0f}" if labels is None else labels[r][k]
            if estimate_text_width(text) + 8 <= (end - start) * rows.plot_width:
                texts.append({"part": part.name, "middle": (start + end) / 2, "y": middle, "text": text})
    order = [part.name for part in parts]
    x = X("from:Q", scale=Scale(domain=[0, 1], nice=False), title=None, axis=SHARES)
    legend = Legend(symbolType="square", columns=count_legend_columns(order, rows.plot_width))
    fills = Scale(domain=order, range=[part.color for part in parts])
    inks = Scale(domain=order, range=[part.text for part in parts])
    bars = Chart(marks).mark("rect", stroke=PAPER, strokeWidth=1)
    inside = Chart(texts).mark("text", baseline="middle")
    layers = [
        bars.encode(rows.y("top"), x, Color("part:N", scale=fills, legend=legend), X2("to:Q"), Y2("bottom:Q")),
        inside.encode(rows.y(), X("middle:Q"), Color("part:N", scale=inks, legend=None), Text("text:N")),
        *rows.draw_names(),
    ]
    return stack_over_rows(layers, rows) | {"resolve": {"scale": {"color": "independent"}}}


def draw_plain_bars(bars: Sequence[Bar], rows: RowLabels, *, end: float, axis: Axis | None = None) -> list[Spec]:
    """Return bars from 0 on a scale that ends at `end`, and the texts beside them."""
    half = PLAIN_HEIGHT / 2
    marks = [
        {"from": 0, "to": bar.value or 0, "top": bar.y - half, "bottom": bar.y + half, "y": bar.y, "text": bar.text}
        for bar in bars
    ]
    base = Chart(marks)
    x = X("from:Q", scale=Scale(domain=[0, end], nice=False), title=None, axis=axis)
    texts = base.mark("text", align="left", baseline="middle", dx=BESIDE)
    return [
        base.mark("rect", color=BLUE).encode(rows.y("top"), x, X2("to:Q"), Y2("bottom:Q")),
        texts.encode(rows.y(), X("to:Q"), Text("text:N")),
    ]


def find_scale_end(longest: float, texts: Sequence[str], width: float) -> float:
    """Return the end of a scale on which the longest bar leaves room for the texts beside it."""
    beside = max((estimate_text_width(text) for text in texts), default=0) + 2 * BESIDE
    return (longest or 1) * width / max(width - beside, width / 4)
