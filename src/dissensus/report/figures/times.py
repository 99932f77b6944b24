"""Figure of the raters by their answer time and outlier score."""

from collections.abc import Iterator

import polars as pl

from dissensus.errors import NotFound
from dissensus.pipeline.tables import format_short
from dissensus.pipeline.vet.result import Vetting
from dissensus.report.figure import Figure
from dissensus.report.figures.vetting import ORDER, encode_status, rater_status
from dissensus.report.graphics.layout import stack_layers
from dissensus.report.graphics.vega_lite import Axis, Chart, Scale, Spec, X, Y
from dissensus.schema.hints import count_noun

SIDE, HEIGHT = 56, 260
SMALLEST = {"seconds": 0.001, "score": 0.1}
"""Smallest time and score that are drawn at their own place, since the scales are logarithmic."""


def times(vetting: Vetting) -> Figure:
    """Draw a mark for each rater at the median time and the outlier score of the answers.

    Parameters
    ----------
    vetting
        The evidence. The score is `answers_outlier_score`, which leaves times out.

    Raises
    ------
    NotFound
        No rater has a time and a score.
    """
    marks = _marks(vetting)
    if vetting.times is None or not marks.height:
        raise NotFound(f"No rater has both a time and an outlier score: {_reason(vetting)}.")
    return Figure(
        name="times",
        title="Answer time and outlier score of raters",
        reading=_reading(vetting),
        table=marks.sort("seconds").select("seconds", "score", "status"),
        draw=lambda width: _draw(marks, width),
        notes=tuple(_notes(vetting)),
    )


def _reason(vetting: Vetting) -> str:
    return next(
        iter(vetting.absent[name] for name in ("median_time_ms", "answers_outlier_score") if name in vetting.absent),
        "few ratings",
    )


def _marks(vetting: Vetting) -> pl.DataFrame:
    return vetting.raters.select(
        rater_status(), seconds=pl.col("median_time_ms") / 1000, score="answers_outlier_score"
    ).drop_nulls(["seconds", "score"])


def _reading(vetting: Vetting) -> str:
    medians = vetting.raters["median_time_ms"].drop_nulls() / 1000
    low, middle, high = (medians.quantile(q, "linear") for q in (0.25, 0.5, 0.75))
    text = (
        f"The median time of {count_noun(len(medians), 'rater')} is {middle:,.0f} s "
        f"(quartiles {low:,.0f} and {high:,.0f} s)"
    )
    row = _correlation(vetting)
    if row is None or row["rank_correlation"] is None:
        return f"{text}."
    ends = f"[{format_short(row['ci_low'])}, {format_short(row['ci_high'])}]"
    return f"{text}; its rank correlation with the outlier score is {format_short(row['rank_correlation'])} {ends}."


def _correlation(vetting: Vetting) -> dict[str, float | None] | None:
    if vetting.times is None:
        return None
    rows = vetting.times.correlations.filter(measure="answers_outlier_score").to_dicts()
    return rows[0] if rows else None


def _notes(vetting: Vetting) -> Iterator[str]:
    yield (
        "Outlier score: robust distance of a rater's answers from the bulk of raters, times left out. It flags nobody: "
        "a distant rater may be careless or hold a view of their own."
    )
    if vetting.times is not None and vetting.times.items.height:
        means = vetting.times.items["mean_time_ms"].drop_nulls() / 1000
        low, middle, high = (means.quantile(q, "linear") for q in (0, 0.5, 1))
        yield f"Mean time of a conversation: {middle:,.0f} s in the median, from {low:,.0f} to {high:,.0f} s."


def _draw(marks: pl.DataFrame, width: int) -> Spec:
    plot_width = width - SIDE
    drawn = marks.with_columns(pl.col(name).clip(lower_bound=least) for name, least in SMALLEST.items())
    # Ordered by position and not by rater; marks of flagged raters are on top.
    values = drawn.sort(pl.col("status").cast(ORDER), "seconds", "score", descending=[True, False, False]).to_dicts()
    log = Scale(type="log", nice=False, padding=10)
    chart = Chart(values).mark("point", filled=True, strokeWidth=0.6)
    points = chart.encode(
        X("seconds:Q", title="median time, seconds", scale=log, axis=_axis(drawn["seconds"])),
        Y("score:Q", title="outlier score", scale=log, axis=_axis(drawn["score"])),
        *encode_status(marks["status"], plot_width),
    )
    return stack_layers([points], width=plot_width, height=HEIGHT)


def _axis(values: pl.Series) -> Axis:
    """Return an axis with lines at round numbers alone."""
    low, high = values.min(), values.max()
    ticks = [digit * 10**power for power in range(-3, 6) for digit in (1, 2, 5)]
    return Axis(values=[tick for tick in ticks if low <= tick <= high], format="~g")
