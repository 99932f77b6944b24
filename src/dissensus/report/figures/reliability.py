"""Reliability diagram of a preference model."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from dissensus.pipeline.tables import format_short
from dissensus.preference.evaluation.accuracy import Bin, Evaluation, describe_population
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import concat_vertically, stack_layers
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, INK, MUTED, PADDING, PALE, PAPER
from dissensus.report.graphics.vega_lite import X2, Y2, Axis, Chart, Scale, Spec, Text, X, Y
from dissensus.schema.hints import count_noun

# Width of the y axis with its title, and the largest width of a plot.
AXIS, WIDEST = 60, 440
# Height of the plot of the numbers of pairs.
COUNTS_HEIGHT = 54
# Width of the text of a count.
TEXT = 30


def reliability(evaluation: Evaluation) -> Figure:
    """Draw the accuracy of a model against its confidence, and the number of pairs of each point.

    Examples
    --------
    >>> from dissensus.preference.evaluation.accuracy import evaluate
    >>> from dissensus.preference.data.pairs import Pair
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", str(n)),), "yes", "no") for n in range(9)]
    >>> print(reliability(evaluate(pairs, [2.0] * 8 + [-2.0], [0.0] * 9)).reading)
    The model is 88 % sure on average and right on 89 % of 9 pairs; the gap is 1 % (ECE .008; a calibrated model has
    .082).
    """
    return Figure(
        name="reliability",
        title="Reliability",
        reading=_reading(evaluation),
        table=pl.DataFrame([_row(part) for part in evaluation.bins], infer_schema_length=None),
        draw=lambda width: _draw(evaluation.bins, width),
        notes=(
            f"Lines: intervals for {describe_population(evaluation.accuracy)}. Dashed: as often right as sure. Points "
            "below it are too sure.",
            "Below: pairs in each part. ECE is the mean distance from the dashed line, by pairs; that of a calibrated "
            f"model is {format_short(evaluation.calibrated_ece, 3)} on average on as many independent pairs.",
        ),
    )


def _reading(evaluation: Evaluation) -> str:
    n = sum(part.accuracy.n for part in evaluation.bins)
    sure = sum(part.confidence * part.accuracy.n for part in evaluation.bins) / n
    right = evaluation.accuracy.estimate
    return (
        f"The model is {100 * sure:.0f} % sure on average and right on {100 * right:.0f} % of "
        f"{count_noun(n, 'pair')}; "
        f"the gap is {100 * evaluation.ece:.0f} % (ECE {format_short(evaluation.ece, 3)}; "
        f"a calibrated model has {format_short(evaluation.calibrated_ece, 3)})."
    )


def _row(part: Bin) -> dict[str, Any]:
    share = part.accuracy
    return {
        "from": part.low,
        "to": part.high,
        "confidence": part.confidence,
        "accuracy": share.estimate,
        "ci_low": share.ci_low,
        "ci_high": share.ci_high,
        "n_pairs": share.n,
        "n_dialogues": share.clusters,
    }


def _draw(bins: Sequence[Bin], width: int) -> Spec:
    room = min(WIDEST, width - AXIS - 2 * PADDING)
    height = round(room * (0.9 if width <= COLUMN_WIDTH else 0.62))
    least = min(0.5, *(part.accuracy.ci_low for part in bins))
    return concat_vertically([_points(bins, room, height, least), _counts(bins, room)], spacing=6)


def _x(field: str, *, labels: bool) -> X:
    axis = Axis(format="~%", values=[0.5, 0.6, 0.7, 0.8, 0.9, 1], labels=labels)
    title = "confidence of the model" if labels else None
    return X(f"{field}:Q", title=title, scale=Scale(domain=[0.5, 1], nice=False), axis=axis)


def _points(bins: Sequence[Bin], width: int, height: int, least: float) -> Spec:
    y = Y(
        "y:Q",
        title="accuracy",
        scale=Scale(domain=[least, 1], nice=True, zero=False),
        axis=Axis(format="~%", tickCount=5, minExtent=AXIS - 20, maxExtent=AXIS - 20),
    )
    rows = [{"x": part.confidence, "y": part.accuracy.estimate, "n": part.accuracy.n} for part in bins]
    lines = [{"x": part.confidence, "y": part.accuracy.ci_low, "end": part.accuracy.ci_high} for part in bins]
    ideal = Chart([{"x": 0.5, "y": 0.5}, {"x": 1, "y": 1}]).mark(
        "line", color=MUTED, strokeDash=[4, 3], strokeWidth=1.2
    )
    ends = Chart(lines).mark("rule", color=BLUE, strokeWidth=1.5)
    points = Chart(rows).mark("point", filled=True, size=64, opacity=1, color=BLUE, stroke=PAPER)
    x = _x("x", labels=False)
    return stack_layers(
        [ideal.encode(x, y), ends.encode(x, y, Y2("end:Q")), points.encode(x, y)], width=width, height=height
    )


def _counts(bins: Sequence[Bin], width: int) -> Spec:
    rows = [
        {
            "x": part.low,
            "end": part.high,
            "y": part.accuracy.n,
            "zero": 0,
            "text": f"{part.accuracy.n:,}",
        }
        for part in bins
    ]
    most = max(part.accuracy.n for part in bins)
    axis = Axis(tickCount=2, grid=False, labels=False, minExtent=AXIS - 20, maxExtent=AXIS - 20)
    # Room above the highest bar for its count.
    scale = Scale(domain=[0, 1.45 * most], nice=False)
    y = Y("y:Q", title="pairs", scale=scale, axis=axis)
    base = Chart(rows)
    bars = base.mark("rect", color=PALE, stroke=PAPER, strokeWidth=1)
    layers = [bars.encode(_x("x", labels=True), y, X2("end:Q"), Y2("zero:Q"))]
    middles = [{**row, "x": (part.low + part.high) / 2} for row, part in zip(rows, bins, strict=True)]
    if width / 10 >= TEXT:
        texts = Chart(middles).mark("text", dy=-7, color=INK, fontSize=10)
        layers.append(texts.encode(_x("x", labels=True), y, Text("text:N")))
    return stack_layers(layers, width=width, height=COUNTS_HEIGHT)
