"""Display of scorecards as pages of tables."""

from collections.abc import Iterator, Sequence
from typing import Final

from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.settings import ScoreSettings
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_short
from dissensus.schema.hints import count_noun

FEW: Final = "†"
"""Mark of a value whose row has a warning."""


def scorecard_page(
    summary: str, rows: Sequence[ScoreRow], gaps: Sequence[GapRow], settings: ScoreSettings, notes: Sequence[str]
) -> Page:
    """Return a scorecard of chatbots as a page: shares by question, then by values of attributes, then gaps."""
    grids = (*_question_grids(rows, settings), *_value_grids(rows, settings), *gap_grids(gaps))
    return Page(summary, grids, (*explain_rows(rows, gaps, settings), *notes))


def _question_grids(rows: Sequence[ScoreRow], settings: ScoreSettings) -> Iterator[Grid]:
    """Yield a table for each chatbot and axis: groups by questions."""
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model and row.attribute is None]
        yield from _axis_grids(settings, (model,), own, "question")


def _value_grids(rows: Sequence[ScoreRow], settings: ScoreSettings) -> Iterator[Grid]:
    """Yield a table for each chatbot, axis and attribute: groups by values, for the first question."""
    first = [row for row in rows if row.question == settings.questions[0]]
    for model in dict.fromkeys(row.model for row in first):
        for attribute in settings.by_item:
            own = [row for row in first if (row.model, row.attribute) == (model, attribute)]
            yield from _axis_grids(settings, (model, attribute), own, "value")


def _axis_grids(
    settings: ScoreSettings, names: Sequence[str | None], rows: Sequence[ScoreRow], key: str
) -> Iterator[Grid]:
    """Yield a table of each axis, with a column for each value of the key, or one of the whole pool."""
    columns = tuple(dict.fromkeys(str(getattr(row, key)) for row in rows))
    for axis in settings.axes or (None,):
        title = " · ".join(part for part in (axis or "whole pool", *names) if part)
        yield _grid(escape_unprintable(title), columns, [row for row in rows if row.axis in (None, axis)], key)


def _grid(title: str, columns: Sequence[str], rows: Sequence[ScoreRow], key: str) -> Grid:
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        own = {str(getattr(row, key)): row for row in rows if row.group == group}
        n_raters = max(row.n_raters for row in own.values())
        name = "everybody" if group is None else escape_unprintable(group)
        cells = (format_cell(own[column]) if column in own else UNKNOWN for column in columns)
        lines.append((name, f"{n_raters:,}", *cells))
    return Grid((title, "raters", *map(escape_unprintable, columns)), tuple(lines))


def format_cell(row: ScoreRow) -> str:
    """Return a share in per cent, with its interval on a second line."""
    if row.estimate is None:
        return UNKNOWN
    mark = FEW if row.warning else ""
    if row.ci_low is None or row.ci_high is None:
        return f"{100 * row.estimate:.1f}{mark}"
    return f"{100 * row.estimate:.1f}{mark}\n{100 * row.ci_low:.1f}–{100 * row.ci_high:.1f}"


def gap_grids(gaps: Sequence[GapRow]) -> Iterator[Grid]:
    """Yield a table of the gaps between groups that have a value, in points of the statistic."""
    gaps = [gap for gap in gaps if gap.estimate is not None]
    if not gaps:
        return
    head = ("gap between groups", "worst", "best", "gap", "by chance", "most surely different", "p", "adjusted p")
    yield Grid(head, tuple(_gap_line(gap) for gap in gaps))


def _gap_line(gap: GapRow) -> tuple[str, ...]:
    parts = (gap.model, gap.axis, gap.metric if gap.metric != "unsafe_share" else None, gap.question, gap.value)
    return (
        escape_unprintable(" · ".join(part for part in parts if part)),
        escape_unprintable(gap.worst or UNKNOWN),
        escape_unprintable(gap.best or UNKNOWN),
        format_short(gap.estimate, 3),
        format_short(gap.by_chance, 3),
        escape_unprintable(" – ".join(gap.pair)) if gap.pair else UNKNOWN,
        format_short(gap.p, 3),
        format_short(gap.p_adjusted, 3),
    )


def explain_rows(rows: Sequence[ScoreRow], gaps: Sequence[GapRow], settings: ScoreSettings) -> Iterator[str]:
    """Yield the notes below the tables."""
    level = f"{100 * settings.confidence:g} %"
    yield f"Intervals: {level}, over other raters and other items. Every item has the same weight."
    if gaps:
        adjustment = {"bh": "Benjamini–Hochberg", "holm": "Holm"}[settings.adjust]
        yield (
            "Gap: worst less best value, without an interval, since the groups are chosen by the ratings that measure "
            "them; by chance: its mean for groups that do not differ. p: of the pair of groups that differs most "
            f"surely, by Holm's method over all pairs; adjusted: {adjustment}, "
            f"over {count_noun(sum(gap.p is not None for gap in gaps), 'gap')}."
        )
    yield from explain_marks(rows)
    reasons = dict.fromkeys([*(row.reason for row in rows), *(gap.reason for gap in gaps)])
    yield from (f"{UNKNOWN} {reason}" for reason in reasons if reason)


def explain_marks(rows: Sequence[ScoreRow]) -> Iterator[str]:
    """Yield the warnings of marked values."""
    yield from (f"{FEW} {warning}" for warning in dict.fromkeys(row.warning for row in rows if row.warning))
