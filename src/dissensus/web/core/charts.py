"""Layout of small charts, which templates draw as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Final

WIDTH: Final = 100.0
"""Width of every chart in its own units."""
GAP: Final = 0.2
MAX_COLUMNS: Final = 60
MAX_COLUMN_WIDTH: Final = 12.0
"""Maximum width of a column."""


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A column of a chart: label, count and rectangle, in hundredths of the chart from its upper left."""

    label: str
    n: int
    x: float
    y: float
    width: float
    height: float


def make_columns(counts: Sequence[tuple[str, int]]) -> tuple[ChartColumn, ...]:
    """Return a column for each count, the highest as high as the chart.

    Examples
    --------
    >>> [(column.label, round(column.x), column.y) for column in make_columns([("a", 1), ("b", 4)])]
    [('a', 19, 75.0), ('b', 69, 0.0)]
    """
    slot = WIDTH / max(1, len(counts))
    width = min(slot * (1 - GAP), MAX_COLUMN_WIDTH)
    largest = max((n for _, n in counts), default=0) or 1
    return tuple(
        ChartColumn(
            label, n, slot * index + (slot - width) / 2, WIDTH - WIDTH * n / largest, width, WIDTH * n / largest
        )
        for index, (label, n) in enumerate(counts)
    )


def bin_counts(counts: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Bin counts of whole numbers, in increasing order, into at most `MAX_COLUMNS` bins of one width.

    Examples
    --------
    >>> bin_counts([(1, 5), (3, 2)])
    [('1', 5), ('2', 0), ('3', 2)]
    >>> bin_counts([(0, 5), (119, 2)])[:2]
    [('0–1', 5), ('2–3', 0)]
    """
    if not counts:
        return []
    low, high, by_number = counts[0][0], counts[-1][0], dict(counts)
    bin_width = ceil((high - low + 1) / MAX_COLUMNS)
    starts = range(low, high + 1, bin_width)
    return [
        (
            str(start) if bin_width == 1 else f"{start}–{start + bin_width - 1}",
            sum(by_number.get(start + n, 0) for n in range(bin_width)),
        )
        for start in starts
    ]


@dataclass(frozen=True, slots=True)
class ChartScale:
    """Scale of a chart: linear, or logarithmic with `ratio`, for positive numbers.

    Examples
    --------
    >>> ChartScale(0.0, 2.0).position(0.5), ChartScale(1.0, 100.0, ratio=True).position(10.0)
    (25.0, 50.0)
    """

    low: float
    high: float
    ratio: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value, from 0 to 100."""
        low, high, value = (
            (log(number) for number in (self.low, self.high, value)) if self.ratio else (self.low, self.high, value)
        )
        return round(WIDTH * (value - low) / (high - low), 2) if high > low else WIDTH / 2
