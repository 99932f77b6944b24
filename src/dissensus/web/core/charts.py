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
    """A column of a chart: label, count and rectangle, from the upper left in units of 1/100."""

    label: str
    n: int
    x: float
    y: float
    width: float
    height: float


def make_columns(numbers: Sequence[tuple[str, int]]) -> tuple[ChartColumn, ...]:
    """Return a column for each count, the highest as high as the chart.

    Examples
    --------
    >>> [(one.label, round(one.x), one.y) for one in make_columns([("a", 1), ("b", 4)])]
    [('a', 19, 75.0), ('b', 69, 0.0)]
    """
    room = WIDTH / max(1, len(numbers))
    width = min(room * (1 - GAP), MAX_COLUMN_WIDTH)
    most = max((n for _, n in numbers), default=0) or 1
    return tuple(
        ChartColumn(label, n, room * place + (room - width) / 2, WIDTH - WIDTH * n / most, width, WIDTH * n / most)
        for place, (label, n) in enumerate(numbers)
    )


def bin_counts(loads: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Bin counts of whole numbers, with wider bins for long ranges.

    Examples
    --------
    >>> bin_counts([(1, 5), (3, 2)])
    [('1', 5), ('2', 0), ('3', 2)]
    >>> bin_counts([(0, 5), (119, 2)])[:2]
    [('0–1', 5), ('2–3', 0)]
    """
    if not loads:
        return []
    low, high, known = loads[0][0], loads[-1][0], dict(loads)
    step = ceil((high - low + 1) / MAX_COLUMNS)
    starts = range(low, high + 1, step)
    return [
        (str(start) if step == 1 else f"{start}–{start + step - 1}", sum(known.get(start + n, 0) for n in range(step)))
        for start in starts
    ]


@dataclass(frozen=True, slots=True)
class ChartScale:
    """Linear scale of a chart, or logarithmic with `ratio`.

    Examples
    --------
    >>> ChartScale(0.0, 2.0).at(0.5), ChartScale(1.0, 100.0, ratio=True).at(10.0)
    (25.0, 50.0)
    """

    low: float
    high: float
    ratio: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 100."""
        low, high, value = (
            (log(one) for one in (self.low, self.high, value)) if self.ratio else (self.low, self.high, value)
        )
        return round(WIDTH * (value - low) / (high - low), 2) if high > low else WIDTH / 2
