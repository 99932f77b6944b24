"""Display of results as pages of tables, in plain text and HTML."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

UNKNOWN = "–"
JOINERS = "\u200c\u200d"
NEWLINE, BREAK = "\n", "<br>"
NAME_STYLE = "style='text-align:left;padding:.2em .8em .2em 0'"
NUMBER_STYLE = "style='text-align:right;padding:.2em .5em;font-variant-numeric:tabular-nums'"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with a head, and a name in the first cell of each line; cells may have several lines of text."""

    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A summary, tables, and notes."""

    summary: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]

    def as_text(self) -> str:
        """Render as plain text."""
        return "\n\n".join(part for part in (self.summary, *map(_text, self.grids), "\n".join(self.notes)) if part)

    def as_html(self) -> str:
        """Render as an HTML fragment for a notebook, with inline styles, since notebooks drop others."""
        notes = "<br>".join(escape(note) for note in self.notes)
        foot = f"<p><small>{notes}</small></p>" if notes else ""
        return "\n".join([f"<p>{escape(self.summary)}</p>", *map(_html, self.grids), foot])


class PagedResult(ABC):
    """A result that is printed as a page, in a notebook too."""

    __slots__ = ()

    @abstractmethod
    def page(self) -> Page:
        """Return the result as a page of tables."""

    def __str__(self) -> str:
        return self.page().as_text()

    def _repr_html_(self) -> str:
        return self.page().as_html()


def escape_unprintable(text: str) -> str:
    """Escape control characters of ids and names, except joiners, which emoji and Persian words need."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text)


def format_number(n: int | None) -> str:
    """Return a whole number; a dash if it is unknown."""
    return UNKNOWN if n is None else f"{n:,}"


def format_short(value: float | None, digits: int = 2) -> str:
    """Format a number without the leading zero, as is usual for shares; a dash if it is unknown."""
    if value is None:
        return UNKNOWN
    text = f"{value:z.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def format_interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """Format an interval; a dash if it is unknown."""
    if low is None or high is None:
        return UNKNOWN
    return f"{format_short(low, digits)} to {format_short(high, digits)}"


def _text(grid: Grid) -> str:
    rows = [grid.head, *(part for line in grid.lines for part in _split_lines(line))]
    widths = [max(len(row[c]) for row in rows) for c in range(len(grid.head))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    return "\n".join([*lines, *([grid.caption] if grid.caption else [])])


def _split_lines(line: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the text lines of one line of cells."""
    yield from zip_longest(*(cell.split("\n") for cell in line), fillvalue="")


def _html(grid: Grid) -> str:
    head = "".join(
        f"<th scope='col' {NUMBER_STYLE if c else NAME_STYLE}>{escape(text)}</th>" for c, text in enumerate(grid.head)
    )
    body = "".join(
        f"<tr><th scope='row' {NAME_STYLE}>{escape(name)}</th>"
        f"{''.join(f'<td {NUMBER_STYLE}>{BREAK.join(map(escape, text.split(NEWLINE)))}</td>' for text in texts)}</tr>"
        for name, *texts in grid.lines
    )
    caption = f"<caption style='caption-side:bottom;text-align:left'>{escape(grid.caption)}</caption>"
    table = f"{caption if grid.caption else ''}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<table style='border-collapse:collapse;margin:1em 0'>{table}</table>"
