"""Report: sections, their figures and tables, and the page."""

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from dissensus.pipeline.analyse import Analysis
from dissensus.report.figure import Figure
from dissensus.report.figures.contested_items import ContestedItem
from dissensus.report.html import render_page
from dissensus.report.methods import WORDS, Method
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable


@dataclass(frozen=True, slots=True)
class Size:
    """One of the numbers at the head of a report."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Document:
    """A page of sections of figures, tables and items; shown in a notebook as it is in a browser."""

    title: str
    summary: str  # The analysed data, in one line
    sizes: tuple[Size, ...]  # Numbers at its head
    sections: tuple[Section, ...]  # In order, with reasons for parts left out
    command: str  # Call that reproduces it
    notes: tuple[str, ...]  # Notes on reading the data, and caveats
    version: str  # The same data, version and seed give the same page
    seed: int | None = None  # None where nothing is drawn
    # Formulas of its numbers, and the notation that they share
    methods: tuple[Method, ...] = field(default=(), repr=False)
    words: str = field(default=WORDS, repr=False)

    @property
    def main_axis(self) -> str:
        """The axis whose figures lead the summary; empty for none."""
        return ""

    @property
    def findings(self) -> tuple[tuple[Section, str], ...]:
        """Each section with the reading of its figure on the main axis, else of its first; a repeated reading once."""
        main = self.main_axis
        readings = [(section, section.finding(main)) for section in self.sections]
        first = {finding: section for section, finding in reversed(readings) if finding}
        return tuple((section, finding) for finding, section in reversed(first.items()))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures but those of single items."""
        return tuple(part for section in self.sections for part in section.parts if isinstance(part, Figure))

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """All tables."""
        return tuple(part for section in self.sections for part in section.parts if isinstance(part, ReportTable))

    @property
    def items(self) -> tuple[ContestedItem, ...]:
        """The contested items."""
        return tuple(part for section in self.sections for part in section.parts if isinstance(part, ContestedItem))

    @property
    def parts(self) -> tuple[Figure | ReportTable, ...]:
        """All figures and all tables, but those of single items."""
        return (*self.figures, *self.tables)

    def __getitem__(self, name: str) -> Figure | ReportTable:
        """Return a figure or a table by its name."""
        parts = {part.name: part for part in self.parts}
        if name not in parts:
            raise KeyError(f"no part is called {name!r}; there are {', '.join(parts)}")
        return parts[name]

    def to_html(self) -> str:
        """Return it as one page of HTML that needs no network and runs no script."""
        return render_page(self)

    def save(self, path: str | Path) -> None:
        """Write it as one page of HTML."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.to_html())}" style="width:100%;height:80vh;border:0"></iframe>'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report(Document):
    """A report of ratings: sections of figures, tables and items; shown in a notebook as a page.

    Parameters
    ----------
    analysis
        The analysis that it shows. The other parameters are those of `Document`.
    """

    analysis: Analysis = field(repr=False)

    @property
    def main_axis(self) -> str:
        """The axis with the most groups; empty for none."""
        axes = {
            axis: {row.group for row in self.analysis.rows if row.axis == axis} for axis in self.analysis.settings.axes
        }
        return max(axes, key=lambda axis: len(axes[axis]), default="")
