"""Figure of chatbot strengths, overall and by group."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.pipeline.tables import escape_unprintable
from dissensus.preference.ranking.ranking import RankedChatbot, Ranking
from dissensus.preference.ranking.strengths import MEAN
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import HeadedRows, RowBlock, stack_over_rows
from dissensus.report.graphics.series import draw_series
from dissensus.report.graphics.theme import BLUE, MUTED, ORANGE, VERMILION
from dissensus.report.graphics.vega_lite import Y2, Axis, Chart, Scale, Spec, X
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun

STRENGTH, ELO, SCORES = "Bradley–Terry", "Elo", "predicted by scores"
LOOKS: Final = {STRENGTH: (BLUE, "circle", 64), ELO: (ORANGE, "square", 40), SCORES: (VERMILION, "diamond", 64)}
# Margin of the axis on both sides, and its least span, in points.
BEYOND, LEAST = 10.0, 100.0


class _Point(NamedTuple):
    value: float
    low: float
    high: float


def standings(overall: Ranking, *, by: str | None = None, groups: Mapping[str, Ranking] | None = None) -> Figure:
    """Draw the strength of each chatbot with its interval and its Elo, by all raters and by each group."""
    blocks = [("" if not groups else "All raters", overall)]
    blocks += [
        (f"Raters by {format_axis(by or 'group')}: {escape_unprintable(name)}", ranking)
        for name, ranking in (groups or {}).items()
    ]
    return Figure(
        name="standings",
        title="Strength of chatbots",
        reading=_reading(overall),
        table=pl.DataFrame(list(_rows(blocks)), infer_schema_length=None),
        draw=lambda width: _draw(blocks, width),
        notes=(
            "Points of Elo; 400 points are odds of ten to one. Lines: intervals for other raters.",
            f"Dashed: {MEAN:,.0f}, the mean of each ranking, so compare differences across groups and not ratings.",
        ),
    )


def _reading(overall: Ranking) -> str:
    first, *others = overall.rows
    name = escape_unprintable(first.bot)
    ends = [row.ci_high for row in others if row.ci_high is not None]
    if first.ci_low is None or len(ends) < len(others) or not others:
        return f"{name} comes first of {count_noun(len(overall.rows), 'chatbot')}; how surely is not known."
    rival = max(others, key=lambda row: row.ci_high or 0.0)
    if first.ci_low > max(ends):
        return f"{name} is stronger than all others, beyond the intervals of both."
    return (
        f"{name} comes first; its interval reaches that of {escape_unprintable(rival.bot)}, so another "
        "may be as strong."
    )


def _points(row: RankedChatbot) -> dict[str, _Point]:
    points = {}
    if row.bradley_terry is not None:
        low, high = row.ci_low, row.ci_high
        bounds = (row.bradley_terry, row.bradley_terry) if low is None or high is None else (low, high)
        points[STRENGTH] = _Point(row.bradley_terry, *bounds)
    points[ELO] = _Point(row.elo, row.elo, row.elo)
    if row.by_scores is not None:
        points[SCORES] = _Point(row.by_scores, row.by_scores, row.by_scores)
    return points


def _rows(blocks: Sequence[tuple[str, Ranking]]) -> Iterator[dict[str, Any]]:
    for heading, ranking in blocks:
        for row in ranking.rows:
            yield {
                "raters": heading or "All raters",
                "bot": row.bot,
                "n": row.n,
                "bradley_terry": row.bradley_terry,
                "ci_low": row.ci_low,
                "ci_high": row.ci_high,
                "elo": row.elo,
                "by_scores": row.by_scores,
            }


def _draw(blocks: Sequence[tuple[str, Ranking]], width: int) -> Spec:
    headed = [
        RowBlock(
            heading,
            tuple(f"{escape_unprintable(row.bot)}\n{count_noun(round(row.n), 'comparison')}" for row in ranking.rows),
        )
        for heading, ranking in blocks
    ]
    rows = HeadedRows(headed, width, least=38)
    row_points = [_points(row) for _, ranking in blocks for row in ranking.rows]
    present = [series for series in LOOKS if any(series in points for points in row_points)]
    marks = [
        {
            "y": y + 9 * (present.index(series) - (len(present) - 1) / 2),
            "of": series,
            "x": point.value,
            "low": point.low,
            "high": point.high,
        }
        for points, y in zip(row_points, rows.row_middles, strict=True)
        for series, point in points.items()
    ]
    scale = _scale(marks)
    looks = [LOOKS[series] for series in present]
    points = draw_series(marks, present, looks, rows, partial(_x, scale=scale), legend_of_one=True)
    return stack_over_rows([*_mean(rows, scale), *points, *rows.draw_names()], rows)


def _scale(marks: Sequence[dict[str, Any]]) -> Scale:
    low, high = min(mark["low"] for mark in marks), max(mark["high"] for mark in marks)
    margin = max(BEYOND, (LEAST - (high - low)) / 2)
    return Scale(domain=[low - margin, high + margin], nice=False, zero=False)


def _x(field: str, scale: Scale) -> X:
    return X(f"{field}:Q", title=None, scale=scale, axis=Axis(format=",.0f", tickCount=5, labelOverlap=True))


def _mean(rows: HeadedRows, scale: Scale) -> Iterator[Spec]:
    line = Chart([{"x": MEAN, "y": 0, "end": rows.height}])
    rule = line.mark("rule", color=MUTED, strokeDash=[4, 3], strokeWidth=1.2, clip=True)
    yield rule.encode(_x("x", scale), rows.y(), Y2("end:Q"))
