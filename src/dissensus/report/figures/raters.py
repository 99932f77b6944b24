"""Figure of the raters by two axes."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from dissensus.pipeline.analyse.result import FEW
from dissensus.pipeline.tables import UNKNOWN, escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.graphics.bars import Bar, draw_plain_bars, find_scale_end
from dissensus.report.graphics.layout import (
    RowLabels,
    concat_horizontally,
    concat_vertically,
    estimate_text_width,
    stack_over_rows,
    wrap_text,
)
from dissensus.report.graphics.theme import SMALL
from dissensus.report.graphics.vega_lite import Spec
from dissensus.report.groups import DisplayedGroups, find_hidden_groups, list_groups
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import CROSS, CROSSED
from dissensus.schema.ratings.table import Ratings

GAP = 14
# Most panels per row, and the least width of one.
ACROSS, LEAST = 6, 44


def raters(ratings: Ratings, rows: str | DisplayedGroups, columns: str | DisplayedGroups) -> Figure:
    """Draw how many raters each group of one axis has in each group of another.

    Figure 1 of Aroyo et al. (2023), for any two axes.

    Parameters
    ----------
    ratings
        The ratings.
    rows, columns
        Two axes, or displayed groups of them: a bar for each of the first in a panel for each of the second. Cells with
        fewer raters than their `suppress_below` are hidden, and others from which they could be computed.

    Raises
    ------
    InvalidInput
        Both axes are the same.
    """
    rows, columns = list_groups(ratings, rows), list_groups(ratings, columns)
    crossed = ratings.axis_name(f"{rows.axis}{CROSS}{columns.axis}")
    below = max(rows.suppress_below, columns.suppress_below)
    hidden = find_hidden_groups(ratings, (*rows.beside, *columns.beside, crossed), below)[crossed]
    codes, names = ratings.group_codes(crossed)
    counts = dict(zip(names, np.bincount(codes[codes >= 0], minlength=len(names)).tolist(), strict=True))
    cells: dict[tuple[str, str], int | None] = {
        (row, column): None if f"{row}{CROSSED}{column}" in hidden else counts.get(f"{row}{CROSSED}{column}", 0)
        for row in rows.listed
        for column in columns.listed
    }
    return Figure(
        name=f"raters-{rows.slug}-{columns.slug}",
        title=f"Raters by {rows.title} and {columns.title}",
        reading=_reading(cells, ratings.n_raters),
        table=pl.DataFrame(
            [(row, column, n) for (row, column), n in cells.items()],
            schema={rows.title: pl.String, columns.title: pl.String, "n_raters": pl.UInt32},
            orient="row",
        ),
        draw=lambda width: _draw(cells, rows, columns, width),
        notes=tuple(dict.fromkeys((*_notes(cells, rows), *rows.notes, *columns.notes))),
    )


def _reading(cells: dict[tuple[str, str], int | None], n_raters: int) -> str:
    counts = {f"{escape_unprintable(row)} × {escape_unprintable(column)}": n for (row, column), n in cells.items() if n}
    if not counts:
        return f"{count_noun(n_raters, 'rater')}; no cell can be shown."
    largest, smallest = max(counts, key=lambda cell: counts[cell]), min(counts, key=lambda cell: counts[cell])
    text = f"{count_noun(n_raters, 'rater')}; the largest cell is {largest} ({counts[largest]:,})"
    if counts[smallest] < counts[largest]:
        text += f", the smallest {smallest} ({counts[smallest]:,})"
    empty = sum(n == 0 for n in cells.values())
    return text + (f"; {count_noun(empty, 'cell')} {'is' if empty == 1 else 'are'} empty." if empty else ".")


def _notes(cells: dict[tuple[str, str], int | None], rows: DisplayedGroups) -> Iterator[str]:
    if n_hidden := sum(n is None for n in cells.values()):
        yield f"{UNKNOWN} {count_noun(n_hidden, 'cell')} left out: {rows.suppression_reason}."
    if any(_is_few(n, rows) for n in cells.values()):
        yield f"{FEW} fewer than {rows.min_raters:,} raters: read with care."


def _is_few(n: int | None, rows: DisplayedGroups) -> bool:
    return n is not None and 0 < n < rows.min_raters


def _draw(
    cells: dict[tuple[str, str], int | None], rows: DisplayedGroups, columns: DisplayedGroups, width: int
) -> Spec:
    names = RowLabels([rows.label(name) for name in rows.drawn], width)
    room = names.plot_width
    texts = [_text(cells[row, column], rows) for row in rows.drawn for column in columns.drawn]
    sizes = [count_noun(columns.sizes[name], "rater") for name in columns.drawn]
    least = max(LEAST, *(estimate_text_width(size) for size in sizes), 0)
    most = max(1, min(ACROSS, int((room + GAP) // (least + GAP))))
    n_lines = -(-len(columns.drawn) // most)
    across = -(-len(columns.drawn) // n_lines)
    each = (room - (across - 1) * GAP) // across
    end = find_scale_end(max((n or 0 for n in cells.values()), default=0), texts, each)

    def panel(column: str, panel_index: int) -> Spec:
        bars = [
            Bar(y, cells[row, column], _text(cells[row, column], rows))
            for row, y in zip(rows.drawn, names.middles, strict=True)
        ]
        layers = [*(names.draw_names() if panel_index == 0 else []), *draw_plain_bars(bars, names, end=end)]
        return stack_over_rows(layers, names, width=each) | {"title": _heading(columns, column, each)}

    lines = [columns.drawn[start : start + across] for start in range(0, len(columns.drawn), across)]
    drawn = [
        concat_horizontally([panel(column, place) for place, column in enumerate(line)], spacing=GAP) for line in lines
    ]
    return concat_vertically(drawn, spacing=GAP)


def _text(n: int | None, rows: DisplayedGroups) -> str:
    return UNKNOWN if n is None else f"{n:,}{FEW if _is_few(n, rows) else ''}"


def _heading(columns: DisplayedGroups, name: str, width: float) -> Spec:
    # Bold is about a tenth wider.
    lines = wrap_text(columns.label(name, size=False), 0.9 * width)
    return {"text": lines, "subtitle": count_noun(columns.sizes[name], "rater"), "fontSize": SMALL}
