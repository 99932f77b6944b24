"""Display of scorecards of models as pages of tables."""

from collections.abc import Iterator, Sequence
from typing import Final

from dissensus.pipeline.score.display import FEW, explain_rows, gap_grids
from dissensus.pipeline.score.model_rows import RankRow
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.settings import ModelSettings
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_interval, format_short

COLUMNS: Final = {
    "brier": "Brier",
    "squared_distance": "distance",
    "auc": "AUC",
    "bias": "bias",
    "calibration_error": "ECE",
    "calibration_error_by_chance": "by chance",
    "error": "error",
    "miss_rate": "misses",
    "false_alarm_rate": "false alarms",
    "error_unanimous": "unanimous",
    "error_split": "split",
}
POOL: Final = "everybody"


def model_scorecard_page(
    summary: str,
    rows: Sequence[ScoreRow],
    ranks: Sequence[RankRow],
    gaps: Sequence[GapRow],
    settings: ModelSettings,
    notes: Sequence[str],
) -> Page:
    """Return a scorecard of models as a page: leaderboard, all statistics for the pool, groups, gaps."""
    grids = (*rank_grids(ranks, settings), *pool_grids(rows, settings), *_group_grids(rows, settings))
    shown = [row for row in rows if row.metric in COLUMNS and (row.estimate is None or row.warning)]
    return Page(
        summary, (*grids, *gap_grids(gaps)), (*_explain_columns(), *explain_rows(shown, gaps, settings), *notes)
    )


def rank_grids(ranks: Sequence[RankRow], settings: ModelSettings) -> Iterator[Grid]:
    """Yield the leaderboard: a line for each model, a column for everybody and each group of each axis."""
    for axis in (settings.axes or (None,)) if ranks else ():
        own = [row for row in ranks if row.axis in (None, axis)]
        groups = tuple(dict.fromkeys(row.group for row in own))
        lines = []
        for model in dict.fromkeys(row.model for row in own):
            cells = {row.group: _format_rank(row) for row in own if row.model == model}
            lines.append((escape_unprintable(model), *(cells.get(group, UNKNOWN) for group in groups)))
        head = (f"rank by {settings.rank_by}", *(escape_unprintable(group or POOL) for group in groups))
        yield Grid(
            head,
            tuple(lines),
            "1–3: ranks that are possible, since so many models are not surely better or worse. Tests: Holm over the "
            "pairs of models of each column, so that all ranges of a column hold together.",
        )


def _format_rank(row: RankRow) -> str:
    return f"{row.rank}" if row.rank == row.worst_rank else f"{row.rank}–{row.worst_rank}"


def pool_grids(rows: Sequence[ScoreRow], settings: ModelSettings) -> Iterator[Grid]:
    """Yield all statistics of each model and human ceiling for everybody, and of each model against gold."""
    for axis, title in ((None, POOL), *((("gold", f"against {settings.gold}"),) if settings.gold else ())):
        own = [row for row in rows if row.axis == axis and row.model is not None]
        lines = tuple(_line(str(name), [row for row in own if row.model == name]) for name in _models(own))
        yield Grid((title, *COLUMNS.values()), lines)


def _group_grids(rows: Sequence[ScoreRow], settings: ModelSettings) -> Iterator[Grid]:
    """Yield the statistics of each model and human ceiling for the groups of each axis."""
    for axis in settings.axes:
        own = [row for row in rows if row.axis == axis and row.model is not None]
        for name in _models(own):
            of_model = [row for row in own if row.model == name]
            groups = dict.fromkeys(row.group for row in of_model)
            lines = tuple(_line(str(group), [row for row in of_model if row.group == group]) for group in groups)
            yield Grid((escape_unprintable(f"{name} · {axis}"), *COLUMNS.values()), lines)


def _models(rows: Sequence[ScoreRow]) -> list[str]:
    return list(dict.fromkeys(str(row.model) for row in rows))


def _line(name: str, rows: Sequence[ScoreRow]) -> tuple[str, ...]:
    cells = {row.metric: _cell(row) for row in rows}
    return (escape_unprintable(name), *(cells.get(metric, "") for metric in COLUMNS))


def _cell(row: ScoreRow) -> str:
    value = f"{format_short(row.estimate, 3)}{FEW if row.warning else ''}"
    if row.ci_low is None or row.ci_high is None:
        return value
    return f"{value}\n{format_interval(row.ci_low, row.ci_high)}"


def _explain_columns() -> Iterator[str]:
    yield (
        "Brier: distance and disagreement within the group together; distance: squared distance to the soft label, "
        "corrected for the number of ratings; bias: mean score less share of unsafe answers; ECE: expected calibration "
        "error beside that of a calibrated score; unanimous, split: error on items on which the group is."
    )
    yield (
        "Human ceilings: perfect score: disagreement within the group alone; rest of group: each rating predicted by "
        "the item's other ratings; everybody else: by all raters outside of the group, as they answered here. The "
        "fewer ratings an item has, the worse the last two look; they are for items that such people rated."
    )
