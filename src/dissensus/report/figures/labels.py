"""Figures of the soft labels of all items and of their entropy."""

from collections.abc import Sequence
from math import ceil, log

import numpy as np
import polars as pl

from dissensus.pipeline.aggregate.labels import build_count_matrix, count_item_answers
from dissensus.pipeline.tables import escape_unprintable, format_count, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import compute_shares
from dissensus.report.groups import format_percent
from dissensus.report.layout import count_legend_columns, stack_layers
from dissensus.report.theme import BLUE, MUTED, PAPER, pick_ramp_colors
from dissensus.report.vega_lite import X2, Y2, Axis, Chart, Color, Legend, Scale, Spec, X, Y
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import FloatArray

# Most columns of the spectrum: more would be thinner than a pixel on a phone.
MOST_COLUMNS = 240
BINS = 24
SIDE, HEIGHT = 44, 200


def soft_labels(ratings: Ratings, *, question: str | None = None) -> Figure:
    """Draw the shares of answers to every item, in the order of the share of the last answer of the scale."""
    question = ratings.resolve_question(question)
    scale, shares = ratings.scale(question), compute_item_shares(ratings, question)
    ordered = shares[np.lexsort(shares.T)]
    deciles = np.quantile(shares[:, -1], np.linspace(0, 1, 11))
    split = int(((shares[:, -1] > 0.1) & (shares[:, -1] < 0.9)).sum())
    return Figure(
        name="soft-labels",
        title="Soft labels of all items",
        reading=(
            f"On {split:,} of {format_count(len(shares), 'item')} between 10 % and 90 % of the raters answer "
            f"{scale[-1]}; "
            f"the median share is {format_percent(float(deciles[5]))}."
        ),
        table=pl.DataFrame({"quantile of items": np.linspace(0, 1, 11), f"share of {scale[-1]}": deciles}),
        draw=lambda width: _spectrum([escape_unprintable(answer) for answer in scale], ordered, width),
        notes=("Each item is a column; columns that would be too thin are means of neighbours.",)
        if len(ordered) > MOST_COLUMNS
        else (),
    )


def entropy(ratings: Ratings, *, question: str | None = None) -> Figure:
    """Draw a histogram of the entropy of soft labels, in nats: 0 where all raters agree."""
    question = ratings.resolve_question(question)
    scale = ratings.scale(question)
    values = compute_entropies(compute_item_shares(ratings, question))
    most = log(len(scale)) or 1.0
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, most))
    one_mind = int((values <= 1e-12).sum())
    middle = float(np.median(values))
    return Figure(
        name="entropy",
        title="Disagreement on each item",
        reading=(
            f"Raters are of one mind on {one_mind:,} of {format_count(len(values), 'item')}; the median entropy is "
            f"{format_short(middle)} nats, {format_percent(middle / most)} of the largest possible."
        ),
        table=pl.DataFrame({"entropy_from": edges[:-1], "entropy_to": edges[1:], "n_items": counts}),
        draw=lambda width: _histogram(counts, edges, middle, width),
        notes=("Entropy of the shares of answers; dashed: the median.",),
    )


def compute_item_shares(ratings: Ratings, question: str) -> FloatArray:
    """Return the soft label of every item, shape (I, K), in the order of `count_item_answers`."""
    counts = build_count_matrix(count_item_answers(ratings, question), ratings.scale(question))
    return compute_shares(counts)


def compute_entropies(shares: FloatArray) -> FloatArray:
    """Return the entropy of each soft label in nats, shape (I,)."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.abs((shares * logs).sum(axis=1)))


def _spectrum(scale: Sequence[str], shares: FloatArray, width: int) -> Spec:
    size = ceil(len(shares) / MOST_COLUMNS)
    starts = np.arange(0, len(shares), size)
    means = np.add.reduceat(shares, starts) / np.diff([*starts, len(shares)])[:, None]
    ends = np.concatenate([np.zeros((len(means), 1)), means.cumsum(axis=1)], axis=1)
    edges = [*starts.tolist(), len(shares)]
    marks = [
        {"item": x, "answer": answer, "from": float(column[k]), "to": float(column[k + 1])}
        for x, column in zip(edges, [*ends, ends[-1]], strict=True)
        for k, answer in enumerate(scale)
    ]
    x = X(
        "item:Q",
        title=f"items, in the order of {scale[-1]}",
        scale=Scale(domain=[0, len(shares)], nice=False),
        axis=_item_axis(len(shares)),
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
