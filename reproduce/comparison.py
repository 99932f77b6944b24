"""Comparison of published and computed values: verdicts and Markdown tables."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

Verdict = Literal["reproduced", "to rounding", "differs"]


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it is printed: "43,050", ".166", "34 %", or the bounds "> 60 %" and "≤ 5"."""

    number: float
    decimals: int
    percent: bool
    bound: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the text; a number that it does not hold is an error in the script."""
        match = re.fullmatch(r"([>≤]?) ?([\d,]*\.?\d+)( %)?", text)
        if match is None:
            raise ValueError(f"{text!r} is not a printed number.")
        bound, number, percent = match.groups()
        return cls(float(number.replace(",", "")), len(number.partition(".")[2]), percent is not None, bound)


@dataclass(frozen=True, slots=True)
class Row:
    """A published value, as printed, beside ours: words, a count, or a number; a share where print has percent."""

    label: str
    published: str
    computed: str | int | float
    note: str = ""
    beside: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Words and counts must be the same; a number may be off by one unit of the last printed digit."""
        if isinstance(self.computed, str):
            return "reproduced" if self.computed == self.published else "differs"
        printed = Printed.of(self.published)
        value = self.computed * 100 if printed.percent else self.computed
        if printed.bound:
            holds = value > printed.number if printed.bound == ">" else value <= printed.number
            return "reproduced" if holds else "differs"
        if f"{value:.{printed.decimals}f}" == f"{printed.number:.{printed.decimals}f}":
            return "reproduced"
        near = abs(value - printed.number) <= 10**-printed.decimals * (1 + 1e-9)
        return "to rounding" if near and isinstance(self.computed, float) else "differs"

    @property
    def display(self) -> str:
        """Our value, with the digits that print has; shares of a hundred with one more."""
        if isinstance(self.computed, str):
            return self.computed
        if isinstance(self.computed, int):
            return f"{self.computed:,}"
        printed = Printed.of(self.published)
        if printed.percent:
            return f"{100 * self.computed:.{printed.decimals + 1}f} %"
        text = f"{self.computed:.{printed.decimals}f}"
        return text.removeprefix("0") if self.published.startswith(".") else text


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a heading, with further columns under the heads `beside`, and the notes below them."""

    heading: str
    rows: tuple[Row, ...]
    intro: str = ""
    beside: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of Markdown."""
        yield f"### {self.heading}\n"
        if self.intro:
            yield f"{self.intro}\n"
        yield from table(
            ("What", "Published", "Computed", *self.beside, "Verdict"),
            (
                (row.label, row.published, row.display, *row.beside, highlight_difference(row.verdict, row))
                for row in self.rows
            ),
            right=range(1, 3 + len(self.beside)),
        )
        yield ""
        yield from notes(self.rows)


def notes(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a list of the notes; rows with the same note share it."""
    labels_by_note: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            labels_by_note.setdefault(row.note, []).append(f"**{row.label}**")
    if labels_by_note:
        yield from (f"- {', '.join(labels)}: {note}" for note, labels in labels_by_note.items())
        yield ""


def grid(corner: str, columns: Sequence[str], lines: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Yield a table of many rows: published / computed in each cell."""
    yield from table(
        (corner, *columns),
        (
            (name, *(f"{row.published} / {highlight_difference(row.display, row)}" for row in rows))
            for name, rows in lines.items()
        ),
        right=range(1, 1 + len(columns)),
    )
    yield ""


def highlight_difference(text: str, row: Row) -> str:
    """Return the text, bold where the row is not reproduced."""
    return text if row.verdict == "reproduced" else f"**{text}**"


def count_line(rows: Sequence[Row]) -> str:
    """Return how many rows are reproduced."""
    verdicts = Counter(row.verdict for row in rows)
    return (
        f"**{verdicts['reproduced']} of {len(rows)} published values are reproduced.** Off by no more than one unit of "
        f"the last printed digit: {verdicts['to rounding']}. Different: {verdicts['differs']}.\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int]) -> Iterator[str]:
    """Yield the lines of a Markdown table whose `right` columns are aligned to the right."""
    to_the_right = set(right)
    yield f"| {' | '.join(head)} |"
    yield "|" + "|".join("--:" if c in to_the_right else "---" for c in range(len(head))) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
