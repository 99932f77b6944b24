"""Results as tables: blocks of cells, rendered as plain text and HTML."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

UNKNOWN = "–"
JOINERS = "\u200c\u200d"
NEWLINE, BREAK = "\n", "<br>"
NAME = "style='text-align:left;padding:.2em .8em .2em 0'"
FIGURE = "style='text-align:right;padding:.2em .5em;font-variant-numeric:tabular-nums'"


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines of cells below a head, the first cell of each being its name; a cell may hold several lines of text."""

    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A summary, blocks of cells, and what a reader needs to read them."""

    summary: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]

    def as_text(self) -> str:
        """Return it as plain text."""
        return "\n\n".join(part for part in (self.summary, *map(_text, self.grids), "\n".join(self.notes)) if part)

    def as_html(self) -> str:
        """Return it as an HTML fragment for a notebook; styles are inline, since notebooks drop others."""
        notes = "<br>".join(escape(note) for note in self.notes)
        foot = f"<p><small>{notes}</small></p>" if notes else ""
        return "\n".join([f"<p>{escape(self.summary)}</p>", *map(_html, self.grids), foot])


def escape_unprintable(text: str) -> str:
    """Show control characters as escapes: an id or a name must not write to the terminal as it likes.

    Joiners stay, since emoji and Persian words are made with them.
    """
    return "".join(c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text)


def format_short(value: float | None, digits: int = 2) -> str:
    """Return a number without the zero before the point, as the field prints shares."""
    if value is None:
        return UNKNOWN
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def _text(grid: Grid) -> str:
    rows = [grid.head, *(part for line in grid.lines for part in _split_lines(line))]
    widths = [max(len(row[c]) for row in rows) for c in range(len(grid.head))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    return "\n".join([*lines, *([grid.caption] if grid.caption else [])])


def _split_lines(line: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of text of one line of cells."""
    yield from zip_longest(*(cell.split("\n") for cell in line), fillvalue="")


def _html(grid: Grid) -> str:
    head = "".join(f"<th scope='col' {FIGURE if c else NAME}>{escape(text)}</th>" for c, text in enumerate(grid.head))
    body = "".join(
        f"<tr><th scope='row' {NAME}>{escape(first)}</th>"
        f"{''.join(f'<td {FIGURE}>{BREAK.join(map(escape, text.split(NEWLINE)))}</td>' for text in others)}</tr>"
        for first, *others in grid.lines
    )
    caption = f"<caption style='caption-side:bottom;text-align:left'>{escape(grid.caption)}</caption>"
    table = f"{caption if grid.caption else ''}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<table style='border-collapse:collapse;margin:1em 0'>{table}</table>"
