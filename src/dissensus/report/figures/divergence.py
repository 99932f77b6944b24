"""Figure of the divergence between groups, with the chance level for their sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dissensus.pipeline.analyse.divergence_result import NAMES, WITHHELD_NOTE, GroupDivergence, PairDivergence
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.null_distributions import HIGH, LOW, MEDIAN, summarise_chance
from dissensus.report.figures.panels import ADJUSTED, LOOKS, NOT, RAW, UNTESTED
from dissensus.report.graphics.layout import RowLabels, stack_over_rows
from dissensus.report.graphics.theme import LINE, MUTED, PAPER
from dissensus.report.graphics.vega_lite import X2, Y2, Axis, Chart, Color, Scale, Shape, Spec, X
from dissensus.report.groups import DisplayedGroups
from dissensus.schema.axes import format_axis

MOST_PAIRS = 30


def divergence(result: GroupDivergence, groups: DisplayedGroups | None = None) -> Figure:
    """Draw the mean divergence of every two groups of an axis over the middle 95 % of its permutation distribution.

    Parameters
    ----------
    result
        The divergences, with `permutations` for the null distribution.
    groups
        The displayed groups; all by default.
    """
    groups = groups or DisplayedGroups(axis=result.axis, sizes=dict(zip(result.groups, result.n_raters, strict=True)))
    displayed = [index for index, pair in enumerate(result.pairs) if set(pair.groups) <= set(groups.listed)]
    estimated = [index for index in displayed if result.pairs[index].estimate is not None]
    furthest = sorted(estimated, key=lambda index: -(result.pairs[index].estimate or 0.0))
    drawn = furthest[:MOST_PAIRS]
    cut = f"The figure shows the {MOST_PAIRS} pairs furthest apart of {len(estimated):,}; the table has all."
    return Figure(
        name=f"divergence-{groups.slug}",
        axis=groups.axis,
        title=f"Distance between groups of {groups.title}",
        reading=_reading(result, [result.pairs[index] for index in furthest], has_overall=not groups.hidden),
        table=_table(result, displayed),
        draw=lambda width: _draw(result, drawn, width),
        notes=(*_notes(result), *groups.notes, *([cut] if len(drawn) < len(estimated) else [])),
    )


def _reading(result: GroupDivergence, furthest: Sequence[PairDivergence], *, has_overall: bool) -> str:
    """Return a sentence on all pairs, unless they include hidden groups, and on the two groups furthest apart."""
    if not furthest:
        return f"No two groups of {format_axis(result.axis)} share an item."
    top = furthest[0]
    pair = " and ".join(map(escape_unprintable, top.groups))
    apart = f"{pair} are furthest apart ({format_short(top.estimate, 3)}"
    if top.p is not None:
        median = summarise_chance(result.pair_null[:, result.pairs.index(top)])[MEDIAN]
        apart = f"{apart}, by chance {format_short(median, 3)}, p {format_short(top.p_adjusted, 3)} after adjustment"
    if not has_overall:
        return f"{apart})."
    text = f"The mean {NAMES[result.measure]} between two groups is {format_short(result.estimate, 3)}"
    if result.p is not None:
        median = summarise_chance(result.null)[MEDIAN]
        text = f"{text}, by chance {format_short(median, 3)} (p {format_short(result.p, 3)})"
    return f"{text}; {apart})."


def _notes(result: GroupDivergence) -> tuple[str, ...]:
    definition = f"Mean over items of the {NAMES[result.measure]} between the shares of answers of two groups."
    if result.reason is not None:
        definition = f"{definition} {WITHHELD_NOTE}"
    if not np.isfinite(result.pair_null).any():
        return (definition,)
    n = len(result.null)
    return (
        definition,
        f"Band: 95 % of {n:,} permutations, for groups of these sizes; tick: their median. Seed {result.seed}.",
        "Adjusted: Benjamini–Hochberg over the pairs of this axis.",
    )


def _table(result: GroupDivergence, displayed: Sequence[int]) -> pl.DataFrame:
    lines: list[dict[str, Any]] = []
    for index in displayed:
        pair = result.pairs[index]
        tests = {"p": pair.p, "p_adjusted": pair.p_adjusted, "n_items": pair.n_items}
        names = {"group": pair.groups[0], "other": pair.groups[1], "distance": pair.estimate}
        lines.append(names | summarise_chance(result.pair_null[:, index]) | tests)
    return pl.DataFrame(lines, infer_schema_length=None)


def _status(pair: PairDivergence) -> str:
    if pair.p is None:
        return UNTESTED
    if pair.p_adjusted is not None and pair.p_adjusted < 0.05:
        return ADJUSTED
    return RAW if pair.p < 0.05 else NOT


def _draw(result: GroupDivergence, drawn: Sequence[int], width: int) -> Spec:
    pairs = [result.pairs[index] for index in drawn]
    rows = RowLabels([" – ".join(map(escape_unprintable, pair.groups)) for pair in pairs], width)
    bands, points = [], []
    for index, pair, y in zip(drawn, pairs, rows.middles, strict=True):
        points.append({"y": y, "x": pair.estimate, "status": _status(pair)})
        band = summarise_chance(result.pair_null[:, index])
        if band[MEDIAN] is not None:
            bands.append({"top": y - 6, "bottom": y + 6, "low": band[LOW], "x": band[MEDIAN], "high": band[HIGH]})
    scale = Scale(zero=True, nice=True, padding=0)
    x = X("x:Q", title=NAMES[result.measure], scale=scale, axis=Axis(tickCount=5, format=".2~f"))
    base = Chart(bands)
    return stack_over_rows(
        [
            base.mark("rect", color=LINE).encode(rows.y("top"), X("low:Q"), X2("high:Q"), Y2("bottom:Q")),
            base.mark("rule", color=MUTED, strokeWidth=1.5).encode(rows.y("top"), x, Y2("bottom:Q")),
            _points(points, rows, x),
            *rows.draw_names(),
        ],
        rows,
    )


def _points(points: Sequence[dict[str, Any]], rows: RowLabels, x: X) -> Spec:
    names = [name for name in LOOKS if name in {point["status"] for point in points}]
    color = Color("status:N", scale=Scale(domain=names, range=[LOOKS[name][0] for name in names]))
    shape = Shape("status:N", scale=Scale(domain=names, range=[LOOKS[name][1] for name in names]))
    marks = Chart(points).mark("point", filled=True, size=60, opacity=1, stroke=PAPER, strokeWidth=0.8)
    return marks.encode(rows.y(), x, color, shape)
