"""Where the marks of small charts stand: SVG is drawn by templates, in the colours of the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Final

WIDTH: Final = 100.0
"""Of every chart, which is drawn as wide as there is room."""
GAP: Final = 0.2
MOST_COLUMNS: Final = 60
WIDEST: Final = 12.0
"""Of a column, so that one alone is no wall."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a chart: what it stands for, how many, and where it is, from the upper left, of 100 each way."""

    label: str
    n: int
    x: float
    y: float
    width: float
    height: float


def columns(numbers: Sequence[tuple[str, int]]) -> tuple[Column, ...]:
    """Return a column for each number, the highest as high as the chart.

    Examples
    --------
    >>> [(one.label, round(one.x), one.y) for one in columns([("a", 1), ("b", 4)])]
    [('a', 19, 75.0), ('b', 69, 0.0)]
    """
    room = WIDTH / max(1, len(numbers))
    width = min(room * (1 - GAP), WIDEST)
    most = max((n for _, n in numbers), default=0) or 1
    return tuple(
        Column(label, n, room * place + (room - width) / 2, WIDTH - WIDTH * n / most, width, WIDTH * n / most)
        for place, (label, n) in enumerate(numbers)
    )


def joined(loads: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Return counts of whole numbers from the smallest to the largest, several together where these are many.

    Examples
    --------
    >>> joined([(1, 5), (3, 2)])
    [('1', 5), ('2', 0), ('3', 2)]
    >>> joined([(0, 5), (119, 2)])[:2]
    [('0–1', 5), ('2–3', 0)]
    """
    if not loads:
        return []
    low, high, known = loads[0][0], loads[-1][0], dict(loads)
    step = ceil((high - low + 1) / MOST_COLUMNS)
    starts = range(low, high + 1, step)
    return [
        (str(start) if step == 1 else f"{start}–{start + step - 1}", sum(known.get(start + n, 0) for n in range(step)))
        for start in starts
    ]


@dataclass(frozen=True, slots=True)
class Scale:
    """From what to what a chart goes; `ratio` where equal factors are equally wide.

    Examples
    --------
    >>> Scale(0.0, 2.0).at(0.5), Scale(1.0, 100.0, ratio=True).at(10.0)
    (25.0, 50.0)
    """

    low: float
    high: float
    ratio: bool = False

    def at(self, value: float) -> float:
        """Return where a value is, of 100."""
        low, high, value = (
            (log(one) for one in (self.low, self.high, value)) if self.ratio else (self.low, self.high, value)
        )
        return round(WIDTH * (value - low) / (high - low), 2) if high > low else WIDTH / 2
