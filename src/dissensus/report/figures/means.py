"""Means and shares with their intervals, in rows below headings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, escape_unprintable, format_short
from dissensus.report.graphics.layout import HeadedRows, RowBlock, stack_over_rows
from dissensus.report.graphics.series import draw_series
from dissensus.report.graphics.theme import BLUE, LINE, MUTED, ORANGE, PALE, VERMILION
from dissensus.report.graphics.vega_lite import X2, Y2, Axis, Chart, Scale, Spec, X
from dissensus.stats.cluster_bootstrap import BootstrapEstimate

LOOKS: Final = ((BLUE, "circle", 64), (VERMILION, "diamond", 64), (ORANGE, "square", 44))
# Heights of the bars of the wide and of the narrow span of a row, in pixels.
WIDE, NARROW = 8, 14
# Room for the last label beyond the plot.
BESIDE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRow:
    """One row: name, estimate of each series, and the spans of a pale bar, wide and narrow."""

    name: str
    marks: Mapping[str, BootstrapEstimate]
    spans: tuple[tuple[float, float], ...] = ()


class MeanRows(NamedTuple):
    """Rows below a heading."""

    heading: str
    lines: tuple[MeanRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleStyle:
    """Scale of values: per cent or number, position of a reference line, and a value that the axis includes."""

    percent: bool = False
    reference: float | None = None
    least: float | None = None


def build_table(
    blocks: Sequence[MeanRows], value: str, *, of: str | None = None, unit: str = "attempts"
) -> pl.DataFrame:
    """Return the numbers of the rows."""
    rows = [
        {
            "part": f"{block.heading}: {line.name}" if block.heading else line.name,
            **({} if of is None else {of: name}),
            value: mark.estimate,
            "ci_low": mark.ci_low,
            "ci_high": mark.ci_high,
            f"n_{unit}": mark.n,
            "n_red-teamers": mark.clusters,
            "reason": mark.reason,
        }
        for block in blocks
        for line in block.lines
        for name, mark in line.marks.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def explain_missing(mark: BootstrapEstimate) -> str:
    """Return the reason for a missing estimate or interval, in terms of red-teamers."""
    return mark.reason.replace("clusters", "red-teamers")


def format_as_percent(mark: BootstrapEstimate) -> str:
    """Return a share in per cent with its interval."""
    if mark.estimate is None:
        return UNKNOWN
    interval = (
        "" if mark.ci_low is None or mark.ci_high is None else f" [{100 * mark.ci_low:.1f}, {100 * mark.ci_high:.1f}]"
    )
    return f"{100 * mark.estimate:.1f} %{interval}"


def format_as_number(mark: BootstrapEstimate) -> str:
    """Return a mean with its interval."""
    interval = "" if mark.ci_low is None else f" [{format_short(mark.ci_low)}, {format_short(mark.ci_high)}]"
    return f"{format_short(mark.estimate)}{interval}"


def draw_means(blocks: Sequence[MeanRows], width: int, look: ScaleStyle) -> Spec:
    """Draw rows of marks with their intervals."""
    headed = [RowBlock(escape_unprintable(block.heading), tuple(line.name for line in block.lines)) for block in blocks]
    lines = [line for block in blocks for line in block.lines]
    names = list(dict.fromkeys(name for line in lines for name in line.marks))
    rows = HeadedRows(headed, width, least=14 + 14 * len(names))
    points = [
        {"y": y + 11 * (names.index(name) - (len(names) - 1) / 2), "x": mark.estimate, "of": name}
        | {"low": mark.estimate if mark.ci_low is None else mark.ci_low}
        | {"high": mark.estimate if mark.ci_high is None else mark.ci_high}
        for line, y in zip(lines, rows.row_middles, strict=True)
        for name, mark in line.marks.items()
        if mark.estimate is not None
    ]
    spans = [
        {"y": y, "low": low, "high": high, "top": y - size / 2, "bottom": y + size / 2, "dark": bool(level)}
        for line, y in zip(lines, rows.row_middles, strict=True)
        for level, ((low, high), size) in enumerate(zip(line.spans, (WIDE, NARROW), strict=False))
    ]
    x = _Axis(points, spans, look)
    marks = draw_series(points, names, LOOKS[: len(names)], rows, x) if points else ()
    layers = [*_spans(spans, x, rows), *_reference(look, x, rows), *marks, *rows.draw_names()]
    return stack_over_rows(layers, rows, width=rows.plot_width - BESIDE)


class _Axis:
    """The x axis over all marks and spans."""

    def __init__(self, points: Sequence[dict[str, Any]], spans: Sequence[dict[str, Any]], look: ScaleStyle) -> None:
        ends = [mark[end] for mark in (*points, *spans) for end in ("low", "high")]
        ends += [value for value in (look.reference, look.least) if value is not None]
        low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
        self.domain = [low, high if high > low else low + 1]
        self.format = "~%" if look.percent else "~g"

    def __call__(self, field: str) -> X:
        axis = Axis(format=self.format, tickCount=5, labelOverlap="greedy", labelSeparation=6)
        scale = Scale(domain=self.domain, nice=True, zero=False, padding=6)
        return X(f"{field}:Q", title=None, scale=scale, axis=axis)


def _spans(spans: Sequence[dict[str, Any]], x: _Axis, rows: HeadedRows) -> Iterator[Spec]:
    for dark, color, opacity in ((False, LINE, 1.0), (True, PALE, 0.45)):
        shaded = [span for span in spans if span["dark"] is dark]
        if shaded:
            bars = Chart(shaded).mark("rect", color=color, opacity=opacity)
            yield bars.encode(rows.y("top"), x("low"), X2("high:Q"), Y2("bottom:Q"))


def _reference(look: ScaleStyle, x: _Axis, rows: HeadedRows) -> Iterator[Spec]:
    if look.reference is not None:
        line = Chart([{"x": look.reference, "y": 0, "end": rows.height}])
        yield line.mark("rule", color=MUTED, strokeDash=[4, 3], strokeWidth=1.2).encode(x("x"), rows.y(), Y2("end:Q"))
