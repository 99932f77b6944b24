"""Bars: stacked bars of shares, and plain bars with a text at their end."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import altair as alt

from dissensus.report.layout import (
    RowLabels,
    Spec,
    count_legend_columns,
    estimate_text_width,
    stack_over_rows,
    to_inline_data,
)
from dissensus.report.theme import BLUE, INK, PAPER

HEIGHT, PLAIN_HEIGHT = 20, 14
SHARES = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1], grid=False)
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
    x = alt.X("from:Q", scale=alt.Scale(domain=[0, 1], nice=False), title=None, axis=SHARES)
    legend = alt.Legend(symbolType="square", columns=count_legend_columns(order, rows.plot_width))
    fills = alt.Scale(domain=order, range=[part.color for part in parts])
    inks = alt.Scale(domain=order, range=[part.text for part in parts])
    bars = alt.Chart(to_inline_data(marks)).mark_rect(stroke=PAPER, strokeWidth=1)
    inside = alt.Chart(to_inline_data(texts)).mark_text(baseline="middle")
    layers = [
        bars.encode(
            rows.y("top"), x, alt.Color("part:N", scale=fills, legend=legend), alt.X2("to:Q"), alt.Y2("bottom:Q")
        ),
        inside.encode(rows.y(), alt.X("middle:Q"), alt.Color("part:N", scale=inks, legend=None), alt.Text("text:N")),
        *rows.draw_names(),
    ]
    return stack_over_rows(layers, rows) | {"resolve": {"scale": {"color": "independent"}}}


def draw_plain_bars(
    bars: Sequence[Bar], rows: RowLabels, *, end: float, axis: alt.Axis | None = None
) -> list[alt.Chart]:
    """Return bars from 0 on a scale that ends at `end`, and the texts beside them."""
    half = PLAIN_HEIGHT / 2
    marks = [
        {"from": 0, "to": bar.value or 0, "top": bar.y - half, "bottom": bar.y + half, "y": bar.y, "text": bar.text}
        for bar in bars
    ]
    base = alt.Chart(to_inline_data(marks))
    x = alt.X("from:Q", scale=alt.Scale(domain=[0, end], nice=False), title=None, axis=axis)
    texts = base.mark_text(align="left", baseline="middle", dx=BESIDE)
    return [
        base.mark_rect(color=BLUE).encode(rows.y("top"), x, alt.X2("to:Q"), alt.Y2("bottom:Q")),
        texts.encode(rows.y(), alt.X("to:Q"), alt.Text("text:N")),
    ]


def find_scale_end(longest: float, texts: Sequence[str], width: float) -> float:
    """Return the end of a scale on which the longest bar leaves room for the texts beside it."""
    beside = max((estimate_text_width(text) for text in texts), default=0) + 2 * BESIDE
    return (longest or 1) * width / max(width - beside, width / 4)
