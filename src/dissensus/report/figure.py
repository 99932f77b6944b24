"""Figure: drawing, title, reading, notes and numbers."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dissensus.extras import is_installed
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.graphics.drawing_process import DrawingProcess
from dissensus.report.graphics.figure_kind import Kind, detect_kind
from dissensus.report.graphics.render import render, render_inline
from dissensus.report.graphics.theme import COLUMN_WIDTH, TEXT_WIDTH, apply_theme
from dissensus.report.graphics.vega_lite import Spec

if TYPE_CHECKING:
    from altair import TopLevelMixin

ON_PAGE = ((TEXT_WIDTH, "-w"), (COLUMN_WIDTH, "-n"))
"""Widths of a figure on a page, and the suffixes of its names."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """A figure with its reading and its numbers; shown in a notebook as it is in a report.

    Parameters
    ----------
    name
        Name of its file, without suffix.
    title
        Title above the figure.
    reading
        The result, in one sentence.
    table
        The numbers that are drawn.
    draw
        Draws it at a width in pixels.
    notes
        Explanations for the reader.
    axis
        The axis whose groups it compares, if any.
    """

    name: str
    title: str
    reading: str
    table: pl.DataFrame
    draw: Callable[[int], Spec] = field(repr=False)
    notes: tuple[str, ...] = ()
    axis: str | None = None
    _drawings: dict[tuple[int, str], Future[str | None]] = field(default_factory=dict, init=False, repr=False)

    @property
    def chart(self) -> "TopLevelMixin":
        """The Altair chart, as wide as a page of a paper."""
        # Altair takes longer to load than a figure to draw.
        import altair as alt

        return alt.Chart.from_dict(apply_theme(self.draw(TEXT_WIDTH)))

    def render(self, kind: Kind = "svg", *, width: int = TEXT_WIDTH) -> bytes:
        """Return it as "svg", "png" (300 pixels an inch), "pdf" or "json" (Vega-Lite); 96 of `width` are an inch."""
        return render(self.draw(width), kind)

    def save(self, path: str | Path, *, width: int = TEXT_WIDTH) -> None:
        """Write it to a .svg, .png, .pdf or .json file; see `render`."""
        Path(path).write_bytes(self.render(detect_kind(Path(path)), width=width))

    def inline(self, width: int, suffix: str = "") -> str:
        """Return it as SVG that takes its colours from the surrounding page."""
        drawing = self._drawings.get((width, suffix))
        svg = None if drawing is None or drawing.cancelled() else drawing.result()
        return render_inline(*self._inline(width, suffix)) if svg is None else svg

    def begin(self, process: DrawingProcess) -> None:
        """Begin to draw it for a page, in another process; `inline` waits for the result."""
        for width, suffix in ON_PAGE:
            self._drawings[width, suffix] = process.submit(*self._inline(width, suffix))

    def _inline(self, width: int, suffix: str) -> tuple[Spec, str, str]:
        """Return the arguments of `render_inline`."""
        label = escape_unprintable(f"{self.title}. {self.reading}")
        return self.draw(width), f"{self.name}{suffix}", label

    def _repr_html_(self) -> str:
        notes = "".join(f"<br><small>{escape(note)}</small>" for note in self.notes)
        drawing = self.render().decode() if is_installed("figures") else self.table._repr_html_()
        return f"<p><b>{escape(self.title)}</b><br>{escape(self.reading)}{notes}</p>{drawing}"
