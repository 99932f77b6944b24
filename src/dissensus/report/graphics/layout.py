"""Layout of figures: row names, blocks below headings, panels side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from dissensus.report.graphics.theme import INK, MUTED, PADDING, SMALL
from dissensus.report.graphics.vega_lite import Chart, Color, Scale, Spec, Text, X, Y

NAME_SHARE = 0.36  # Most of the width that names take
NAME_LINES = 3  # Most lines of a name
LINE_HEIGHT = 13
NAME_GAP = 12
# Distance of a heading from the first row of its block.
BELOW = 10
# Width of a legend entry beside its text.
SYMBOL = 30
# Widths of characters in Liberation Sans, as parts of its size.
_NARROW, _WIDE, _UPPER, _OTHER, _FULL = 0.28, 0.86, 0.68, 0.54, 1.0


def estimate_text_width(text: str, size: float = SMALL) -> float:
    """Return the approximate width of a text in pixels."""
    return size * sum(map(_character, text))


@cache
def _character(c: str) -> float:
    if c in "ijlftrI.,:;'|!()[] -":
        return _NARROW
    if c in "mwMW@%—":
        return _WIDE
    if ord(c) > 0x2E7F:
        return _FULL
    return _UPPER if c.isupper() else _OTHER


def wrap_text(text: str, width: float) -> list[str]:
    """Wrap a text into at most `NAME_LINES` lines of a width in pixels, cut with an ellipsis."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if estimate_text_width(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    wrapped = [truncate_text(line, width) for line in lines[:NAME_LINES]]
    if len(lines) > NAME_LINES:
        wrapped[-1] = (
            truncate_text(f"{lines[NAME_LINES - 1]} …", width)
            if wrapped[-1].endswith("…")
            else truncate_text(wrapped[-1] + "…", width)
        )
    return wrapped


def truncate_text(text: str, width: float) -> str:
    """Return a text, cut with an ellipsis to a width in pixels."""
    if estimate_text_width(text) <= width:
        return text
    text = text.removesuffix("…")
    available = width / SMALL - _character("…")
    fitting = sum(used <= available for used in accumulate(map(_character, text)))
    return text[:fitting].rstrip() + "…"


class RowLabels:
    """Rows one below the other, with their names at the left.

    Charts over them have a y axis in pixels from the top, so that a row is as high as its name.
    """

    def __init__(self, names: Sequence[str], width: int, *, least: int = 24) -> None:
        max_width = NAME_SHARE * width
        self.lines = [
            [
                (line, INK if part == 0 else MUTED)
                for part, text in enumerate(name.split("\n"))
                for line in wrap_text(text, max_width)
            ]
            for name in names
        ]
        widest = max((estimate_text_width(line) for lines in self.lines for line, _ in lines), default=0)
        self.name_width = round(min(widest, max_width)) + NAME_GAP
        self.plot_width = width - self.name_width - 2 * PADDING
        self.heights = [max(least, LINE_HEIGHT * len(lines) + 8) for lines in self.lines]
        starts = [0, *accumulate(self.heights)]
        self.middles = [start + height / 2 for start, height in zip(starts, self.heights, strict=False)]
        self.row_middles = self.middles
        self.height = starts[-1]

    def y(self, field: str = "y") -> Y:
        """Return the y axis: a field in pixels from the top."""
        return Y(f"{field}:Q", scale=Scale(domain=[self.height, 0], nice=False, zero=False), axis=None)

    def draw_names(self) -> list[Spec]:
        """Return the layer of the names, at the left of the plot."""
        texts = [
            {"y": middle + LINE_HEIGHT * (line_number - (len(lines) - 1) / 2), "text": line, "color": color}
            for middle, lines in zip(self.middles, self.lines, strict=True)
            for line_number, (line, color) in enumerate(lines)
        ]
        mark = Chart(texts).mark("text", align="right", baseline="middle")
        labels = mark.encode(
            self.y(),
            Text("text:N"),
            Color("color:N", scale=None),
            X(value=-NAME_GAP / 2),
        )
        return [labels]


@dataclass(frozen=True, slots=True)
class RowBlock:
    """An optional heading, the names of its rows, and the end of the heading that is never cut."""

    heading: str
    names: tuple[str, ...]
    end: str = ""


class HeadedRows(RowLabels):
    """Blocks of rows below headings; `block_middles` are the middles of the rows of each block."""

    def __init__(self, blocks: Sequence[RowBlock], width: int, *, least: int = 24) -> None:
        lines = [[*([""] if block.heading else []), *block.names] for block in blocks]
        super().__init__([name for names in lines for name in names], width, least=least)
        positions = iter(zip(self.middles, self.heights, strict=True))
        self.headings: list[dict[str, Any]] = []
        self.block_middles: list[list[float]] = []
        for block in blocks:
            if block.heading:
                middle, height = next(positions)
                # Bold is about a tenth wider.
                room = 0.9 * self.plot_width - estimate_text_width(block.end)
                self.headings.append(
                    {"y": middle + height / 2 - BELOW, "text": truncate_text(block.heading, room) + block.end}
                )
            self.block_middles.append([next(positions)[0] for _ in block.names])
        self.row_middles = [middle for middles in self.block_middles for middle in middles]

    def draw_names(self) -> list[Spec]:
        """Return the layers of the names and of the headings, at the left of the plot."""
        mark = Chart(self.headings).mark("text", align="left", baseline="middle", fontWeight="bold", fontSize=SMALL)
        headings = mark.encode(self.y(), Text("text:N"), X(value=0))
        return [*super().draw_names(), headings]


def stack_over_rows(
    layers: Sequence[Spec], rows: RowLabels, *, width: int | None = None, title: str | None = None
) -> Spec:
    """Return layers over the same rows, under a heading."""
    size = {"width": rows.plot_width if width is None else width, "height": rows.height}
    head = {"title": {"text": title, "fontSize": SMALL, "fontWeight": "bold"}} if title else {}
    return stack_layers(layers, **size) | head


def stack_layers(layers: Sequence[Spec], *, width: int, height: int) -> Spec:
    """Return layers in a plot of a size in pixels."""
    return {"layer": list(layers), "width": width, "height": height}


def concat_horizontally(specs: Sequence[Spec], *, spacing: int) -> Spec:
    """Return figures from left to right."""
    return {"hconcat": list(specs), "spacing": spacing}


def concat_vertically(specs: Sequence[Spec], *, spacing: int) -> Spec:
    """Return figures one below the other."""
    return {"vconcat": list(specs), "spacing": spacing}


def count_legend_columns(names: Sequence[str], width: float) -> int:
    """Return the number of columns of a legend: as many as fit, in lines of about equal length."""
    widths = [estimate_text_width(name) + SYMBOL for name in names]
    fitting = (n for n in range(1, len(names) + 1) if sum(max(widths[c::n]) for c in range(n)) <= width)
    rows = -(-len(names) // max(fitting, default=1))
    return -(-len(names) // max(1, rows)) or 1
