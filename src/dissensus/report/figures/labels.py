"""Figures of the soft labels of all items and of their entropy."""

from collections.abc import Sequence
from math import ceil, log

import numpy as np
import polars as pl

from dissensus.pipeline.engine.ratings import PartitionedRatings, code_answers, select_pool
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import compute_shares
from dissensus.report.graphics.layout import count_legend_columns, stack_layers
from dissensus.report.graphics.theme import BLUE, MUTED, PAPER, pick_ramp_colors
from dissensus.report.graphics.vega_lite import X2, Y2, Axis, Chart, Color, Legend, Scale, Spec, X, Y
from dissensus.report.groups import format_percent
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cohesion import compute_entropies
from dissensus.stats.groups.item_counts import ItemCounts, compute_quantiles, count_items
from dissensus.stats.result import FloatArray, IntArray

# Most columns of the spectrum: more would be thinner than a pixel on a phone.
MOST_COLUMNS = 240
BINS = 24
SIDE, HEIGHT = 44, 200


def soft_labels(ratings: Ratings | PartitionedRatings, *, question: str | None = None) -> Figure:
    """Draw the shares of answers to every item, in the order of the share of the last answer of the scale."""
    scale, labels = _count_labels(ratings, question)
    shares = compute_shares(labels.counts)
    order = np.lexsort(shares.T)
    ordered, n_items = shares[order], labels.n_items[order]
    n = int(n_items.sum())
    deciles = compute_quantiles(ordered[:, -1], n_items, np.linspace(0, 1, 11))
    split = int(n_items[(ordered[:, -1] > 0.1) & (ordered[:, -1] < 0.9)].sum())
    return Figure(
        name="soft-labels",
        title="Soft labels of all items",
        reading=(
            f"On {split:,} of {count_noun(n, 'item')} between 10 % and 90 % of the raters answer "
            f"{scale[-1]}; "
            f"the median share is {format_percent(float(deciles[5]))}."
        ),
        table=pl.DataFrame({"quantile of items": np.linspace(0, 1, 11), f"share of {scale[-1]}": deciles}),
        draw=lambda width: _spectrum([escape_unprintable(answer) for answer in scale], ordered, n_items, width),
        notes=("Each item is a column; columns that would be too thin are means of neighbours.",)
        if n > MOST_COLUMNS
        else (),
    )


def entropy(ratings: Ratings | PartitionedRatings, *, question: str | None = None) -> Figure:
    """Draw a histogram of the entropy of soft labels, in nats: 0 where all raters agree."""
    scale, labels = _count_labels(ratings, question)
    values = compute_entropies(compute_shares(labels.counts))
    most = log(len(scale)) or 1.0
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, most), weights=labels.n_items)
    one_mind, n = int(labels.n_items[values <= 1e-12].sum()), int(labels.n_items.sum())
    order = np.argsort(values)
    middle = float(compute_quantiles(values[order], labels.n_items[order], np.array([0.5]))[0])
    return Figure(
        name="entropy",
        title="Disagreement on each item",
        reading=(
            f"Raters are of one mind on {one_mind:,} of {count_noun(n, 'item')}; the median entropy is "
            f"{format_short(middle)} nats, {format_percent(middle / most)} of the largest possible."
        ),
        table=pl.DataFrame({"entropy_from": edges[:-1], "entropy_to": edges[1:], "n_items": counts}),
        draw=lambda width: _histogram(counts, edges, middle, width),
        notes=("Entropy of the shares of answers; dashed: the median.",),
    )


def _count_labels(ratings: Ratings | PartitionedRatings, question: str | None) -> tuple[tuple[str, ...], ItemCounts]:
    """Return the scale of a question, and the number of items by the answers that were given to them."""
    pool = select_pool(ratings)
    question = pool.resolve_question(question)
    return pool.scale(question), count_items(code_answers(ratings, question))


def _spectrum(scale: Sequence[str], shares: FloatArray, n_items: IntArray, width: int) -> Spec:
    n = int(n_items.sum())
    edges = [*range(0, n, ceil(n / MOST_COLUMNS)), n]
    # Sums of the shares of the first items, linear among those with the same.
    places = np.concatenate([[0], np.cumsum(n_items)])
    sums = np.concatenate([np.zeros((1, shares.shape[1])), (shares * n_items[:, None]).cumsum(axis=0)])
    columns = np.diff([np.interp(edges, places, column) for column in sums.T], axis=1).T
    means = columns / np.diff(edges)[:, None]
    ends = np.concatenate([np.zeros((len(means), 1)), means.cumsum(axis=1)], axis=1)
    marks = [
        {"item": x, "answer": answer, "from": float(column[k]), "to": float(column[k + 1])}
        for x, column in zip(edges, [*ends, ends[-1]], strict=True)
        for k, answer in enumerate(scale)
    ]
    x = X(
        "item:Q",
        title=f"items, in the order of {scale[-1]}",
        scale=Scale(domain=[0, n], nice=False),
        axis=_item_axis(n),
    )
    y = Y("from:Q", title=None, scale=Scale(domain=[0, 1]), axis=Axis(format="~%", values=[0, 0.5, 1]))
    legend = Legend(symbolType="square", columns=count_legend_columns(scale, width - SIDE))
    color = Color("answer:N", scale=Scale(domain=list(scale), range=pick_ramp_colors(len(scale))), legend=legend)
    area = Chart(marks).mark("area", interpolate="step-after").encode(x, y, color, Y2("to:Q"))
    return stack_layers([area], width=width - SIDE, height=HEIGHT)


def _item_axis(n: int) -> Axis:
    return Axis(values=sorted({0, n // 2, n}), format=",d", grid=False)


def _histogram(counts: FloatArray, edges: FloatArray, middle: float, width: int) -> Spec:
    bars = [{"x": a, "to": b, "n": int(n)} for a, b, n in zip(edges, edges[1:], counts, strict=False)]
    scale, axis = Scale(domain=[0, float(edges[-1])], nice=False), Axis(tickCount=5, format=".1~f", grid=False)
    x = X("x:Q", title="entropy, nats", scale=scale, axis=axis)
    y = Y("n:Q", title="items", axis=Axis(tickCount=4, format=",d", tickMinStep=1))
    rects = Chart(bars).mark("rect", color=BLUE, stroke=PAPER, strokeWidth=1)
    line = Chart([{"x": middle}]).mark("rule", color=MUTED, strokeDash=[3, 3], strokeWidth=1.5)
    layers = [rects.encode(x, y, X2("to:Q"), Y2(datum=0)), line.encode(x)]
    return stack_layers(layers, width=width - SIDE, height=HEIGHT)
