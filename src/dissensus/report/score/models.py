"""Report of a scorecard of models: losses by group beside human ceilings, thresholds, leaderboard, gaps."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from dissensus.pipeline.score import ModelScorecard, ScoreRow
from dissensus.pipeline.score.display import explain_marks
from dissensus.pipeline.score.model_display import pool_grids, rank_grids
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import concat_horizontally
from dissensus.report.graphics.theme import BLUE, INK, PALE, VERMILION
from dissensus.report.graphics.vega_lite import Spec
from dissensus.report.groups import EVERYBODY, make_slug
from dissensus.report.methods import Method
from dissensus.report.result import Document
from dissensus.report.score.group_points import draw_group_lines, draw_group_points
from dissensus.report.score.scorecard import (
    METHODS,
    MOST_SERIES,
    build_blocks,
    build_document,
    gap_sections,
    tabulate,
)
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable

MODEL_METHODS: Final = (
    Method(
        "Brier score",
        r"\frac{1}{I} \sum_i \frac{1}{m_i} \sum_r (s_i - y_{ri})^2",
        "The mean squared error of a score: its squared distance to the soft label of the group, and the disagreement "
        "within the group, which no score removes (the line perfect score).",
        "Brier (1950), Verification of Forecasts Expressed in Terms of Probability",
        ("losses",),
    ),
    Method(
        "Squared distance",
        r"\frac{1}{I} \sum_i \frac{\sum_{r \ne t} (s_i - y_{ri}) (s_i - y_{ti})}{m_i (m_i - 1)}",
        "Over pairs of distinct raters, so that few ratings do not make it larger; it may be below 0.",
        "Gneiting and Raftery (2007), Strictly Proper Scoring Rules",
        ("losses",),
    ),
)


def model_scorecard_report(card: ModelScorecard, *, command: str = "") -> Document:
    """Make a report of a scorecard of models."""
    losses = tuple(_draw_metric(card, metric, title) for metric, title in _METRICS.items())
    sections = [
        Section(
            "losses",
            "Models against groups",
            "Agreement of each model with the answers of each group, beside that of people.",
            (*losses, _statistics_table(card)),
        ),
        *_rank_sections(card),
        *_threshold_sections(card),
        *gap_sections(card),
    ]
    return build_document("Scorecard of models", card, sections, (*MODEL_METHODS, *METHODS[1:]), command)


_METRICS: Final = {"brier": "Brier score", "squared_distance": "Squared distance to the soft label", "auc": "AUC"}


def _draw_metric(card: ModelScorecard, metric: str, title: str) -> Figure:
    """Draw a statistic of the best models, and of a human ceiling, for everybody and each group."""
    axes = (None, *card.settings.axes)
    rows = [row for row in (*card.rows, *card.ceilings) if row.metric == metric and row.axis in axes]
    best = [row.model for row in card.ranks if row.axis is None] or list(card.settings.models)
    ceiling = "perfect score" if metric == "brier" else "rest of group" if metric == "auc" else None
    shown = [*best[: MOST_SERIES - 1], *([ceiling] if ceiling else [])]
    blocks = build_blocks([row for row in rows if row.model in shown], card.settings.axes, lambda row: str(row.model))
    return Figure(
        name=metric.replace("_", "-"),
        title=title,
        reading=_read_metric(rows, str(shown[0]), metric),
        table=tabulate(rows),
        draw=lambda width: draw_group_points(blocks, width, series=shown, per_cent=False),
        notes=(
            f"Lines: intervals for other raters and other items. {_DIRECTION[metric]}",
            *((f"Of {len(best)} models the first {MOST_SERIES - 1} are drawn.",) if len(best) >= MOST_SERIES else ()),
        ),
    )


_DIRECTION: Final = {
    "brier": "Smaller is better; nothing is better than the perfect score, which leaves disagreement alone.",
    "squared_distance": "Smaller is better; 0 is the soft label itself, and an estimate may be below 0.",
    "auc": "Larger is better; one half tells nothing.",
}


def _read_metric(rows: Sequence[ScoreRow], model: str, metric: str) -> str:
    own = [row for row in rows if row.model == model and row.estimate is not None]
    pool = next((row for row in own if row.axis is None), None)
    grouped = [row for row in own if row.axis is not None]
    if pool is None:
        return f"{escape_unprintable(model)} has no such value."
    text = f"{escape_unprintable(model)} reaches {format_short(pool.estimate, 3)} for everybody"
    if not grouped:
        return f"{text}."
    choose = min if metric == "auc" else max
    worst = choose(grouped, key=lambda row: row.estimate or 0.0)
    return f"{text}, and is worst for {escape_unprintable(str(worst.group))}: {format_short(worst.estimate, 3)}."


def _statistics_table(card: ModelScorecard) -> ReportTable:
    rows = (*card.rows, *card.ceilings)
    return ReportTable(
        name="statistics",
        title="All statistics for everybody",
        reading="Each model, and what people reach themselves.",
        grids=tuple(pool_grids(rows, card.settings)),
        notes=(
            "Unanimous, split: error on items on which all raters, or not all, gave the same class of answer.",
            *explain_marks([row for row in rows if row.axis is None]),
        ),
        table=tabulate(rows),
    )


def _rank_sections(card: ModelScorecard) -> Iterator[Section]:
    if not card.ranks:
        return
    tied = sum(bool(row.ties) for row in card.ranks if row.axis is None)
    table = ReportTable(
        name="leaderboard",
        title=f"Rank by {card.settings.rank_by}",
        reading=f"{tied:,} of {len(card.settings.models):,} models are tied with another one for everybody.",
        grids=tuple(rank_grids(card.ranks, card.settings)),
        notes=(
            "From one more than the number of models that are surely better to the number that are not surely worse, "
            "by paired differences on the same ratings, adjusted by Holm's method.",
        ),
        table=pl.DataFrame(
            [
                {name: getattr(row, name) for name in ("axis", "group", "model", "estimate", "rank", "worst_rank")}
                for row in card.ranks
            ],
            infer_schema_length=None,
        ),
    )
    yield Section("leaderboard", "Leaderboard", "The ranks that each model may have.", (table,))


def _threshold_sections(card: ModelScorecard) -> Iterator[Section]:
    models = list(dict.fromkeys(row.model for row in card.thresholds))
    if models:
        figures = tuple(_draw_thresholds(card, model) for model in models[:MOST_SERIES])
        lead = "Unsafe answers that a label misses, and safe ones that it contradicts, by the threshold of the label."
        yield Section("thresholds", "Thresholds", lead, figures)


def _draw_thresholds(card: ModelScorecard, model: str) -> Figure:
    """Draw the rates of both errors by threshold: of everybody, and of the worst and the best served group."""
    gap = next((gap for gap in card.gaps if (gap.model, gap.metric) == (model, "squared_distance") and gap.worst), None)
    axis = gap.axis if gap else None
    rows = [row for row in card.thresholds if row.model == model and row.axis in (None, axis)]
    groups = [group for group in dict.fromkeys(row.group for row in rows) if group is not None]
    colors = dict.fromkeys(groups, PALE)
    if gap:
        colors |= {str(gap.worst): VERMILION, str(gap.best): BLUE}
    order = [*(group for group in groups if colors[group] == PALE), *(g for g in groups if colors[g] != PALE)]
    colors |= {EVERYBODY: INK}

    def draw(width: int) -> Spec:
        panels = []
        for metric, title in (("miss_rate", "Missed"), ("false_alarm_rate", "False alarms")):
            lines = {
                name: [
                    (row.threshold, value)
                    for row in rows
                    if row.group == (None if name == EVERYBODY else name)
                    and (value := getattr(row, metric)) is not None
                ]
                for name in (*order, EVERYBODY)
            }
            panels.append(draw_group_lines(lines, colors, max(90, width // 2 - 56), 180, title))
        return concat_horizontally(panels, spacing=16)

    return Figure(
        name=f"thresholds-{make_slug(model)}",
        title=f"Thresholds of {escape_unprintable(model)}",
        reading=(
            f"By distance {escape_unprintable(model)} is worst for {escape_unprintable(str(gap.worst))} and best for "
            f"{escape_unprintable(str(gap.best))}."
            if gap
            else "Rates of everybody."
        ),
        table=pl.DataFrame(
            [{name: getattr(row, name) for name in row.__dataclass_fields__} for row in rows], infer_schema_length=None
        ),
        draw=draw,
        notes=("A threshold chosen on these ratings looks better here than on others.",),
    )
