"""Figure of the agreement of each two raters, as a matrix."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, groupby, pairwise
from typing import Any

import numpy as np
import polars as pl

from dissensus.errors import NotFound, UndefinedEstimate
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import (
    LINE_HEIGHT,
    NAME_GAP,
    NAME_SHARE,
    count_legend_columns,
    estimate_text_width,
    stack_layers,
    truncate_text,
)
from dissensus.report.graphics.theme import INK, LINE, PADDING, pick_ramp_colors
from dissensus.report.graphics.vega_lite import X2, Y2, Chart, Color, Legend, Scale, Shape, Spec, Text, X, Y
from dissensus.report.groups import EVERYBODY, DisplayedGroups, join_with_and, list_groups
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.raters.clusters import order_by_clusters
from dissensus.stats.raters.pairs import MIN_SHARED, RaterPairAgreement, rater_pair_agreement
from dissensus.stats.result import FloatArray, IntArray

# Most raters whose pairs are drawn: cells of more are smaller than a pixel on a phone.
MOST_RATERS = 200
LARGEST_CELL = 26  # Side in pixels
LARGEST_MATRIX = 460
STEP_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2)  # Of the colours
MOST_STEPS = 7
# Share of the pairs that the first and the last step take at most beyond their width.
TAIL = 0.025


@dataclass(frozen=True, kw_only=True, eq=False)
class _Matrix:
    """The drawn matrix: agreement of raters in their order, and name and end of the block of each group."""

    agreement: FloatArray
    blocks: tuple[tuple[str, int], ...]  # Without a name if there is but one
    edges: FloatArray  # Of the steps of the colours


def rater_pairs(
    ratings: Ratings,
    groups: DisplayedGroups | str | None = None,
    *,
    question: str | None = None,
    min_shared: int = MIN_SHARED,
    suppress_below: int = 0,
) -> Figure:
    """Draw the agreement of each two raters as a matrix of raters, in blocks of groups.

    Raters who agree stand side by side within their block. The table has the pairs of each two groups, and no rater.

    Parameters
    ----------
    ratings
        The ratings.
    groups
        An axis such as "race", or its groups; None for one block of all raters.
    question
        The question, if more than one was read.
    min_shared
        Fewest items that both raters of a pair rated; other pairs are left blank.
    suppress_below
        Fewest raters that a number may concern. A cell concerns two, so any limit above 2 leaves the figure out.

    Raises
    ------
    NotFound
        Numbers of few raters are suppressed, here or in `groups`.
    UndefinedEstimate
        No two raters share as many items, or the groups of all raters are unknown.
    """
    ratings.require_raters("The agreement of pairs of raters")
    displayed = None if groups is None else list_groups(ratings, groups, suppress_below=suppress_below)
    if max(suppress_below, 0 if displayed is None else displayed.suppress_below) > 2:
        raise NotFound("The agreement of pairs of raters is left out: each of its numbers concerns two raters.")
    question = ratings.resolve_question(question)
    codes, names = _read_groups(ratings, displayed)
    pairs = rater_pair_agreement(*ratings.codes(question), min_shared=min_shared, n_raters=ratings.n_raters)
    drawn = _select_drawn(pairs, codes)
    if not drawn.size:
        raise UndefinedEstimate("The agreement of pairs of raters has no groups: those of all raters are unknown.")
    table = _table(pairs, codes, names)
    return Figure(
        name="rater-pairs" if displayed is None else f"rater-pairs-{displayed.slug}",
        axis=None if displayed is None else displayed.axis,
        title="Agreement of each two raters" + ("" if displayed is None else f" by {displayed.title}"),
        reading=_reading(pairs, table, displayed),
        table=table,
        draw=lambda width: _draw(_arrange(pairs.agreement, codes, names, drawn, displayed), width),
        notes=(*_notes(pairs, int((codes >= 0).sum())), *(displayed.notes if displayed else ())),
    )


def _read_groups(ratings: Ratings, groups: DisplayedGroups | None) -> tuple[IntArray, tuple[str, ...]]:
    """Return the block of each rater, -1 for those who are not drawn, and the names of the blocks."""
    if groups is None:
        return np.zeros(ratings.n_raters, dtype=np.int64), (EVERYBODY,)
    codes, names = ratings.group_codes(groups.axis)
    block = np.array([groups.drawn.index(name) if name in groups.drawn else -1 for name in names] + [-1])
    return block[codes], groups.drawn


def _select_drawn(pairs: RaterPairAgreement, codes: IntArray) -> IntArray:
    """Return the raters of blocks, at most those with the most items."""
    raters = np.flatnonzero(codes >= 0)
    most = np.argsort(-pairs.n_shared.diagonal()[raters], kind="stable")[:MOST_RATERS]
    return np.sort(raters[most])


def _table(pairs: RaterPairAgreement, codes: IntArray, names: Sequence[str]) -> pl.DataFrame:
    """Return the number of pairs of each two groups, and mean and quartiles of their agreement."""
    lines = []
    for first, second in combinations_with_replacement(range(len(names)), 2):
        cells = pairs.agreement[np.ix_(codes == first, codes == second)]
        values = cells[np.triu_indices(len(cells), 1)] if first == second else cells.ravel()
        values = values[np.isfinite(values)]
        numbers = (
            [float(values.mean()), *np.quantile(values, [0.25, 0.5, 0.75]).tolist()] if values.size else [None] * 4
        )
        lines.append((names[first], names[second], values.size, *numbers))
    schema: dict[str, type[pl.DataType]] = {"group": pl.String, "other": pl.String, "n_pairs": pl.UInt32}
    schema |= dict.fromkeys(("mean", "lower_quartile", "median", "upper_quartile"), pl.Float64)
    return pl.DataFrame(lines, schema=schema, orient="row")


def _reading(pairs: RaterPairAgreement, table: pl.DataFrame, groups: DisplayedGroups | None) -> str:
    values = pairs.agreement[np.isfinite(pairs.agreement)]
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    text = (
        f"Two raters give the same answer to {format_short(middle)} of their shared items in the median (quartiles "
        f"{format_short(low)} and {format_short(high)}; from {format_short(values.min())} to "
        f"{format_short(values.max())})"
    )
    known = table.filter(pl.col("mean").is_not_null())
    if groups is None or known.height < 2:
        return f"{text}."
    same = pl.col("group") == pl.col("other")
    parts = [
        f"{format_short(_mean(rows))} {where}"
        for rows, where in ((known.filter(same), "within groups"), (known.filter(~same), "between them"))
        if rows.height
    ]
    return f"{text}; the mean is {join_with_and(parts)}."


def _mean(rows: pl.DataFrame) -> float:
    """Return the mean over all pairs of some rows."""
    return float(np.average(rows["mean"].to_numpy(), weights=rows["n_pairs"].to_numpy()))


def _notes(pairs: RaterPairAgreement, n_grouped: int) -> Iterator[str]:
    yield (
        "Columns are the raters of the rows, in the same order: by group, and within it raters who agree side by side. "
        "Not corrected for chance."
    )
    n_raters = len(pairs.agreement)
    if (missing := n_raters * (n_raters - 1) // 2 - pairs.n_pairs) > 0:
        yield f"Blank: {count_noun(missing, 'pair')} with fewer than {pairs.min_shared:,} shared items."
    if n_grouped > MOST_RATERS:
        yield f"The figure shows the {MOST_RATERS} raters with the most items; the table has the pairs of all."


def _arrange(
    agreement: FloatArray, codes: IntArray, names: Sequence[str], drawn: IntArray, groups: DisplayedGroups | None
) -> _Matrix:
    """Return the matrix of the drawn raters, in blocks, and by clusters within them."""
    order: list[int] = []
    blocks = []
    for block, name in enumerate(names):
        raters = drawn[codes[drawn] == block]
        order += raters[order_by_clusters(agreement[np.ix_(raters, raters)])].tolist()
        if raters.size:
            blocks.append(("" if groups is None else groups.label(name, size=False), len(order)))
    return _Matrix(
        agreement=agreement[np.ix_(order, order)],
        blocks=tuple(blocks),
        edges=_find_edges(agreement[np.isfinite(agreement)]),
    )


def _find_edges(values: FloatArray) -> FloatArray:
    """Return the inner edges of the steps of the colours: round numbers about all values but the tails."""
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    for step in STEP_WIDTHS:
        first, last = np.floor(low / step), np.ceil(high / step)
        if last - first <= MOST_STEPS:
            break
    return np.asarray(np.round(step * np.arange(first + 1, max(last, first + 2)), 2))


def _draw(matrix: _Matrix, width: int) -> Spec:
    n_raters = len(matrix.agreement)
    names = [truncate_text(escape_unprintable(name), NAME_SHARE * width) for name, _ in matrix.blocks]
    left = round(max(map(estimate_text_width, names))) + NAME_GAP if any(names) else 0
    room = width - left - 2 * PADDING
    side = min(room, LARGEST_CELL * n_raters, LARGEST_MATRIX)
    height = max(side, LINE_HEIGHT * len(names))
    x, y = (
        {"scale": Scale(domain=domain, nice=False, zero=False), "axis": None} for domain in ([0, room], [height, 0])
    )
    cell = side / n_raters
    ends = [0.0, *(cell * end for _, end in matrix.blocks)]
    layers = [_draw_cells(matrix, cell, room), *_draw_borders(ends, x, y), _draw_names(names, ends, height, x, y)]
    return stack_layers(layers, width=room, height=height)


def _draw_cells(matrix: _Matrix, cell: float, room: int) -> Spec:
    """Draw the cells below the diagonal: for each colour one point in the shape of all its cells, which is fast."""
    labels = _label_steps(matrix.edges)
    columns = count_legend_columns(labels, room)
    outlines: dict[int, list[str]] = {}
    for row, steps in enumerate(_read_steps(matrix)):
        start = 0
        for step, run in groupby(steps[:row].tolist()):
            end = start + len(list(run))
            outlines.setdefault(step, []).append(f"M{cell * start:.2f},{cell * (row + 0.5):.2f}H{cell * end:.2f}")
            start = end
    points = Chart(
        [{"step": label, "outline": "".join(outlines[step])} for step, label in enumerate(labels) if step in outlines]
    )
    colors = Scale(domain=labels, range=pick_ramp_colors(len(labels)))
    # A square of nothing but its border, since the marks are lines.
    legend = Legend(symbolType="square", symbolSize=1, symbolStrokeWidth=11, columns=columns)
    # An outline is drawn in pixels from its point at a size of four.
    return points.mark("point", size=4, opacity=1, filled=False, strokeWidth=round(cell + 0.2, 2)).encode(
        X(value=0),
        Y(value=0),
        Color("step:N", scale=colors, legend=legend),
        Shape("outline:N", scale=None, legend=None),
    )


def _read_steps(matrix: _Matrix) -> IntArray:
    """Return the step of each cell, -1 where the agreement is unknown."""
    steps = np.searchsorted(matrix.edges, matrix.agreement, side="right")
    return np.where(np.isfinite(matrix.agreement), steps, -1)


def _label_steps(edges: FloatArray) -> list[str]:
    """Return the names of the steps between some edges."""
    inner = [f"{format_short(low)} to {format_short(high)}" for low, high in pairwise(edges.tolist())]
    return [f"below {format_short(edges[0])}", *inner, f"{format_short(edges[-1])} or more"]


def _draw_borders(ends: Sequence[float], x: Any, y: Any) -> list[Spec]:
    """Draw the borders between blocks, and the diagonal."""
    last = ends[-1]
    inner = [{"x": 0, "y": end, "x2": end, "y2": end} for end in ends[1:-1]]
    inner += [{"x": end, "y": end, "x2": end, "y2": last} for end in ends[1:-1]]
    rules = [(INK, inner), (LINE, [{"x": 0, "y": 0, "x2": last, "y2": last}])]
    return [
        Chart(values)
        .mark("rule", color=color, strokeWidth=1)
        .encode(X("x:Q", **x), Y("y:Q", **y), X2("x2:Q"), Y2("y2:Q"))
        for color, values in rules
        if values
    ]


def _draw_names(names: Sequence[str], ends: Sequence[float], height: float, x: Any, y: Any) -> Spec:
    """Draw the name of each block at its middle, moved where the one above or below needs the room."""
    places = [(start + end) / 2 for start, end in pairwise(ends)]
    for n, place in enumerate(places):
        places[n] = max(place, places[n - 1] + LINE_HEIGHT) if n else max(place, LINE_HEIGHT / 2)
    for n in reversed(range(len(places))):
        below = places[n + 1] - LINE_HEIGHT if n + 1 < len(places) else height - LINE_HEIGHT / 2
        places[n] = min(places[n], below)
    texts = [{"x": 0, "y": place, "text": name} for name, place in zip(names, places, strict=True)]
    mark = Chart(texts).mark("text", align="right", baseline="middle", dx=-NAME_GAP / 2, color=INK)
    return mark.encode(X("x:Q", **x), Y("y:Q", **y), Text("text:N"))
